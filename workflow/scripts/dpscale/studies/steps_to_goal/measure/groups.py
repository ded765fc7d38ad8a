"""S1: trials that train in step with each other, in stacks or one after another.

All groups do the same arithmetic. A stack saves the overhead of many small operations, which is
most of the time at small batches. At large ones the activations of a stack of all trials would
leave the caches: several stacks of fewer trials are faster then, and at the largest none.
"""

import math
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.optim import SGD

from dpscale.train.data import Batch, Task, entries, map_tensors
from dpscale.train.stacked import Stack

MIN_STACK = 8  # networks that are fewer, for their batch is large, take less time one by one


@dataclass(frozen=True)
class Point:
    """A learning rate and a momentum (0 for plain SGD)."""

    lr: float
    momentum: float

    def sgd(self, network: nn.Module, *, nesterov: bool, weight_decay: float) -> SGD:
        """The optimiser of a network."""
        return SGD(
            network.parameters(),
            lr=self.lr,
            momentum=self.momentum,
            nesterov=nesterov and self.momentum > 0,
            weight_decay=weight_decay,
        )


class Group(Protocol):
    """k networks, each with its own learning rate and momentum."""

    def step(self, batch: Batch, *, shared: bool) -> Tensor:
        """One update of each; the losses [k] before it, on the CPU.

        Of a batch [k, b, ...]; without the k where all share it.
        """

    def outputs(self, inputs: Any, places: Sequence[int]) -> Iterator[Any]:
        """Outputs [m, b, ...] in evaluation of the networks at m ascending places, in parts of m.

        Of inputs [b, ...], which all share.
        """

    def keep(self, places: Sequence[int]) -> None:
        """Goes on with the networks at these places alone."""


def build_group(
    networks: Sequence[nn.Module],
    points: Sequence[Point],
    task: Task,
    device: torch.device,
    *,
    at_once: int,
    nesterov: bool,
    weight_decay: float,
) -> Group:
    """The networks in stacks of about equal size, at most `at_once`, or one after another."""
    kind: type[LoopGroup] | type[StackedGroup] = LoopGroup if at_once < MIN_STACK else StackedGroup
    stacks = math.ceil(len(networks) / at_once) if kind is StackedGroup else 1
    size = math.ceil(len(networks) / stacks)
    parts = [slice(first, first + size) for first in range(0, len(networks), size)]
    groups: list[Group] = [
        kind(
            networks[part], points[part], task, device, nesterov=nesterov, weight_decay=weight_decay
        )
        for part in parts
    ]
    if len(groups) == 1:
        return groups[0]
    return SideBySide(groups, [len(networks[part]) for part in parts])


class StackedGroup:
    """A group as one stack, which SGD updates.

    The update is that of torch.optim.SGD: v ← μv + g; θ ← θ − ηv, or θ − η(g + μv) by Nesterov.
    """

    def __init__(
        self,
        networks: Sequence[nn.Module],
        points: Sequence[Point],
        task: Task,
        device: torch.device,
        *,
        nesterov: bool,
        weight_decay: float,
    ) -> None:
        self._stack = Stack(networks, device, task)
        self._nesterov, self._weight_decay = nesterov, weight_decay
        self._lr = torch.tensor([point.lr for point in points], device=device)
        self._momentum = torch.tensor([point.momentum for point in points], device=device)
        self._velocity: dict[str, Tensor] | None = None
        if any(point.momentum for point in points):
            parameters = self._stack.parameters.items()
            self._velocity = {name: torch.zeros_like(value) for name, value in parameters}

    def step(self, batch: Batch, *, shared: bool) -> Tensor:
        """One update of each, all in one pass."""
        losses = self._stack.backward(*batch, shared=shared)
        self._update()
        return losses.cpu()

    @torch.no_grad()
    def _update(self) -> None:
        for name, value in self._stack.parameters.items():
            if value.grad is None:  # frozen, or not used
                continue
            change = value.grad
            apart = (-1,) + (1,) * (value.ndim - 1)
            if self._weight_decay:
                change = change.add(value, alpha=self._weight_decay)
            if self._velocity is not None:
                momentum = self._momentum.view(apart)
                velocity = self._velocity[name].mul_(momentum).add_(change)
                change = change.addcmul(momentum, velocity) if self._nesterov else velocity
            value.addcmul_(change, self._lr.view(apart), value=-1)

    def outputs(self, inputs: Any, places: Sequence[int]) -> Iterator[Any]:
        """All in one pass."""
        yield self._stack.evaluated(inputs, places)

    def keep(self, places: Sequence[int]) -> None:
        """Go on with a smaller stack."""
        self._stack.keep(places)
        chosen = torch.tensor(places, device=self._lr.device)
        self._lr, self._momentum = self._lr[chosen], self._momentum[chosen]
        if self._velocity is not None:
            self._velocity = {name: value[chosen] for name, value in self._velocity.items()}


