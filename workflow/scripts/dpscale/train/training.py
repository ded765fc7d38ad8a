"""The one training: models that train from evaluation to evaluation, and what becomes of them.

A study supplies what takes the steps, a `Stepper`: a replica on each worker (`train.replica`), a
team of learners, a central model, a stack of networks. `Training` does the rest for all of them:
it trains up to the next stop, times that, notices a loss that is not finite and a goal that is
reached, evaluates, and keeps the rows of `trials` (one a trained model) and `curves` (one an
evaluation).
"""

import math
import time
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from dpscale.plan import Spec
from dpscale.records.columns import TableRow
from dpscale.train.data import Task
from dpscale.train.evaluate import Evaluation, evaluate
from dpscale.train.machine.device import synchronise
from dpscale.train.progress import Meter
from dpscale.train.worker import Place

NextStop = Callable[[int], int]
ROUNDING = 1e-9  # of a share: 1 - (1 - x) is not x


@dataclass
class Trial:
    """One model in training, and how it ended; `settings` are further columns of `trials`.

    status: "complete" where it came to its end, or to the goal if there is one; "incomplete" where
    its steps ended before the goal, "diverged" where its loss was not finite. steps: made;
    wall_s: in training, of the slowest worker, evaluations left out. curve: rows of `curves`.
    """

    seed: int
    settings: TableRow
    status: Literal["complete", "incomplete", "diverged"] = "incomplete"
    steps: int = 0
    steps_to_goal: int | None = None
    wall_s: float | None = 0.0
    curve: list[TableRow] = field(default_factory=list)

    def row(self) -> TableRow:
        """Return its columns of `trials`."""
        ends = {"status": self.status, "steps": self.steps, "steps_to_goal": self.steps_to_goal}
        return {"seed": self.seed} | self.settings | ends | {"wall_s": self.wall_s}


def settings(spec: Spec, **others: Any) -> TableRow:
    """Return the columns of `trials` that a spec gives, with others beside or in their place."""
    batch = spec.per_worker_batch
    given = {
        "role": "arm",
        "arm": spec.arm,
        "model": spec.model.name,
        "optimizer": spec.training.optimizer,
        "learners": spec.workers,
        "per_learner_batch": batch,
        "global_batch": batch and batch * spec.workers,
        "lr": spec.training.lr,
        "momentum": spec.training.momentum,
    }
    return given | others


def tables(trials: Sequence[Trial]) -> dict[str, list[TableRow]]:
    """Return the tables `trials` and `curves` of a record, trials numbered as they come."""
    return {
        "trials": [{"trial": number} | one.row() for number, one in enumerate(trials)],
        "curves": [
            {"trial": number} | row for number, one in enumerate(trials) for row in one.curve
        ],
    }


def divergence(trials: Sequence[Trial]) -> str | None:
    """Return in words which trials diverged; None where none did."""
    seeds: dict[str | None, list[str]] = {}
    for one in trials:
        if one.status == "diverged":
            seeds.setdefault(one.settings["arm"], []).append(str(one.seed))
    lost = [f"{arm or 'the training'} with seed {', '.join(own)}" for arm, own in seeds.items()]
    return f"the loss was not finite: {'; '.join(lost)}" if lost else None


@dataclass(frozen=True)
class Goal:
    """A validation error to reach, at which a trial ends.

    Where others are at the goal already, a trial has `patience` times the steps of the first of
    them, and none once `enough` of them are.
    """

    error_frac: float
    patience: float = math.inf
    enough: float = math.inf

    def last_step(self, reached: Sequence[int]) -> float:
        """Return the last step of any trial, where some reached the goal after these steps."""
        if len(reached) >= self.enough:
            return sorted(reached)[int(self.enough) - 1]
        return self.patience * min(reached, default=math.inf)


def evaluation_columns(split: str, found: Evaluation) -> TableRow:
    """Return the columns of `curves` of an evaluation; samples are told apart of the test set."""
    finite = found.loss is not None and math.isfinite(found.loss)
    row = {f"{split}_loss": found.loss if finite else None}
    row |= {f"{split}_accuracy_frac": found.accuracy_frac}
    return row | ({"test_right": found.right} if split == "test" else {})


