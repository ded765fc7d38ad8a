"""S1: trials of one batch size, trained in step until they reach the goal or a budget ends.

Since all trials take their n-th step together, the first to reach the goal needs the fewest
steps, and a search may end soon after it without knowing less about its winner.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

import torch
from torch import Tensor

from dpscale.studies.steps_to_goal.measure.groups import Group, Point
from dpscale.train.data import Batch, Dataset, Loader, Split, build_loader, evaluation_batches
from dpscale.train.data.augmentation import Normalise
from dpscale.train.data.task import EVALUATION_BATCH

# Samples after which an evaluation looks whose share is already beyond the one in question.
LOOKS = (32, 64, 128)

Drawn = tuple[Tensor, Tensor, bool]  # images, labels, and whether all trials share them
# Whether each image is classified rightly [k, b] by the networks at k places.
Right = Callable[[Tensor, Tensor, Sequence[int]], Tensor]
Status = Literal["complete", "incomplete", "infeasible"]


def loader(dataset: Dataset, batch: int, seed: int, device: torch.device) -> Loader:
    """Batches of the whole training split in the order of a seed, made on the device."""
    return build_loader(
        dataset.train, dataset, loader="resident", batch=batch, workers=1, rank=0, seed=seed,
        augment=False, device=device,
    )  # fmt: skip


def supply(
    dataset: Dataset, batch: int, seeds: Sequence[int], device: torch.device
) -> Iterator[Drawn]:
    """Batches without end for trials of these seeds; trials of one seed share theirs.

    An epoch is a new order; the samples that fill no whole batch are left out of it.
    """
    loaders = {seed: loader(dataset, batch, seed, device) for seed in seeds}
    places = torch.tensor([list(loaders).index(seed) for seed in seeds], device=device)
    shared = len(loaders) == 1
    images, labels = dataset.train.images.to(device), dataset.train.labels.to(device)
    normalise = Normalise(dataset.mean, dataset.std, device)
    for epoch in count(1):
        # One selection for all trials: what each loader would yield, without a call for each.
        orders = torch.stack([one.order(epoch) for one in loaders.values()]).to(device)
        for indices in (orders[0] if shared else orders[places]).split(batch, dim=-1):
            yield normalise(images[indices]), labels[indices], shared


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


@dataclass(frozen=True)
class Trial:
    """One training to be made: its point, and the seed of its initial values and data order."""

    point: Point
    seed: int


@dataclass(frozen=True)
class Evaluation:
    """Validation error after a step; the test error where it was asked for."""

    step: int
    error_frac: float
    test_error_frac: float | None = None


@dataclass
class Outcome:
    """How a trial ended: it reached the goal, its budget ended first, or its loss was not finite.

    steps: made; steps_to_goal: None unless complete; evaluations: after steps 1, 2, 4, 8 … and at
    the goal.
    """

    trial: Trial
    status: Status = "incomplete"
    steps: int = 0
    steps_to_goal: int | None = None
    evaluations: list[Evaluation] = field(default_factory=list)


@dataclass(frozen=True)
class Rules:
    """When trials are evaluated (each `interval` steps) and when they end."""

    goal_error_frac: float
    max_steps: int
    patience: float  # math.inf: every trial has all its steps
    interval: int
    enough: float = math.inf  # trials that reached the goal, after which the others end

    def last(self, reached: Sequence[int]) -> float:
        """The last step of any trial, where some `reached` the goal after these steps."""
        if len(reached) >= self.enough:
            return sorted(reached)[int(self.enough) - 1]
        return min(self.max_steps, self.patience * min(reached, default=math.inf))


def race(
    trials: Sequence[Trial], group: Group, batches: Iterator[Drawn], rules: Rules,
    validation: Validation, test: Validation | None = None,
) -> list[Outcome]:  # fmt: skip
    """The outcomes of the trials, which `group` holds in this order.

    batches: without end. test: the test split, evaluated for trials that reach the goal.
    """
    outcomes = [Outcome(trial) for trial in trials]
    running = list(range(len(trials)))
    finite = torch.ones(len(running), dtype=torch.bool)
    steps_to_goal: list[int] = []
    for step, (images, labels, shared) in enumerate(batches, 1):
        x, y = (images, labels) if shared else (images[running], labels[running])
        finite &= group.step(x, y, shared=shared).isfinite()
        noted = step.bit_count() == 1  # 1, 2, 4, 8 ...
        if step % rules.interval and not noted and step + 1 <= rules.last(steps_to_goal):
            continue
        # Most evaluations only ask who is at the goal; those that are recorded are of all samples.
        beyond = math.inf if noted else rules.goal_error_frac
        errors = validation.wrong_shares(group.right, range(len(running)), beyond=beyond)
        reached = finite & (errors <= rules.goal_error_frac)
        steps_to_goal += [step] * int(reached.sum())
        ended = reached | ~finite | (step + 1 > rules.last(steps_to_goal))
        if not noted and (missed := _places(ended & finite & ~reached)):
            errors[missed] = validation.wrong_shares(group.right, missed)
        tests: dict[int, float] = {}
        if test is not None and (at_goal := _places(reached)):
            shares = test.wrong_shares(group.right, at_goal)
            tests = dict(zip(at_goal, shares.tolist(), strict=True))
        for place, index in enumerate(running):
            one = outcomes[index]
            if finite[place] and (noted or ended[place]):
                one.evaluations.append(Evaluation(step, float(errors[place]), tests.get(place)))
            if ended[place]:
                one.steps = step
                if reached[place]:
                    one.status, one.steps_to_goal = "complete", step
                elif not finite[place]:
                    one.status = "infeasible"
        if ended.all():
            return outcomes
        if ended.any():
            kept = _places(~ended)
            group.keep(kept)
            running, finite = [running[place] for place in kept], finite[kept]
    raise ValueError("the batches ended before the trials")


def _places(chosen: Tensor) -> list[int]:
    return chosen.nonzero().flatten().tolist()
