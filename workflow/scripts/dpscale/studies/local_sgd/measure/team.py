"""Learners of local SGD: when they average, and a stack of them on each worker.

A stack holds the learners of several seeds, which train side by side without touching each other.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from copy import copy, deepcopy
from itertools import chain
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.func import vmap
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.optim import SGD, Optimizer

from dpscale.config.sections import TrainingConfig
from dpscale.records.columns import TableRow
from dpscale.train.data import Batch, Task, entries, map_tensors, on_device
from dpscale.train.stacked import Stack
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
    """K learners a seed that train together, `learners` of them on each worker.

    Mini-batch steps average the gradients of all; local steps average nothing but every
    `local_steps`-th, after which parameters and running statistics are averaged. `steps` taken by
    each, `rounds` of communication. The trials are the seeds.
    """

    def __init__(
        self,
        networks: Sequence[nn.Module],
        tasks: Sequence[Task],
        place: Place,
        training: TrainingConfig,
        *,
        local_steps: int,
        local_from: int | None,
        learners: int = 1,
        rate: Callable[[int], float] | None = None,
    ) -> None:
        """networks, tasks: of each seed, the tasks alike but for their samples. local_from: number
        of the first local step; None for none. rate: of a step, from 0; None: always the
        training's."""
        super().__init__(tasks[0], place)
        self._networks = [network.to(place.device) for network in networks]
        self._tasks, self._training = list(tasks), training
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
        """One step of every learner on this worker; returns the mean losses of the seeds.

        The batch, [seeds, learners · b, ...], has the samples of all learners of this worker:
        learner i of l takes every l-th from the i-th on, which makes it worker rank + i * workers
        of K as Loader deals out.
        """
        local = self._local_from is not None and self.steps >= self._local_from
        losses = self._backward(on_device(batch, self.place.device), local=local)
        for group in self._optimizer.param_groups:
            group["lr"] = self.lr
        self._optimizer.step()
        averages = averages_after(self.steps, self._local_from, self._local_steps)
        self._apart = local and not averages
        if averages:
            self._average()
        self.rounds += self._several and not self._apart
        self.steps += 1
        return losses

    def finish(self) -> None:
        """The final average, which leaves all learners equal."""
        if self._apart:
            self._average()
            self._apart = False
            self.rounds += self._several

    def ends(self) -> TableRow:
        """Return the rounds of communication."""
        return {"rounds": self.rounds}

    def evaluated(
        self, splits: Sequence[str], places: Sequence[int], *, beyond: float, here: bool
    ) -> list[TableRow]:
        """See Stepper: each seed on the samples of its own."""
        rows, networks = list[TableRow](), self.networks()
        for place in places:
            one = _Mean(networks[place], self._tasks[place], self.place, self.evaluation_batch)
            rows += one.evaluated(splits, [place], beyond=beyond, here=here)
        return rows

    def network(self) -> nn.Module:
        """There is one a seed."""
        raise NotImplementedError

    @abstractmethod
    def _begin(self) -> Optimizer:
        """Make the learners of the networks; returns what updates them."""

    @abstractmethod
    def _backward(self, batch: Batch, *, local: bool) -> Tensor:
        """Make the gradients of a step, averaged if it is not local; returns the mean losses."""

    @abstractmethod
    def _average(self) -> None:
        """Average what a step leaves apart."""

    @abstractmethod
    def networks(self) -> list[nn.Module]:
        """Return of each seed one with the mean parameters and buffers of all learners."""


class _Mean(Stepper):
    """The mean network of a seed, to be evaluated."""

    lr = None

    def __init__(self, network: nn.Module, task: Task, place: Place, evaluation_batch: int) -> None:
        super().__init__(task, place, evaluation_batch)
        self._network = network

    def network(self) -> nn.Module:
        """Return it."""
        return self._network


class EqualStack(Stack):
    """Learners of several seeds; those of a seed differ in their buffers alone.

    Parameters are [seeds, ...], one set for all learners of a seed: a mini-batch step of them costs
    that of one network on all their samples. Buffers, inputs and outputs are of each learner. The
    gradients are sums over the learners.
    """

    def __init__(
        self, networks: Sequence[nn.Module], learners: int, device: torch.device, task: Task
    ) -> None:
        super().__init__(networks, device, task)
        self._each = learners
        self.buffers = {
            name: value.repeat_interleave(learners, 0) for name, value in self.buffers.items()
        }

    def outputs(self, inputs: Any, *, training: bool, shared: bool) -> Any:
        """Outputs [seeds · learners, b, ...] of inputs alike; see Stack."""
        assert not shared
        if self._row is not None:  # no layer knows of learners
            joined = inputs.unflatten(0, (-1, self._each)).flatten(1, 2)
            outputs = self._in_a_row(self._row, joined, shared=False)
            return outputs.unflatten(1, (self._each, -1)).flatten(0, 1)
        self._template.train(training)
        of_seed = vmap(self._of_one, in_dims=(None, 0, 0), randomness="different")
        by_seed = map_tensors(
            lambda one: one.unflatten(0, (-1, self._each)), (self.buffers, inputs)
        )
        outputs = vmap(of_seed, randomness="different")(self.parameters, *by_seed)
        return map_tensors(lambda one: one.flatten(0, 1), outputs)


