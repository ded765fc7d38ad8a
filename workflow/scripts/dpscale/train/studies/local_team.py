"""Learners of local SGD, stacked: several on each worker, averaged over all workers."""

from copy import deepcopy
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.utils import vector_to_parameters

from dpscale.train.stacked import Stack, dealt
from dpscale.train.studies.local_averages import (
    averages_after,
    flat,
    is_local,
    mean_of_workers,
    momentum_sgd,
    running_statistics,
    set_to,
)
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


class EqualStack(Stack):
    """Learners that differ in their buffers alone: one set of parameters, of shape [...], for all.

    A mini-batch step of them costs that of one network on all their images. The gradients are sums
    over the learners.
    """

    def __init__(self, network: nn.Module, learners: int, device: torch.device) -> None:
        super().__init__([network] * learners, device)
        self.parameters = {
            name: value[0].detach().clone().requires_grad_()
            for name, value in self.parameters.items()
        }

    def logits(self, images: Tensor, *, training: bool, shared: bool) -> Tensor:
        """See Stack."""
        self._template.train(training)

        def one(buffers: dict[str, Tensor], x: Tensor) -> Tensor:
            """Logits of one learner, whose parameters are those of all."""
            result: Tensor = functional_call(self._template, (self.parameters, buffers), (x,))
            return result

        mapped = vmap(one, in_dims=(0, None if shared else 0), randomness="different")
        result: Tensor = mapped(self.buffers, images)
        return result


class StackedTeam:
    """`learners` on this worker as one stack, and as many on each other worker.

    Mini-batch steps average the gradients of all learners, so that equal learners stay equal;
    local steps average nothing but every `local_steps`-th, after which parameters and running
    statistics are averaged. Momentum is each learner's own from the first local step on.
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
        self._training, self._learners = training, learners
        self._stack: Stack = EqualStack(network, learners, place.device)
        self._optimizer = momentum_sgd(self._stack.parameters.values(), training)
        self._local_steps, self._local_from = local_steps, local_from
        self.device, self.lr, self.steps, self.rounds = place.device, training.lr, 0, 0
        self._apart = False  # whether a local step followed the last average

    def step(self, images: Tensor, labels: Tensor) -> Tensor:
        """See Team."""
        local = is_local(self.steps, self._local_from)
        if local and isinstance(self._stack, EqualStack):
            self._separate()
        losses, _ = self._stack.backward(*dealt((images, labels), self._learners))
        if not local:
            self._average_gradients()
        for group in self._optimizer.param_groups:
            group["lr"] = self.lr
        self._optimizer.step()
        self._apart = local
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
        vector_to_parameters(self._mean_parameters(), network.parameters())
        if statistics := running_statistics(dict(network.named_buffers())):
            vector_to_parameters(self._mean_statistics(), statistics)
        return network

    def _separate(self) -> None:
        """Give each learner parameters and a momentum of its own, equal to the shared ones."""
        shared, momentum = self._stack, self._optimizer.state
        self._stack = Stack([self._network] * self._learners, self.device)
        self._stack.buffers = shared.buffers
        self._optimizer = momentum_sgd(self._stack.parameters.values(), self._training)
        for name, value in self._stack.parameters.items():
            one = shared.parameters[name]
            value.data.copy_(one.detach().expand_as(value))
            for key, state in momentum[one].items():
                if isinstance(state, Tensor):
                    self._optimizer.state[value][key] = state.expand_as(value).clone()

    def _average_gradients(self) -> None:
        if self._learners * self._place.workers == 1:
            return
        gradients = [value.grad for value in self._stack.parameters.values()
                     if value.grad is not None]  # fmt: skip
        mean = mean_of_workers(flat(gradients) / self._learners, self._place)
        set_to(gradients, mean, stacked=False)
        self.rounds += 1

    def _average(self) -> None:
        values = [value.data for value in self._stack.parameters.values()]
        set_to(values, self._mean_parameters(), stacked=True)
        set_to(running_statistics(self._stack.buffers), self._mean_statistics(), stacked=True)
        self.rounds += 1
        self._apart = False

    def _mean_parameters(self) -> Tensor:
        values = [value.detach() for value in self._stack.parameters.values()]
        if not isinstance(self._stack, EqualStack):
            values = [value.mean(0) for value in values]
        return mean_of_workers(flat(values), self._place)

    def _mean_statistics(self) -> Tensor:
        own = [value.mean(0) for value in running_statistics(self._stack.buffers)]
        return mean_of_workers(flat(own), self._place)
