"""Networks: parameter counts worked by hand, shapes, zero-gamma."""

import pytest
import torch
from torch import nn

from dpscale.config import Config
from dpscale.config.checks import may_have_buffers
from dpscale.config.sections import ModelConfig
from dpscale.train.models import BasicBlock, PaddedShortcut, build_model, model_names


def model(name: str, **settings: object) -> nn.Module:
    arguments: dict = {"in_channels": 3, "classes": 10, "image_size": 32, "zero_gamma": False}
    return build_model(name, **arguments | settings)


def trainable(network: nn.Module) -> int:
    return sum(p.numel() for p in network.parameters() if p.requires_grad)


@pytest.mark.parametrize(
    ("name", "settings", "parameters"),
    [
        ("resnet18_cifar", {}, 11_173_962),  # as published
        ("resnet18", {"classes": 1000}, 11_689_512),  # torchvision's, for ImageNet
        # Stem; convolutions of 16, 32 and 64 channels, no weights in the shortcuts; 650 at the end.
        (
            "resnet20",
            {},
            3 * 16 * 9
            + 32
            + 6 * (16 * 16 * 9 + 32)
            + (16 * 32 * 9 + 64)
            + 5 * (32 * 32 * 9 + 64)
            + (32 * 64 * 9 + 128)
            + 5 * (64 * 64 * 9 + 128)
            + 650,
        ),
        # Stem 144 + 32; blocks of 16, 32 and 64 channels with projections; 650 at the end.
        (
            "resnet_8x8",
            {"in_channels": 1},
            176
            + 2 * (16 * 16 * 9 + 32)
            + (16 * 32 * 9 + 64)
            + (32 * 32 * 9 + 64)
            + (16 * 32 + 64)
            + (32 * 64 * 9 + 128)
            + (64 * 64 * 9 + 128)
            + (32 * 64 + 128)
            + 650,
        ),
        # 320 + 18,496 in the convolutions; 64 * 12 * 12 * 128 + 128 and 1,290 in the linear layers.
        ("mnist_cnn", {"in_channels": 1, "image_size": 28}, 320 + 18_496 + 1_179_776 + 1_290),
        ("mlp", {"in_channels": 1, "image_size": 8}, 64 * 128 + 128 + 128 * 10 + 10),
    ],
    ids=["resnet18_cifar", "resnet18", "resnet20", "resnet_8x8", "mnist_cnn", "mlp"],
)
def test_a_network_has_the_parameters_worked_by_hand(name, settings, parameters) -> None:
    assert trainable(model(name, **settings)) == parameters


def test_resnet18_takes_images_of_one_channel() -> None:
    network = model("resnet18", in_channels=1).eval()
    assert network(torch.zeros(2, 1, 32, 32)).shape == (2, 10)


@pytest.mark.parametrize("name", ["resnet18_cifar", "resnet20", "resnet_8x8", "mlp", "mnist_cnn"])
def test_every_network_gives_a_logit_per_class(name) -> None:
    network = model(name, in_channels=1, classes=7, image_size=16)
    assert network(torch.rand(2, 1, 16, 16)).shape == (2, 7)


def test_resnet18_cifar_keeps_the_full_image_until_its_second_stage() -> None:
    network = model("resnet18_cifar").eval()
    x = network.bn1(network.conv1(torch.zeros(1, 3, 32, 32)))  # type: ignore[operator]
    shapes = []
    for block in network.blocks:  # type: ignore[union-attr]
        x = block(x)
        shapes.append(tuple(x.shape[1:]))
    assert shapes[1::2] == [(64, 32, 32), (128, 16, 16), (256, 8, 8), (512, 4, 4)]


@pytest.mark.parametrize("name", ["resnet18_cifar", "resnet18", "resnet20", "resnet_8x8"])
def test_zero_gamma_zeroes_the_last_gain_of_each_block_and_no_other(name) -> None:
    network = model(name, zero_gamma=True)
    gains = {
        key: bool((value == 0).all())
        for key, value in network.named_parameters()
        if value.ndim == 1 and key.endswith("weight")
    }
    assert any(gains.values())
    assert {key for key, zero in gains.items() if zero} == {
        key for key in gains if key.endswith(".bn2.weight")
    }


def test_a_block_with_zero_gamma_is_its_shortcut() -> None:
    block = BasicBlock(4, 4, stride=1, option="B")
    nn.init.zeros_(block.bn2.weight)
    x = torch.rand(2, 4, 5, 5)
    assert torch.equal(block(x), x)


def test_without_zero_gamma_every_gain_starts_at_one() -> None:
    gains = [m.weight for m in model("resnet20").modules() if isinstance(m, nn.BatchNorm2d)]
    assert len(gains) == 19
    assert all(bool((gain == 1).all()) for gain in gains)


@pytest.mark.parametrize("name", ["mlp", "mnist_cnn"])
def test_zero_gamma_without_a_residual_block_is_an_error(name) -> None:
    with pytest.raises(ValueError, match=rf"model\.zero_gamma: {name} has no residual block"):
        model(name, zero_gamma=True)


def test_an_unknown_name_is_told_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"model\.name: 'resnet19' is not one of .*resnet20"):
        model("resnet19")


def test_the_padded_shortcut_takes_every_second_pixel_and_adds_zero_channels() -> None:
    x = torch.arange(1.0, 17.0).view(1, 1, 4, 4)
    y = PaddedShortcut(new_channels=2, stride=2)(x)
    assert y[0, 0].tolist() == [[0, 0], [0, 0]]
    assert y[0, 1].tolist() == [[1, 3], [9, 11]]
    assert y[0, 2].tolist() == [[0, 0], [0, 0]]


def test_the_names_are_those_of_the_configuration() -> None:
    from typing import get_args

    from dpscale.config.sections import ModelName

    assert {*model_names(), "own"} == set(get_args(ModelName))


@pytest.mark.parametrize("name", model_names())
def test_the_plan_knows_which_networks_have_buffers(name):
    config = Config(name="test", model=ModelConfig(name=name))
    assert may_have_buffers(config) == bool(list(model(name).buffers()))