class StackedTeam(Team):
    """A stack of learners on each worker; momentum is each one's own from the first local step."""

    def _begin(self) -> Optimizer:
        device = self.place.device
        self._stack: Stack = EqualStack(self._networks, self._learners, device, self.task)
        self._kept: Sequence[int] | None = None  # entries of the batches; None: all of them
        return self._sgd()

    def networks(self) -> list[nn.Module]:
        """See Team."""
        networks, means = [deepcopy(network) for network in self._networks], self._means()
        for place, network in enumerate(networks):
            for name, value in chain(network.named_parameters(), network.named_buffers()):
                if name in means:
                    value.data.copy_(means[name][place])
        return networks

    def keep(self, places: Sequence[int]) -> None:
        """Go on with these seeds alone."""
        learners = [
            place * self._learners + one for place in places for one in range(self._learners)
        ]
        equal, stack = isinstance(self._stack, EqualStack), copy(self._stack)
        stack.buffers = entries(stack.buffers, learners)
        self._kept = list(places) if self._kept is None else [self._kept[one] for one in places]
        self._networks = [self._networks[place] for place in places]
        self._tasks = [self._tasks[place] for place in places]
        rows = places if equal else learners
        self._go_on(stack, lambda value: value[rows])

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
        given = batch if self._kept is None else entries(batch, self._kept)
        losses = self._stack.backward(*map_tensors(self._dealt, given))
        if self._several and not local:
            values = self._stack.parameters.values()
            gradients = [value.grad for value in values if value.grad is not None]
            torch._foreach_div_(gradients, self._learners)
            if self.place.workers > 1:
                vector_to_parameters(mean_of_workers(gradients, self.place), gradients)
        return losses.unflatten(0, (-1, self._learners)).mean(1)

    def _dealt(self, value: Tensor) -> Tensor:
        """Samples [seeds, learners · b, ...] as [seeds · learners, b, ...]; see `step`."""
        each = value.size(1) // self._learners
        return value.unflatten(1, (each, self._learners)).transpose(1, 2).flatten(0, 1)

    def _separate(self) -> None:
        """Give each learner parameters and a momentum of its own, equal to its seed's."""
        networks = [one for one in self._networks for _ in range(self._learners)]
        stack = Stack(networks, self.place.device, self.task)
        stack.buffers = self._stack.buffers
        self._go_on(stack, lambda value: value.repeat_interleave(self._learners, 0))

    def _go_on(self, stack: Stack, moved: Callable[[Tensor], Tensor]) -> None:
        """Go on with a stack of parameters and momentum that are moved to their new places."""
        before, states = self._stack.parameters, self._optimizer.state
        stack.parameters = {
            name: moved(value.detach()).requires_grad_(value.requires_grad)
            for name, value in before.items()
        }
        self._stack = stack
        self._optimizer = self._sgd()
        for name, value in stack.parameters.items():
            kept = {
                key: one for key, one in states[before[name]].items() if isinstance(one, Tensor)
            }
            self._optimizer.state[value] |= map_tensors(moved, kept)

    @torch.no_grad()
    def _average(self) -> None:
        values = self._stack.parameters | self._stack.buffers
        for name, mean in self._means().items():
            values[name].unflatten(0, (-1, self._learners)).copy_(mean.unsqueeze(1))

    @torch.no_grad()
    def _means(self) -> dict[str, Tensor]:
        """Parameters and running statistics, [seeds, ...], averaged over all learners.

        Counters of batches cannot be averaged, and are alike everywhere.
        """
        equal, parameters = isinstance(self._stack, EqualStack), self._stack.parameters
        apart = self._stack.buffers | ({} if equal else parameters)
        means = {
            name: value.unflatten(0, (-1, self._learners)).mean(1)
            for name, value in apart.items()
            if value.is_floating_point()
        }
        means |= parameters if equal else {}
        vector = mean_of_workers(list(means.values()), self.place)
        parts = vector.split([value.numel() for value in means.values()])
        return {
            name: part.view_as(value)
            for (name, value), part in zip(means.items(), parts, strict=True)
        }
