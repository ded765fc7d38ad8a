"""Building a network by name."""

from collections.abc import Callable

from torch import nn

from dpscale.train.models.plain import Mlp, MnistCnn, Softmax
from dpscale.train.models.residual import SmallImageResNet


def _small_residual(widths: tuple[int, ...], blocks_per_stage: int, option: str) -> Callable:
    def build(*, in_channels: int, classes: int, image_size: int, zero_gamma: bool) -> nn.Module:
        """The network for images of this kind."""
        network = SmallImageResNet(
            in_channels=in_channels,
            classes=classes,
            widths=widths,
            blocks_per_stage=blocks_per_stage,
            option=option,
        )
        if zero_gamma:
            network.zero_last_gains()
        return network

    return build


def _torchvision_resnet18(
    *, in_channels: int, classes: int, image_size: int, zero_gamma: bool
) -> nn.Module:
    # torchvision takes seconds to import, and the other networks do not need it.
    from torchvision.models import resnet18

    network: nn.Module = resnet18(num_classes=classes, zero_init_residual=zero_gamma)
    if in_channels != 3:
        stem = nn.Conv2d(in_channels, 64, 7, stride=2, padding=3, bias=False)
        nn.init.kaiming_normal_(stem.weight, mode="fan_out", nonlinearity="relu")
        network.conv1 = stem
    return network


_RESIDUAL: dict[str, Callable] = {
    "resnet18_cifar": _small_residual((64, 128, 256, 512), 2, "B"),
    "resnet18": _torchvision_resnet18,
    "resnet20": _small_residual((16, 32, 64), 3, "A"),
    "resnet_8x8": _small_residual((16, 32, 64), 1, "B"),
}
_PLAIN: dict[str, Callable] = {
    "mlp": Mlp,
    "softmax": Softmax,
    "mnist_cnn": MnistCnn,
}


def model_names() -> tuple[str, ...]:
    """Every name that `build_model` knows."""
    return (*_RESIDUAL, *_PLAIN)


def build_model(
    name: str, *, in_channels: int, classes: int, image_size: int, zero_gamma: bool
) -> nn.Module:
    """The network of that name, freshly initialised from torch's global generator, on the CPU.

    resnet18_cifar: ResNet-18 with a 3x3 stem and no pooling (11,173,962 parameters for 10
    classes of colour images); resnet18: torchvision's; resnet20: He et al.'s for CIFAR with
    shortcuts of option A (269,722 parameters); resnet_8x8: three residual blocks for tiny
    images; mlp; softmax, a linear classifier; mnist_cnn. `zero_gamma` starts the last batch-norm
    gain of each residual block at 0 (Goyal et al. 2017, section 5.1). Raises ValueError naming
    the key when the name is unknown or the network has no residual block to start so.
    """
    shape = {"in_channels": in_channels, "classes": classes, "image_size": image_size}
    if name in _RESIDUAL:
        return _RESIDUAL[name](**shape, zero_gamma=zero_gamma)
    if name not in _PLAIN:
        raise ValueError(f"model.name: {name!r} is not one of {', '.join(model_names())}")
    if zero_gamma:
        raise ValueError(f"model.zero_gamma: {name} has no residual block, so it must be false")
    return _PLAIN[name](**shape)