class Stepper(ABC):
    """What takes the steps of one trial, or of several that take them together."""

    def __init__(self, task: Task, place: Place, evaluation_batch: int = 1) -> None:
        """evaluation_batch: samples at a time of a task that does not say how many."""
        self.task, self.place, self.evaluation_batch = task, place, evaluation_batch

    @property
    @abstractmethod
    def lr(self) -> float | None:
        """The rate of the next step; None where trials differ in it."""

    def train(self, batches: Iterable[Any]) -> Tensor:
        """Take a step with each of the batches; returns the means of what `step` returned."""
        return torch.stack([self.step(batch) for batch in batches]).mean(0)

    def step(self, batch: Any) -> Tensor:
        """Take a step; returns the mean loss on this worker before it, without dimensions, or [k]
        of k trials."""
        raise NotImplementedError

    def finish(self) -> None:
        """Do what belongs to the end of training."""
        return

    def meanwhile(self) -> AbstractContextManager[Any]:
        """Return what watches the steps between two stops."""
        return nullcontext()

    def columns(self) -> TableRow:
        """Return further columns of `curves` about the last steps; all workers call it together."""
        return {}

    @abstractmethod
    def network(self) -> nn.Module:
        """Return the model to evaluate; all workers call it together."""

    def evaluated(
        self, splits: Sequence[str], places: Sequence[int], *, beyond: float, here: bool
    ) -> list[TableRow]:
        """Return the losses and accuracies of the trials at some places on some splits.

        An error that is larger than `beyond` need not be exact. here: whether this worker is one
        that evaluates; all call it, and the rows of the others are empty.
        """
        network, row = self.network(), TableRow()
        for name in splits if here else ():
            split = getattr(self.task, name)
            found = evaluate(
                network, split, self.task, self.place.device, batch=self.evaluation_batch
            )
            row |= evaluation_columns(name, found)
        return [row for _ in places]

    def keep(self, places: Sequence[int]) -> None:
        """Go on with the trials at these places alone; of several."""
        raise NotImplementedError

    def ends(self) -> TableRow:
        """Return columns of `trials` that are known at the end."""
        return {}


class Epochs(Protocol):
    """What makes the batches of an epoch, as `train.data.Loader` does."""

    def __len__(self) -> int:
        """Batches in an epoch."""

    def batches(self, epoch: int) -> Iterator[Any]:
        """Return the batches of an epoch, counted from 1."""


class Supply:
    """Batches of a loader, epoch after epoch, each in its own order."""

    def __init__(self, loader: Epochs) -> None:
        self.steps_per_epoch = len(loader)
        self._loader, self._epoch, self._left = loader, 0, 0
        self._batches: Iterator[Any] = iter(())

    def begin(self) -> None:
        """Begin an epoch where one has ended: its loading need not wait until it is timed."""
        if not self._left:
            self._epoch, self._left = self._epoch + 1, self.steps_per_epoch
            self._batches = iter(self._loader.batches(self._epoch))

    def take(self, steps: int) -> Iterator[Any]:
        """Yield so many batches."""
        while steps:
            self.begin()
            part = min(steps, self._left)
            self._left, steps = self._left - part, steps - part
            yield from islice(self._batches, part)
            if not self._left:
                next(self._batches, None)  # what loads them ends with its epoch


def epoch_stops(steps_per_epoch: int, epochs: int, *, parts: int = 1, every: int = 1) -> NextStop:
    """Return the stops of a training by epochs.

    They are `parts` an epoch, evenly spaced, or one every so many epochs; the last one always.
    """
    within = [max(1, round(steps_per_epoch * part / parts)) for part in range(1, parts + 1)]
    ends = [epoch for epoch in range(1, epochs + 1) if epoch % every == 0 or epoch == epochs]
    stops = sorted({(epoch - 1) * steps_per_epoch + stop for epoch in ends for stop in within})
    return lambda step: stops[bisect_right(stops, step)]


