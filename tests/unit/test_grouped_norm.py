"""Batch norm in groups equals workers of one group each."""

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from dpscale.train.grouped_norm import group_batch_norm
from dpscale.train.models import build_model

GROUPS, GROUP_BATCH = 4, 6


def network() -> nn.Module:
    torch.manual_seed(0)
    shape = {"in_channels": 1, "classes": 10, "image_size": 8}
    return build_model("resnet_8x8", **shape, zero_gamma=False)


@pytest.fixture(scope="module")
def batch() -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    samples = GROUPS * GROUP_BATCH
    return torch.randn(samples, 1, 8, 8), torch.randint(10, (samples,))


def share(values: Tensor, worker: int) -> Tensor:
    """What a DistributedSampler deals to a worker."""
    return values[worker::GROUPS]


def gradients(module: nn.Module) -> list[Tensor]:
    return [value.grad for value in module.parameters() if value.grad is not None]


def test_groups_have_the_averaged_gradient_of_as_many_workers(batch) -> None:
    images, labels = batch
    together = group_batch_norm(network(), GROUP_BATCH)
    cross_entropy(together(images), labels).backward()
    apart = []
    for worker in range(GROUPS):
        replica = network()
        cross_entropy(replica(share(images, worker)), share(labels, worker)).backward()
        apart.append(gradients(replica))
    for own, others in zip(gradients(together), zip(*apart, strict=True), strict=True):
        torch.testing.assert_close(own, torch.stack(others).mean(0), rtol=1e-4, atol=1e-6)


def test_logits_of_a_group_are_those_of_its_worker_and_not_of_the_whole_batch(batch) -> None:
    images, _ = batch
    logits = group_batch_norm(network(), GROUP_BATCH)(images)
    for worker in range(GROUPS):
        own = network()(share(images, worker))
        torch.testing.assert_close(share(logits, worker), own, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(logits, network()(images), atol=1e-2)


def test_running_statistics_are_those_of_the_first_worker(batch) -> None:
    images, _ = batch
    together, first = group_batch_norm(network(), GROUP_BATCH), network()
    for _ in range(3):
        together(images)
        first(share(images, 0))
    assert "bn1.num_batches_tracked" in together.state_dict()
    for name, value in together.named_buffers():
        torch.testing.assert_close(value, first.get_buffer(name), rtol=1e-4, atol=1e-6)


def test_evaluation_uses_the_running_statistics_for_a_batch_of_any_size(batch) -> None:
    images, _ = batch
    plain = network().eval()
    grouped = group_batch_norm(copy.deepcopy(plain), GROUP_BATCH)
    assert torch.equal(grouped(images[:7]), plain(images[:7]))


def test_one_group_is_plain_batch_norm(batch) -> None:
    images = batch[0][:GROUP_BATCH]
    assert torch.equal(group_batch_norm(network(), GROUP_BATCH)(images), network()(images))


def test_samples_that_fill_no_group_are_refused(batch) -> None:
    with pytest.raises(ValueError, match="23 samples are not a whole number of 6"):
        group_batch_norm(network(), GROUP_BATCH)(batch[0][:-1])
