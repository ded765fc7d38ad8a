"""S1: which networks are at the goal, from as few samples as decide it."""

import math
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from dpscale.train.data import Batch, Dataset, Split, evaluation_batches
from dpscale.train.evaluate import EVALUATION_BATCH

# Samples after which an evaluation looks whose share is already beyond the one in question.
LOOKS = (32, 64, 128)

# Whether each image is classified rightly [k, b] by the networks at k places.
Right = Callable[[Tensor, Tensor, Sequence[int]], Tensor]


class Validation:
    """A split to evaluate on, normalised once, on a device.

    Its samples stand in the order of how many networks were wrong about them at the last whole
    evaluation, hardest first: a network that is beyond a share is soonest known to be so by them.
    """

    def __init__(self, split: Split, dataset: Dataset, device: torch.device) -> None:
        batches = list(evaluation_batches(split, dataset, EVALUATION_BATCH, device))
        self._images = torch.cat([images for images, _ in batches])
        self._labels = torch.cat([labels for _, labels in batches])

    def __len__(self) -> int:
        return len(self._labels)

    def wrong_shares(
        self, right: Right, places: Sequence[int], *, beyond: float = math.inf
    ) -> Tensor:
        """Shares [k] of samples that the networks at k places get wrong, float64 on the CPU.

        A network whose share is beyond `beyond` for certain is not evaluated further: its share
        may be larger than what is returned.
        """
        wrong = torch.zeros(len(places), dtype=torch.float64)
        left = list(range(len(places)))
        whole, misses = math.isinf(beyond), []
        for images, labels in self._parts(() if whole else LOOKS):
            missed = ~right(images, labels, [places[index] for index in left])
            wrong[left] += missed.sum(1).cpu()
            misses.append(missed.sum(0))
            left = [index for index in left if wrong[index] / len(self) <= beyond]
            if not left:
                break
        if whole:
            order = torch.cat(misses).argsort(descending=True, stable=True)
            self._images, self._labels = self._images[order], self._labels[order]
        return wrong / len(self)

    def _parts(self, looks: Sequence[int]) -> Iterator[Batch]:
        """All samples in order: parts of these sizes first, as far as they go, then large ones."""
        first = 0
        for size in (*looks, *[EVALUATION_BATCH] * math.ceil(len(self) / EVALUATION_BATCH)):
            if first < len(self):
                yield self._images[first : first + size], self._labels[first : first + size]
            first += size
