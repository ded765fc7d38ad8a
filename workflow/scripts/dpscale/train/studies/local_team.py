"""Learners of local SGD, stacked: several on each worker, averaged over all workers."""

from copy import deepcopy
from typing import TYPE_CHECKING, Protocol

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.optim import SGD

from dpscale.train.stacked import Stack
from dpscale.train.worker import Place

if TYPE_CHECKING:
    from dpscale.config.sections import TrainingConfig


class Team(Protocol):
    """K learners that train together.

    `steps` taken by each, `rounds` of communication, and `lr`, the rate of the next step.
    """

    device: torch.device
    steps: int
    rounds: int
    lr: float

    def step(self, images: Tensor, labels: Tensor) -> Tensor:
        """One step of every learner on this worker; returns their mean loss.

        images [b, ...] and labels [b] of all learners of this worker: learner i of l takes every
        l-th from the i-th on, which makes it worker rank + i * workers of K as Loader deals out.
        """

    def finish(self) -> None:
        """The final average, which leaves all learners equal."""

    def mean_network(self) -> nn.Module:
        """A network with the mean parameters and buffers of all learners; changes none."""


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


def flat(tensors: list[Tensor]) -> Tensor:
    """All tensors as one vector; empty for none."""
    return parameters_to_vector(tensors) if tensors else torch.empty(0)


class StackedTeam:
    """`learners` on this worker as one stack, and as many on each other worker.

    Mini-batch steps average the gradients of all learners, so that equal learners stay equal;
    local steps average nothing but every `local_steps`-th, after which parameters and running
    statistics are averaged. Momentum is each learner's own throughout.
    """

    def __init__(
        self,
        network: nn.Module,
        place: Place,
        training: "TrainingConfig",
        *,
        learners: int,
        local_steps: int,
        local_from: int | None,
    ) -> None:
        """local_from: number of the first local step; None for none."""
        self._network, self._place = network.to(place.device), place
        self._stack = Stack([network] * learners, place.device)
        self._learners = learners
        self._alone = learners * place.workers == 1
        self._optimizer = SGD(
            self._stack.parameters.values(), lr=training.lr, momentum=training.momentum,
            nesterov=training.nesterov, weight_decay=training.weight_decay,
        )  # fmt: skip
        self._local_steps, self._local_from = local_steps, local_from
        self.device, self.lr, self.steps, self.rounds = place.device, training.lr, 0, 0
        self._apart = False  # whether a local step followed the last average

    def step(self, images: Tensor, labels: Tensor) -> Tensor:
        """See Team."""
        each = len(labels) // self._learners
        losses, _ = self._stack.backward(
            images.view(each, self._learners, *images.shape[1:]).transpose(0, 1),
            labels.view(each, self._learners).T,
        )
        if not is_local(self.steps, self._local_from):
            self._share([value.grad for value in self._stack.parameters.values()
                         if value.grad is not None])  # fmt: skip
        else:
            self._apart = True
        for group in self._optimizer.param_groups:
            group["lr"] = self.lr
        self._optimizer.step()
        if averages_after(self.steps, self._local_from, self._local_steps):
            self._average()
        self.steps += 1
        return losses.mean()

    def finish(self) -> None:
        """See Team."""
        if self._apart:
            self._average()

    def mean_network(self) -> nn.Module:
        """See Team."""
        network = deepcopy(self._network)
        parameters = [value.detach() for value in self._stack.parameters.values()]
        vector_to_parameters(self._mean(parameters), network.parameters())
        statistics = running_statistics(dict(network.named_buffers()))
        if statistics:
            own = self._mean(running_statistics(self._stack.buffers))
            vector_to_parameters(own, statistics)
        return network

    def _average(self) -> None:
        values = [value.data for value in self._stack.parameters.values()]
        self._share(values + running_statistics(self._stack.buffers))
        self._apart = False

    @torch.no_grad()
    def _share(self, values: list[Tensor]) -> None:
        """Set each of the values [l, ...] to its mean over the learners of all workers."""
        if self._alone:
            return
        mean, start = self._mean(values), 0
        for value in values:
            size = value[0].numel()
            value.copy_(mean[start : start + size].view_as(value[0]).expand_as(value))
            start += size
        self.rounds += 1

    def _mean(self, values: list[Tensor]) -> Tensor:
        return mean_of_workers(flat([value.mean(0) for value in values]), self._place)
