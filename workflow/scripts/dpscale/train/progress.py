"""Progress of long work, from rank 0: lines in its log, and the same numbers as data.

Nothing here waits for the device, but for the loss of one step every LINE_S of an epoch.
"""

import math
import os
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from torch import Tensor

from dpscale.attempts import HISTORY, History, Progress
from dpscale.train.data import Batch
from dpscale.units import plain

LINE_S = 10.0  # from line to line, unless a planned unit ends
DATA_S = 2.0  # from one progress.json to the next: it may lie on a slow shared disk


class Meter:
    """Tells how far a run has come; its work is `parts` times `units` units.

    unit: what is counted, one word. The data goes to the folder that HISTORY names, if any.
    """

    def __init__(self, run: str, unit: str, units: int, *, parts: int = 1, shown: bool) -> None:
        self._run, self._unit, self._units, self._parts = run, unit, units, parts
        self._shown, folder = shown, os.environ.get(HISTORY)
        self._history = History(Path(folder)) if folder else None
        self._part, self._begun = "", 0
        self._done = 0  # units of the part
        self._worked = 0  # units of all parts; a part may end early
        self._loss: float | None = None
        self._start = time.perf_counter()
        self._unit_steps: int | None = None
        self._line_due, self._data_due = self._start + LINE_S, self._start
        self._due = self._start  # the earlier of the two

    def begin(self, part: str) -> None:
        """The next part begins, wherever the last one ended."""
        self._part, self._done, self._loss = part, 0, None
        self._begun += 1

    def extend(self, parts: int) -> None:
        """So many parts come on top of the planned ones."""
        self._parts += parts

    def watched(
        self,
        batches: Iterable[Batch],
        losses: list[Tensor | float],
        *,
        steps: int,
        samples: int,
        timed: bool = False,
    ) -> Iterator[Batch]:
        """The batches of one unit, between which steps are told of: a look at the clock a step.

        losses: gets the loss of each step; steps: of the unit; samples: of a step, all workers';
        timed: the unit is, so that nothing is told within it, which may wait for a shared disk.
        """
        self._unit_steps = steps
        supply = iter(batches)  # at once, as without a meter: its clock has not started
        told = self._shown and not timed
        return self._watched(supply, losses, steps, samples) if told else supply

    def _watched(
        self, supply: Iterator[Batch], losses: list[Tensor | float], steps: int, samples: int
    ) -> Iterator[Batch]:
        start = time.perf_counter()
        for batch in supply:
            if (now := time.perf_counter()) >= self._due and losses:
                if line := now >= self._line_due:
                    self._loss = float(losses[-1])
                progress = self._progress(
                    inside=len(losses) / steps,
                    step=len(losses),
                    steps=steps,
                    loss=self._loss,
                    samples_per_s=len(losses) * samples / (now - start),
                )
                self._tell(progress, line=line)
            yield batch

    def step(
        self,
        *,
        steps: int | None = None,
        loss: float | None = None,
        samples_per_s: float | None = None,
        note: str = "",
        left_s: float | None = None,
    ) -> None:
        """One unit of the work is done; a unit beyond the planned ones says what is left at most.

        steps: so far in all units, for units whose batches are not `watched`.
        """
        self._done += 1
        self._worked += 1
        if not self._shown:
            return
        all_steps = steps and round(steps / self._worked * max(self._units, self._worked))
        progress = self._progress(
            step=steps or self._unit_steps,
            steps=all_steps or self._unit_steps,
            loss=loss,
            samples_per_s=samples_per_s,
            note=note,
            left_s=left_s,
        )
        planned = self._done <= self._units
        self._tell(progress, line=planned, last=planned and progress.done_frac == 1)

    def _progress(
        self,
        *,
        inside: float = 0.0,
        step: int | None,
        steps: int | None,
        loss: float | None,
        samples_per_s: float | None,
        note: str = "",
        left_s: float | None = None,
    ) -> Progress:
        elapsed_s = time.perf_counter() - self._start
        position = max(self._begun - 1, 0) * self._units + self._done + inside
        total = self._parts * self._units
        if left_s is None:
            done_frac = min(position / total, 1.0)
            left_s = elapsed_s / (self._worked + inside) * max(total - position, 0)
        else:
            done_frac = elapsed_s / (elapsed_s + left_s)
        return Progress(
            part=self._part,
            unit=self._unit,
            number=self._done + math.ceil(inside),
            units=self._units,
            step=step,
            steps=steps,
            done_frac=done_frac,
            loss=loss,
            samples_per_s=samples_per_s,
            note=note,
            elapsed_s=elapsed_s,
            left_s=left_s,
            at=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def _tell(self, progress: Progress, *, line: bool, last: bool = False) -> None:
        now = time.perf_counter()
        if line or now >= self._line_due:
            print(f"{self._run}: {told(progress)}", file=sys.stderr, flush=True)
            self._line_due = now + LINE_S
        if self._history and (last or now >= self._data_due):
            self._history.tell(progress)
            self._data_due = now + DATA_S
        self._due = min(self._line_due, self._data_due) if self._history else self._line_due


def told(progress: Progress) -> str:
    """Return progress as one line: `seed 1, epoch 3 of 15, step 420 of 1,562, loss 0.512, …`."""
    parts = [progress.place()]
    if progress.step is not None and progress.steps is not None:
        parts.append(f"step {plain.count(progress.step)} of {plain.count(progress.steps)}")
    if progress.loss is not None:
        parts.append(f"loss {plain.rounded(progress.loss)}")
    if progress.note:
        parts.append(progress.note)
    if progress.samples_per_s is not None:
        parts.append(f"{plain.rounded(progress.samples_per_s)} samples/s")
    if progress.left_s is not None:
        most = "at most " if progress.number > progress.units else ""
        parts.append(f"{most}{plain.duration(progress.left_s)} left")
    return ", ".join(parts)