class LoopGroup:
    """A group whose networks take their steps one after another, with torch.optim.SGD."""

    def __init__(
        self,
        networks: Sequence[nn.Module],
        points: Sequence[Point],
        task: Task,
        device: torch.device,
        *,
        nesterov: bool,
        weight_decay: float,
    ) -> None:
        self._task = task
        copies = [deepcopy(network).to(device) for network in networks]
        self._members = [
            (network, point.sgd(network, nesterov=nesterov, weight_decay=weight_decay))
            for network, point in zip(copies, points, strict=True)
        ]

    def step(self, batch: Batch, *, shared: bool) -> Tensor:
        """One update of each, one after another."""
        losses = []
        for place, (network, optimizer) in enumerate(self._members):
            inputs, targets = batch if shared else entries(batch, place)
            optimizer.zero_grad()
            loss = self._task.loss(network.train()(inputs), targets)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return torch.stack(losses).cpu()

    @torch.no_grad()
    def outputs(self, inputs: Any, places: Sequence[int]) -> Iterator[Any]:
        """A pass for each network."""
        for place in places:
            outputs = self._members[place][0].eval()(inputs)
            yield map_tensors(lambda one: one.unsqueeze(0), outputs)

    def keep(self, places: Sequence[int]) -> None:
        """Go on with these networks and their optimisers."""
        self._members = [self._members[place] for place in places]


class SideBySide:
    """Groups side by side as one; `sizes`: how many networks each holds."""

    def __init__(self, groups: Sequence[Group], sizes: Sequence[int]) -> None:
        self._groups, self.sizes = list(groups), list(sizes)

    def step(self, batch: Batch, *, shared: bool) -> Tensor:
        """One update of each, group by group."""
        losses, end = [], 0
        for group, size in zip(self._groups, self.sizes, strict=True):
            begin, end = end, end + size
            own = batch if shared else entries(batch, slice(begin, end))
            losses.append(group.step(own, shared=shared))
        return torch.cat(losses)

    def outputs(self, inputs: Any, places: Sequence[int]) -> Iterator[Any]:
        """Group by group."""
        for group, own in zip(self._groups, self._within(places), strict=True):
            if own:
                yield from group.outputs(inputs, own)

    def keep(self, places: Sequence[int]) -> None:
        """Go on with these alone; groups of which nothing is left go."""
        within = self._within(places)
        for group, own, size in zip(self._groups, within, self.sizes, strict=True):
            if 0 < len(own) < size:
                group.keep(own)
        self._groups = [group for group, own in zip(self._groups, within, strict=True) if own]
        self.sizes = [len(own) for own in within if own]

    def _within(self, places: Sequence[int]) -> list[list[int]]:
        """Of each group the places in it of its networks at ascending `places`."""
        ends = list(accumulate(self.sizes))
        return [
            [place - (end - size) for place in places if end - size <= place < end]
            for end, size in zip(ends, self.sizes, strict=True)
        ]