def goal_stops(interval: int) -> NextStop:
    """Return the stops of a training to a goal: each `interval` steps, and after 1, 2, 4, 8 …"""
    return lambda step: min((step // interval + 1) * interval, 1 << step.bit_length())


class Training:
    """Trials that train together, from stop to stop.

    supply: their batches; max_steps: of each; goal: None for a training that is to come to its
    end; splits: what is evaluated at each stop, and at_end: what else where a trial ends (of one
    with a goal: reaches it). each: every worker evaluates what it holds, else rank 0 alone.
    after: gets the row of each evaluation.
    """

    def __init__(
        self,
        trials: Sequence[Trial],
        stepper: Stepper,
        supply: Supply,
        next_stop: NextStop,
        *,
        max_steps: int,
        goal: Goal | None = None,
        splits: Sequence[str] = ("validation", "test"),
        at_end: Sequence[str] = (),
        each: bool = False,
        meter: Meter | None = None,
        after: Callable[[TableRow], None] | None = None,
    ) -> None:
        self.trials, self._stepper, self._supply = list(trials), stepper, supply
        self._next_stop, self._max_steps, self._goal = next_stop, max_steps, goal
        self._splits, self._at_end, self._each = tuple(splits), tuple(at_end), each
        self._meter, self._after = meter, after
        self._place = stepper.place
        self._running = list(self.trials)
        self._reached: list[int] = []  # steps after which trials reached the goal
        self.step = 0

    @property
    def ended(self) -> bool:
        """Whether nothing is left to train."""
        return not self._running

    def run(self) -> list[Trial]:
        """Train to the end; returns the trials."""
        while not self.ended:
            self.advance()
        return self.trials

    def advance(self) -> None:
        """Train up to the next stop, and evaluate there."""
        begin = self.step
        self.step = int(min(self._next_stop(begin), self._last_step()))
        lr = self._stepper.lr
        everyone = self._place.share(self._trained(self.step - begin))
        losses = np.mean([mean for mean, _ in everyone], axis=0)  # finite where all of them are
        wall_s = max(seconds for _, seconds in everyone)
        columns = self._stepper.columns()
        rows = [
            {
                "step": self.step,
                "epoch": self.step / self._supply.steps_per_epoch,
                "lr": lr,
                "train_loss": loss if math.isfinite(loss) else None,
                "wall_s": wall_s,
            }
            | columns
            for loss in map(float, losses)
        ]
        trials = self._running
        for trial in trials:
            trial.steps, trial.wall_s = self.step, (trial.wall_s or 0) + wall_s
        self._judge(rows, [place for place, loss in enumerate(losses) if np.isfinite(loss)])
        if self._meter is not None:
            samples = (self.step - begin) * sum(one.settings["global_batch"] for one in trials)
            self._meter.step(
                loss=rows[0]["train_loss"], samples_per_s=samples / wall_s, note=seen(rows[0])
            )

    def _last_step(self) -> float:
        if self._goal is None:
            return self._max_steps
        return min(self._max_steps, self._goal.last_step(self._reached))

    def _trained(self, steps: int) -> tuple[list[float], float]:
        """Take so many steps; returns the mean loss of each trial, and this worker's seconds."""
        self._supply.begin()
        self._place.wait()  # nobody's evaluation counts as somebody else's training
        with self._stepper.meanwhile():
            start = time.perf_counter()
            losses = self._stepper.train(self._supply.take(steps))
            if self.step == self._max_steps:
                self._stepper.finish()
            synchronise(self._place.device)
            wall_s = time.perf_counter() - start
        return losses.flatten().tolist(), wall_s

    def _judge(self, rows: list[TableRow], finite: list[int]) -> None:
        """Evaluate the trials at the places where the loss was finite, and end those that end."""
        noted = self._goal is None or self.step.bit_count() == 1
        reached = self._evaluate(rows, finite, exact=noted)
        self._reached += [self.step] * len(reached)
        over = self.step + 1 > self._last_step()
        if over and not noted and (missed := [one for one in finite if one not in reached]):
            self._add(rows, self._splits, missed)
        if reached and self._goal is not None and self._at_end:
            self._add(rows, self._at_end, reached)
        going = [] if over else [place for place in finite if place not in reached]
        for place, (trial, row) in enumerate(zip(self._running, rows, strict=True)):
            if place not in going:
                self._end(trial, diverged=place not in finite, reached=place in reached)
            if noted or place not in going:
                trial.curve.append(row)
                if self._after is not None and place in finite:
                    self._after(row)
        if going and len(going) < len(self._running):
            self._stepper.keep(going)
        self._running = [self._running[place] for place in going]

    def _evaluate(self, rows: list[TableRow], places: list[int], *, exact: bool) -> list[int]:
        """Evaluate what is evaluated at each stop; returns the places that are at the goal."""
        last = self._goal is None and self.step == self._max_steps
        splits = (*self._splits, *(self._at_end if last else ()))
        if not places or not splits:
            return []
        goal_frac = math.inf if self._goal is None else self._goal.error_frac
        self._add(rows, splits, places, beyond=math.inf if exact else goal_frac)
        if self._goal is None:
            return []
        errors = {place: 1 - (rows[place].get("validation_accuracy_frac") or 0) for place in places}
        reached = [place for place, error in errors.items() if error <= goal_frac + ROUNDING]
        return list(self._place.share(reached)[0])  # rank 0 evaluates

    def _add(
        self,
        rows: list[TableRow],
        splits: Sequence[str],
        places: Sequence[int],
        *,
        beyond: float = math.inf,
    ) -> None:
        """Add to the rows at some places what is seen on some splits."""
        here, start = self._each or self._place.leads, time.perf_counter()
        found = self._stepper.evaluated(splits, places, beyond=beyond, here=here)
        evaluation_s = time.perf_counter() - start
        if self._each:
            evaluation_s = max(self._place.share(evaluation_s))
        for place, columns in zip(places, found, strict=True):
            rows[place] |= {"evaluation_s": evaluation_s} | columns

    def _end(self, trial: Trial, *, diverged: bool, reached: bool) -> None:
        trial.settings |= self._stepper.ends()
        if diverged:
            trial.status = "diverged"
        elif reached or self._goal is None:
            trial.status = "complete"
        trial.steps_to_goal = self.step if reached else None


def seen(row: TableRow) -> str:
    """Return the accuracy of an evaluation in words; empty where it is not known here."""
    for split in ("test", "validation"):
        if (accuracy := row.get(f"{split}_accuracy_frac")) is not None:
            return f"{split} accuracy {accuracy:.1%}"
    return ""
