"""S1: trials that train in step with each other, as one stack or one after another.

Both do the same arithmetic. A stack saves the overhead of many small operations, which is most of
the time at small batches.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.optim import SGD

from dpscale.train.stacked import Stack
from dpscale.train.studies.search_points import Point


class Group(Protocol):
    """k networks, each with its own learning rate and momentum."""

    def step(self, images: Tensor, labels: Tensor, *, shared: bool) -> Tensor:
        """One update of each; the losses [k] before it, on the CPU.

        images [k, b, ...] and labels [k, b]; without the k where all share the batch.
        """

    def right(self, images: Tensor, labels: Tensor, places: Sequence[int]) -> Tensor:
        """Whether each prediction [m, b] of the networks at m ascending places is right.

        images [b, ...] and labels [b], which all share.
        """

    def keep(self, places: Sequence[int]) -> None:
        """Goes on with the networks at these places alone."""


class StackedSgd:
    """SGD of a stack's learners, each with its own rate and momentum.

    The update is that of torch.optim.SGD: v ← μv + g; θ ← θ − ηv, or θ − η(g + μv) by Nesterov.
    """

    def __init__(
        self, stack: Stack, points: Sequence[Point], *, nesterov: bool, weight_decay: float
    ) -> None:
        self._stack, self._nesterov, self._weight_decay = stack, nesterov, weight_decay
        device = next(iter(stack.parameters.values())).device
        self._lr = torch.tensor([point.lr for point in points], device=device)
        self._momentum = torch.tensor([point.momentum for point in points], device=device)
        self._velocity: dict[str, Tensor] | None = None
        if any(point.momentum for point in points):
            self._velocity = {
                name: torch.zeros_like(value) for name, value in stack.parameters.items()
            }

    @torch.no_grad()
    def step(self) -> None:
        """One update by the gradients that `Stack.backward` left."""
        for name, value in self._stack.parameters.items():
            assert value.grad is not None
            change = value.grad
            apart = (-1,) + (1,) * (value.ndim - 1)
            if self._weight_decay:
                change = change.add(value, alpha=self._weight_decay)
            if self._velocity is not None:
                momentum = self._momentum.view(apart)
                velocity = self._velocity[name].mul_(momentum).add_(change)
                change = change.addcmul(momentum, velocity) if self._nesterov else velocity
            value.addcmul_(change, self._lr.view(apart), value=-1)

    def keep(self, places: Sequence[int]) -> None:
        """Goes on with the learners at these places alone."""
        chosen = torch.tensor(places, device=self._lr.device)
        self._lr, self._momentum = self._lr[chosen], self._momentum[chosen]
        if self._velocity is not None:
            self._velocity = {name: value[chosen] for name, value in self._velocity.items()}


class StackedGroup:
    """A group as one stack."""

    def __init__(
        self, networks: Sequence[nn.Module], points: Sequence[Point], device: torch.device,
        *, nesterov: bool, weight_decay: float,
    ) -> None:  # fmt: skip
        self._stack = Stack(networks, device)
        self._sgd = StackedSgd(
            self._stack, points, nesterov=nesterov, weight_decay=weight_decay
        )  # fmt: skip

    def step(self, images: Tensor, labels: Tensor, *, shared: bool) -> Tensor:
        """One update of each, all in one pass."""
        losses, _ = self._stack.backward(images, labels, shared=shared)
        self._sgd.step()
        return losses.cpu()

    def right(self, images: Tensor, labels: Tensor, places: Sequence[int]) -> Tensor:
        """Whether each prediction is right, by one pass."""
        return self._stack.right(images, labels, places)

    def keep(self, places: Sequence[int]) -> None:
        """Go on with a smaller stack."""
        self._stack.keep(places)
        self._sgd.keep(places)


class LoopGroup:
    """A group whose networks take their steps one after another, with torch.optim.SGD."""

    def __init__(
        self, networks: Sequence[nn.Module], points: Sequence[Point], device: torch.device,
        *, nesterov: bool, weight_decay: float,
    ) -> None:  # fmt: skip
        self._networks = [deepcopy(network).to(device) for network in networks]
        self._optimizers = [
            SGD(
                network.parameters(), lr=point.lr, momentum=point.momentum,
                nesterov=nesterov and point.momentum > 0, weight_decay=weight_decay,
            )
            for network, point in zip(self._networks, points, strict=True)
        ]  # fmt: skip

    def step(self, images: Tensor, labels: Tensor, *, shared: bool) -> Tensor:
        """One update of each, one after another."""
        losses = []
        for place, (network, optimizer) in enumerate(
            zip(self._networks, self._optimizers, strict=True)
        ):
            x, y = (images, labels) if shared else (images[place], labels[place])
            optimizer.zero_grad()
            loss = cross_entropy(network.train()(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return torch.stack(losses).cpu()

    @torch.no_grad()
    def right(self, images: Tensor, labels: Tensor, places: Sequence[int]) -> Tensor:
        """Whether each prediction is right, by a pass for each network."""
        networks = [self._networks[place].eval() for place in places]
        return torch.stack([network(images).argmax(1) == labels for network in networks])

    def keep(self, places: Sequence[int]) -> None:
        """Go on with these networks and their optimisers."""
        self._networks = [self._networks[place] for place in places]
        self._optimizers = [self._optimizers[place] for place in places]
