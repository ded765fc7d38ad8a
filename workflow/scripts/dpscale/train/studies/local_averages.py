"""When learners of local SGD average, and what: the arithmetic that all teams share."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.utils import parameters_to_vector
from torch.optim import SGD

from dpscale.train.worker import Place

if TYPE_CHECKING:
    from dpscale.config.sections import TrainingConfig


def is_local(step: int, local_from: int | None) -> bool:
    """Whether the step of that number, counted from 0, is a local one."""
    return local_from is not None and step >= local_from


def averages_after(step: int, local_from: int | None, local_steps: int) -> bool:
    """Whether parameters are averaged after the step of that number, counted from 0.

    After every `local_steps` local steps: never before one learner has taken so many.
    """
    if local_from is None or step < local_from:
        return False
    return (step - local_from + 1) % local_steps == 0


def mean_of_workers(vector: Tensor, place: Place) -> Tensor:
    """The mean over all workers of a vector on each of them; overwrites it."""
    if place.workers > 1 and vector.numel():
        dist.all_reduce(vector)
        vector /= place.workers
    return vector


def running_statistics(buffers: dict[str, Tensor]) -> list[Tensor]:
    """The buffers that can be averaged: counters of batches cannot, and are equal anyway."""
    return [value for value in buffers.values() if value.is_floating_point()]


def momentum_sgd(parameters: Iterable[Tensor], training: "TrainingConfig") -> SGD:
    """SGD over parameters, stacked or not: it works element by element."""
    return SGD(
        parameters, lr=training.lr, momentum=training.momentum, nesterov=training.nesterov,
        weight_decay=training.weight_decay, fused=training.fused or None,
    )  # fmt: skip


def flat(tensors: list[Tensor]) -> Tensor:
    """All tensors as one vector; empty for none."""
    return parameters_to_vector(tensors) if tensors else torch.empty(0)


def set_to(values: list[Tensor], mean: Tensor, *, stacked: bool) -> None:
    """Copy a vector, in parts, to values [...], or to every learner's of values [l, ...]."""
    start = 0
    for value in values:
        shape = value.shape[1:] if stacked else value.shape
        value.copy_(mean[start : start + shape.numel()].view(shape).expand_as(value))
        start += shape.numel()
