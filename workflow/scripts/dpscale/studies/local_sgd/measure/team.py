"""Learners of local SGD: when they average, and a stack of them on each worker."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.optim import SGD, Optimizer

from dpscale.config.sections import TrainingConfig
from dpscale.records.columns import TableRow
from dpscale.train.data import Batch, Task, on_device
from dpscale.train.stacked import Stack, dealt
from dpscale.train.training import Stepper
from dpscale.train.worker import Place


def averages_after(step: int, local_from: int | None, local_steps: int) -> bool:
    """Whether parameters are averaged after the step of that number, counted from 0.

    After every `local_steps` local steps: never before one learner has taken so many.
    """
    taken = 0 if local_from is None else step - local_from + 1
    return taken > 0 and taken % local_steps == 0


@torch.no_grad()
def mean_of_workers(tensors: Sequence[Tensor], place: Place) -> Tensor:
    """The mean over all workers of tensors on each of them, as one vector; empty for none."""
    vector = parameters_to_vector(tensors) if tensors else torch.empty(0)
    if place.workers > 1 and tensors:
        dist.all_reduce(vector)
        vector /= place.workers
    return vector


def running_statistics(buffers: Iterable[Tensor]) -> list[Tensor]:
    """The buffers that can be averaged: counters of batches cannot, and are equal anyway."""
    return [value for value in buffers if value.is_floating_point()]


class Team(Stepper):
    """K learners that train together, `learners` of them on each worker.

    Mini-batch steps average the gradients of all; local steps average nothing but every
    `local_steps`-th, after which parameters and running statistics are averaged. `steps` taken by
    each, `rounds` of communication.
    """

    def __init__(
        self,
        network: nn.Module,
        task: Task,
        place: Place,
        training: TrainingConfig,
        *,
        local_steps: int,
        local_from: int | None,
        learners: int = 1,
        rate: Callable[[int], float] | None = None,
    ) -> None:
        """local_from: number of the first local step; None for none. rate: of a step, from 0;
        None: always the training's."""
        super().__init__(task, place)
        self._network, self._training = network.to(place.device), training
        self._rate = rate or (lambda step: training.lr)
        self._local_steps, self._local_from = local_steps, local_from
        self._learners, self._several = learners, learners * place.workers > 1
        self._apart = False  # whether a local step followed the last average
        self.steps, self.rounds = 0, 0
        self._optimizer = self._begin()

    @property
    def lr(self) -> float:
        """The rate of the next step."""
        return self._rate(self.steps)

    def step(self, batch: Batch) -> Tensor:
        """One step of every learner on this worker; returns their mean loss.

        The batch has the samples of all learners of this worker: learner i of l takes every
        l-th from the i-th on, which makes it worker rank + i * workers of K as Loader deals out.
        """
        local = self._local_from is not None and self.steps >= self._local_from
        loss = self._backward(on_device(batch, self.place.device), local=local)
        for group in self._optimizer.param_groups:
            group["lr"] = self.lr
        self._optimizer.step()
        averages = averages_after(self.steps, self._local_from, self._local_steps)
        self._apart = local and not averages
        if averages:
            self._average()
        self.rounds += self._several and not self._apart
        self.steps += 1
        return loss

    def finish(self) -> None:
        """The final average, which leaves all learners equal."""
        if self._apart:
            self._average()
            self._apart = False
            self.rounds += self._several

    def ends(self) -> TableRow:
        """Return the rounds of communication."""
        return {"rounds": self.rounds}

    @abstractmethod
    def _begin(self) -> Optimizer:
        """Make the learners of the network; returns what updates them."""

    @abstractmethod
    def _backward(self, batch: Batch, *, local: bool) -> Tensor:
        """Make the gradients of a step, averaged if it is not local; returns the mean loss."""

    @abstractmethod
    def _average(self) -> None:
        """Average what a step leaves apart."""

    @abstractmethod
    def network(self) -> nn.Module:
        """Return one with the mean parameters and buffers of all learners; changes none."""


class EqualStack(Stack):
    """Learners that differ in their buffers alone: one set of parameters, of shape [...], for all.

    A mini-batch step of them costs that of one network on all their images. The gradients are sums
    over the learners.
    """

    parameters_dim = None

    def __init__(self, network: nn.Module, learners: int, device: torch.device, task: Task) -> None:
        super().__init__([network] * learners, device, task)
        self._row = None  # whose matrix products are of parameters of each learner
        self.parameters = {
            name: value[0].detach().clone().requires_grad_(value.requires_grad)
            for name, value in self.parameters.items()
        }


class StackedTeam(Team):
    """A stack of learners on each worker; momentum is each one's own from the first local step."""

    def _begin(self) -> Optimizer:
        self._stack: Stack = EqualStack(self._network, self._learners, self.place.device, self.task)
        return self._sgd()

    def network(self) -> nn.Module:
        """See Team."""
        network = deepcopy(self._network)
        parameters, statistics = self._means()
        vector_to_parameters(parameters, network.parameters())
        vector_to_parameters(statistics, running_statistics(network.buffers()))
        return network

    def _sgd(self) -> SGD:
        """SGD over the stack's parameters, stacked or not: it works element by element."""
        training = self._training
        return SGD(
            self._stack.parameters.values(),
            lr=training.lr,
            momentum=training.momentum,
            nesterov=training.nesterov,
            weight_decay=training.weight_decay,
            fused=training.fused or None,
        )

    def _backward(self, batch: Batch, *, local: bool) -> Tensor:
        if local and isinstance(self._stack, EqualStack):
            self._separate()
        losses = self._stack.backward(*dealt(batch, self._learners))
        if self._several and not local:
            values = self._stack.parameters.values()
            gradients = [value.grad for value in values if value.grad is not None]
            mean = mean_of_workers(gradients, self.place) / self._learners
            vector_to_parameters(mean, gradients)
        return losses.mean()

    def _separate(self) -> None:
        """Give each learner parameters and a momentum of its own, equal to the shared ones."""
        shared, momentum = self._stack, self._optimizer.state
        self._stack = Stack([self._network] * self._learners, self.place.device, self.task)
        self._stack.buffers = shared.buffers
        self._optimizer = self._sgd()
        for name, value in self._stack.parameters.items():
            one = shared.parameters[name]
            value.data.copy_(one.detach().expand_as(value))
            for key, state in momentum[one].items():
                if isinstance(state, Tensor):
                    self._optimizer.state[value][key] = state.expand_as(value).clone()

    @torch.no_grad()
    def _average(self) -> None:
        parameters = list(self._stack.parameters.values())
        statistics = running_statistics(self._stack.buffers.values())
        for values, mean in zip((parameters, statistics), self._means(), strict=True):
            sizes = [value[0].numel() for value in values]
            for value, part in zip(values, mean.split(sizes), strict=True):
                value.copy_(part.view_as(value[0]))

    @torch.no_grad()
    def _means(self) -> tuple[Tensor, Tensor]:
        """Parameters and running statistics, each a vector, averaged over all learners."""
        parameters = list(self._stack.parameters.values())
        if not isinstance(self._stack, EqualStack):
            parameters = [value.mean(0) for value in parameters]
        statistics = [value.mean(0) for value in running_statistics(self._stack.buffers.values())]
        return mean_of_workers(parameters, self.place), mean_of_workers(statistics, self.place)
