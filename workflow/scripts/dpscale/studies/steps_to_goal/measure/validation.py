"""S1: shares of a split that networks get wrong."""

import math
from collections.abc import Iterator, Sequence, Sized
from typing import Protocol

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from dpscale.studies.steps_to_goal.measure.groups import Group
from dpscale.train.data import Batch, Dataset, Task, entries, evaluation_batches
from dpscale.train.data.task import EVALUATION_BATCH

# Samples after which an evaluation looks whose share is already beyond the one in question.
LOOKS = (32, 64, 128)


class Validation(Protocol):
    """A split to evaluate on, kept on a device."""

    def wrong_shares(
        self, group: Group, places: Sequence[int], *, beyond: float = math.inf
    ) -> Tensor:
        """Shares [k] that the networks at k places get wrong, float64 on the CPU.

        A network whose share is beyond `beyond` need not be evaluated further: its share may be
        larger than what is returned.
        """


def build_validation(split: Sized, task: Task, device: torch.device, batch: int) -> Validation:
    """A split of the task to evaluate on; batch: of a user's own, samples at a time."""
    if isinstance(task, Dataset):
        return LabelledImages(split, task, device)
    return CountedAnswers(split, task, device, batch)


class CountedAnswers:
    """Samples of any kind, of which the task counts what each network gets right."""

    def __init__(self, split: Sized, task: Task, device: torch.device, batch: int) -> None:
        self._task = task
        self._batches = list(evaluation_batches(split, task, batch, device))

    @torch.no_grad()
    def wrong_shares(
        self, group: Group, places: Sequence[int], *, beyond: float = math.inf
    ) -> Tensor:
        """Of all samples; a network of which nothing is counted gets all wrong. See Validation."""
        right, counted = torch.zeros(2, len(places), dtype=torch.float64)
        for inputs, targets in self._batches:
            networks = (
                entries(part, index)
                for part in group.outputs(inputs, places)
                for index in range(len(tree_leaves(part)[0]))
            )
            for place, outputs in enumerate(networks):
                found, of = self._task.correct(outputs, targets)
                right[place] += float(found)
                counted[place] += float(of)
        return torch.where(counted > 0, 1 - right / counted, 1.0)


class LabelledImages:
    """Images of one label each, normalised once.

    They stand in the order of how many networks were wrong about them at the last whole
    evaluation, hardest first: a network that is beyond a share is soonest known to be so by them.
    """

    def __init__(self, split: Sized, dataset: Dataset, device: torch.device) -> None:
        batches = list(evaluation_batches(split, dataset, EVALUATION_BATCH, device))
        self._images = torch.cat([images for images, _ in batches])
        self._labels = torch.cat([labels for _, labels in batches])

    def __len__(self) -> int:
        return len(self._labels)

    @torch.no_grad()
    def wrong_shares(
        self, group: Group, places: Sequence[int], *, beyond: float = math.inf
    ) -> Tensor:
        """Of as many samples as it takes. See Validation."""
        wrong = torch.zeros(len(places), dtype=torch.float64)
        left = list(range(len(places)))
        whole, misses = math.isinf(beyond), []
        for images, labels in self._parts(() if whole else LOOKS):
            outputs = group.outputs(images, [places[index] for index in left])
            # argmax does not vectorise over strided logits
            missed = torch.cat([logits.max(2).indices != labels for logits in outputs])
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
