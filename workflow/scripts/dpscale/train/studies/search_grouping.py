"""S1: which trials train as one stack.

At large batches the activations of a stack of all trials would leave the caches: several stacks of
fewer trials are faster then, and at the largest none.
"""

import math
from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor, nn

from dpscale.train.studies.search_groups import Group, LoopGroup, StackedGroup
from dpscale.train.studies.search_points import Point

MIN_STACK = 8  # networks that are fewer, for their batch is large, take less time one by one


def build_group(
    networks: Sequence[nn.Module], points: Sequence[Point], device: torch.device,
    *, at_once: int, nesterov: bool, weight_decay: float,
) -> Group:  # fmt: skip
    """The networks in stacks of about equal size, at most `at_once`, or one after another."""

    def made(kind: type[StackedGroup] | type[LoopGroup], part: slice) -> Group:
        """A group of some of the networks."""
        return kind(
            networks[part], points[part], device, nesterov=nesterov, weight_decay=weight_decay
        )

    if at_once < MIN_STACK:
        return made(LoopGroup, slice(None))
    stacks = math.ceil(len(networks) / at_once)
    size = math.ceil(len(networks) / stacks)
    parts = [slice(first, first + size) for first in range(0, len(networks), size)]
    if len(parts) == 1:
        return made(StackedGroup, parts[0])
    return SideBySide(
        [made(StackedGroup, part) for part in parts], [len(networks[part]) for part in parts]
    )


class SideBySide:
    """Groups side by side as one; `sizes`: how many networks each holds."""

    def __init__(self, groups: Sequence[Group], sizes: Sequence[int]) -> None:
        self._groups, self.sizes = list(groups), list(sizes)

    def step(self, images: Tensor, labels: Tensor, *, shared: bool) -> Tensor:
        """One update of each, group by group."""
        if shared:
            steps = [group.step(images, labels, shared=True) for group in self._groups]
        else:
            parts = zip(images.split(self.sizes), labels.split(self.sizes), strict=True)
            steps = [
                group.step(x, y, shared=False)
                for group, (x, y) in zip(self._groups, parts, strict=True)
            ]
        return torch.cat(steps)

    def right(self, images: Tensor, labels: Tensor, places: Sequence[int]) -> Tensor:
        """Whether each prediction is right, group by group."""
        parts = zip(self._groups, self._within(places), strict=True)
        return torch.cat([group.right(images, labels, own) for group, own in parts if own])

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
