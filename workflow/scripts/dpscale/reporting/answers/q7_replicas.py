"""Q7's evidence: the replicas of both arms, and their training losses step by step."""

import math
from dataclasses import dataclass

import pandas as pd

from dpscale.reporting.answer import Value
from dpscale.reporting.answers.inputs import Inputs, Row

STUDY = "replicas"
ARMS = {"no_broadcast": "no_broadcast", "broadcast": "baseline"}  # table's name: run's name
COLUMNS = {
    "parameter_difference_max": "number",
    "buffer_difference_frac_max": "fraction",
    "test_accuracy_spread_frac": "fraction",
}


@dataclass(frozen=True)
class Replicas:
    """An arm's replicas over all epochs and seeds, and after each seed's last epoch."""

    rows: list[Row]
    runs: list[str]

    @property
    def identical(self) -> bool | None:
        """Whether the parameters agree bitwise on all workers after every epoch."""
        flags = [row.get("parameters_identical") for row in self.rows]
        return None if not flags or None in flags else all(flags)

    def last(self, column: str) -> list[float]:
        """Return a column after each seed's last epoch."""
        final = {row["seed"]: row for row in sorted(self.rows, key=lambda row: row["epoch"])}
        return [row[column] for row in final.values() if row.get(column) is not None]

    def largest(self, column: str) -> Value:
        """Return the largest value over the seeds, after the last epoch."""
        found = self.last(column)
        return Value(
            value=max(found) if found else None,
            unit=COLUMNS[column],
            runs=self.runs,
            n=len(found) or None,
            status=None if found else "not run yet",
        )


def replicas(inputs: Inputs, arm: str) -> Replicas:
    """Return what is known on the replicas of an arm, `broadcast` or `no_broadcast`."""
    rows = [row for row in inputs.rows("replicas", arm=arm) if row.get("epoch") is not None]
    return Replicas(rows, sorted({run for row in rows for run in inputs.runs_of(row)}))


def exceeds(one: float, other: float) -> bool:
    """Return whether a spread is larger than another by more than their rounding."""
    return one > other and not math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)


def costs(without: Value, with_it: Value) -> bool:
    """Return whether the test accuracy spreads further over the workers without the broadcast.

    Compared are the largest spreads over the seeds, as everywhere in this answer.
    """
    known = without.value is not None and with_it.value is not None
    return known and exceeds(float(without.value or 0), float(with_it.value or 0))


@dataclass(frozen=True)
class Losses:
    """Training losses of both arms, step by step: how many, how many equal, the largest gap."""

    compared: int
    equal: int
    largest_gap: float


def losses(inputs: Inputs) -> Losses:
    """Return the comparison of the two arms' losses in each step of each worker and seed."""
    step = ["seed", "epoch", "step", "rank"]
    steps = inputs.tidy.get("steps", pd.DataFrame(columns=["run", *step, "loss"]))
    sides = []
    for name in ARMS.values():
        runs = inputs.runs(study=STUDY, arm=name)
        sides.append(steps[steps["run"].isin(runs)][[*step, "loss"]])
    both = sides[0].merge(sides[1], on=step, suffixes=("", "_other")).dropna()
    gaps = (both["loss"] - both["loss_other"]).abs().astype(float)
    return Losses(len(both), int((gaps == 0).sum()), float(gaps.max()) if len(both) else 0.0)
