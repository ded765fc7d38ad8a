"""Stacked training equals training one at a time."""

import copy
import itertools

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from dpscale.config.sections import DataConfig
from dpscale.train.data import Loader, build_loader, load_dataset
from dpscale.train.models import build_model
from dpscale.train.stacked import Stack, dealt

CPU = torch.device("cpu")
LEARNERS, STEPS = 3, 5


def networks(name: str) -> list[nn.Module]:
    torch.manual_seed(0)
    shape = {"in_channels": 1, "classes": 10, "image_size": 8, "zero_gamma": False}
    return [build_model(name, **shape) for _ in range(LEARNERS)]


@pytest.fixture(scope="module")
def batches() -> list[tuple[torch.Tensor, torch.Tensor]]:
    batches = itertools.islice(loader(16 * LEARNERS).batches(1), STEPS)
    return [dealt(batch, LEARNERS) for batch in batches]


def loader(batch: int, workers: int = 1, rank: int = 0) -> Loader:
    dataset = load_dataset(DataConfig())
    return build_loader(
        dataset.train,
        dataset,
        loader="resident",
        batch=batch,
        workers=workers,
        rank=rank,
        seed=0,
        augment=False,
        device=CPU,
    )


def test_each_learner_is_dealt_what_a_sampler_would_give_it(batches):
    for learner in range(LEARNERS):
        alone = loader(16, LEARNERS, learner).batches(1)
        for (images, labels), (all_images, all_labels) in zip(alone, batches, strict=False):
            assert torch.equal(all_images[learner], images)
            assert torch.equal(all_labels[learner], labels)


@pytest.mark.parametrize("name", ["mlp", "resnet_8x8"])
@pytest.mark.parametrize("shared", [False, True])
def test_stacked_training_equals_training_one_at_a_time(batches, name, shared):
    # In double: how far float32 drifts apart in five steps depends on the processor.
    apart = [one.double() for one in networks(name)]
    batches = [(images.double(), labels) for images, labels in batches]
    stack = Stack([copy.deepcopy(one) for one in apart], CPU)
    options = {"lr": 0.05, "momentum": 0.9, "weight_decay": 5e-4}
    together = torch.optim.SGD(stack.parameters.values(), **options)
    for images, labels in batches:
        x, y = (images[0], labels[0]) if shared else (images, labels)
        losses = stack.backward(x, y, shared=shared)
        together.step()
        assert losses.shape == (LEARNERS,)
    for index, network in enumerate(apart):
        optimizer = torch.optim.SGD(network.parameters(), **options)
        for images, labels in batches:
            own = 0 if shared else index
            optimizer.zero_grad()
            loss = cross_entropy(network(images[own]), labels[own])
            loss.backward()
            optimizer.step()
        assert losses[index].item() == pytest.approx(loss.item(), rel=1e-9)
        state = dict(network.named_parameters()) | dict(network.named_buffers())
        for key, value in {**stack.parameters, **stack.buffers}.items():
            torch.testing.assert_close(value[index], state[key], rtol=1e-9, atol=1e-9)
