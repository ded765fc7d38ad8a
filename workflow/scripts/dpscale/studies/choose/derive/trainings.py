"""E2: the advised cells as trained, and what of the advice that changes."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpscale.derive.cells import combined_status, in_study
from dpscale.derive.columns import as_table, known
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import (
    UNKNOWN,
    Estimate,
    censored_median,
    estimate_of,
    exactly,
    interval_columns,
    inverse,
    median,
    median_ratio,
    paired_median_ratio,
    product,
    together,
    verdict,
)
from dpscale.records.columns import Columns, columns, intervals
from dpscale.studies.choose.config import Aim
from dpscale.studies.choose.derive.goal import LIMITS, over_limits
from dpscale.studies.choose.derive.grid import CELL
from dpscale.vocabulary import VERDICTS, Verdict, words

HOLDS = ("yes", "no", "undecided")
TRAINED_COLUMNS: Columns = (
    columns("workers nodes per_worker_batch global_batch lr momentum")
    | intervals("predicted_s measured_s ratio")
    | columns("steps_to_goal step_s")
    | columns("prediction_factor")
    | words("holds", HOLDS)
    | words("against")
    | words("found", (*VERDICTS, "missed", "unavailable"))
    | words("aim", Aim)
    | columns("advised")
    | intervals("to_advised_ratio")
    | words("to_advised")
    | columns("obeys")
    | words("misses", LIMITS)
    | columns("excess_ratio taken seeds reached launches oversubscribed status runs")
)


def goal_trainings(
    time_to_goal: pd.DataFrame,
    trials: pd.DataFrame,
    advice: pd.DataFrame,
    limits: pd.DataFrame,
    runs: pd.DataFrame,
) -> pd.DataFrame:
    """Return for each cell that was trained the time to the goal, predicted and measured.

    measured_s: the median steps over seeds, where a seed that missed the goal counts as longer than
    all, times the median step over launches, with the interval of both, or its lower end where a
    seed missed the goal; ratio: over predicted_s.
    holds: whether the prediction does, the whole interval of the ratio being within the
    prediction_factor of `limits`; against: where the ratio lies of 1; found: the same, or that the
    goal was `missed`, or nothing `unavailable` to train. advised: the recommended cell;
    to_advised_ratio: the time, or cost as `aim` has it, over that of the recommended cell, seeds
    paired, all intervals `together`. obeys: the trained time keeps to the limits. taken: the
    cell to take after training, see `_take`.
    """
    planned = in_study(runs, "choose")
    planned = planned[planned["kind"] == "goal"]
    require_same_machine(planned)
    key = ["workers", "per_worker_batch"]
    cells = {
        tuple(known(row[name]) for name in key): row
        for row in time_to_goal[~time_to_goal["predicted"]].to_dict("records")
    }
    given = {name: known(limit) for name, limit in limits.iloc[0].items()} if len(limits) else {}
    recommended_cell = [
        tuple(known(row[name]) for name in key)
        for row in advice[advice["role"] == "recommended"].to_dict("records")
    ]
    rows: list[dict[str, Any]] = []
    seconds: dict[int, TrainedTime] = {}
    for _, of_cell in planned.groupby([*CELL, "global_batch"], dropna=False):
        status = combined_status(of_cell["status"])
        launches = of_cell[of_cell["status"] == status]
        row = launches.iloc[0][[*CELL, "global_batch", "status", "oversubscribed"]].to_dict()
        place = tuple(known(row[name]) for name in key)
        row |= {"runs": " ".join(launches["run"]), "advised": place in recommended_cell}
        trained = trials[trials["run"].isin(launches["run"]) & (trials["role"] == "goal")]
        if status == "complete" and place in cells and not trained.empty:
            seconds[len(rows)] = TrainedTime.of(trained)
            row |= _trained(trained, seconds[len(rows)], cells[place], given)
        rows.append(row | {"aim": given.get("aim") or "time"})
    _against_advised(rows, seconds)
    return as_table(rows, TRAINED_COLUMNS)


class TrainedTime(NamedTuple):
    """What a cell took to the goal: steps by seed, and a step by launch.

    steps: null where a seed missed the goal; at_least: then those that it trained in vain.
    """

    steps: pd.Series
    at_least: pd.Series
    step_s: pd.Series

    @classmethod
    def of(cls, trials: pd.DataFrame) -> "TrainedTime":
        """Return that of the trials of all launches."""
        steps = trials["steps_to_goal"].astype(float)
        reached = trials["wall_s"].notna() & steps.notna()
        # A seed takes the same steps in each launch, but for the order of sums.
        by_seed = steps.where(reached, np.inf).groupby(trials["seed"]).median()
        trained = steps.where(reached, trials["steps"].astype(float))
        step_s = (trials["wall_s"] / steps)[reached]
        by_launch = step_s.groupby(trials.loc[reached, "run"]).median()
        known_steps = by_seed.replace(np.inf, np.nan)
        return cls(
            known_steps, known_steps.fillna(trained.groupby(trials["seed"]).max()), by_launch
        )

    @property
    def whole(self) -> bool:
        """Whether every seed reached the goal."""
        return bool(self.steps.notna().all())

    def seconds(self) -> Estimate:
        """Return the time to the goal, with the interval over seeds and launches.

        Where a seed missed the goal it has a lower end alone, that of what was trained.
        """
        step_s = median(self.step_s)
        found = product(censored_median(self.steps), step_s)
        if self.whole or found.value is None:
            return found
        return found._replace(low=product(median(self.at_least), step_s).low, high=None)

    def over(self, other: "TrainedTime", family: int = 1) -> Estimate:
        """Return the time over that of another cell, seeds paired, and so many others at once.

        A seed that missed the goal takes longer than it was trained: the ratio of what was trained
        has the lower end where that is a seed of this cell, the upper end where it is one of the
        other, and none where both have one. Its value is known where both medians are.
        """
        steps = paired_median_ratio(self.at_least, other.at_least)
        ratio = together(product(steps, median_ratio(self.step_s, other.step_s)), family)
        medians = [censored_median(one.steps).value for one in (self, other)]
        return Estimate(
            None if None in medians else ratio.value,
            ratio.low if other.whole else None,
            ratio.high if self.whole else None,
            ratio.repeats,
        )


def _against_advised(rows: list[dict[str, Any]], seconds: Mapping[int, TrainedTime]) -> None:
    """Notes in each trained row how it compares with the advised cell."""
    advised = next((n for n, row in enumerate(rows) if row["advised"] and n in seconds), None)
    if advised is None:
        return
    rows[advised] |= interval_columns("to_advised_ratio", exactly(1))
    for number, row in enumerate(rows):
        if number in seconds and number != advised:
            ratio = seconds[number].over(seconds[advised], family=len(seconds) - 1)
            if row["aim"] == "cost":
                grown = row["workers"] / rows[advised]["workers"]
                value, low, high = (end and end * grown for end in ratio[:3])
                ratio = Estimate(value, low, high, ratio.repeats)
            row |= interval_columns("to_advised_ratio", ratio)


def judge_trainings(rows: list[dict[str, Any]]) -> None:
    """Notes what a training says of its prediction and of the advised cell, and which to take."""
    checked = any(row["advised"] and row["seeds"] is not None for row in rows)
    for row in rows:
        row |= dict.fromkeys(("against", "to_advised"))
        if row["seeds"] is not None:
            row["against"] = _beside_one(row, "ratio")
            if checked and not row["advised"]:
                row["to_advised"] = _beside_one(row, "to_advised_ratio")
        row["found"] = row["against"]
        if row["measured_s"] is None:
            row["found"] = "missed" if row["status"] == "complete" else "unavailable"
    _take(rows)


def _beside_one(row: dict[str, Any], name: str) -> Verdict:
    return verdict(row[f"{name}_low"], row[f"{name}_high"], 1.0)


def _take(rows: list[dict[str, Any]]) -> None:
    """Notes which trained cell to take.

    The advised one, unless a trained cell that obeys the limits is told to be better, or the
    advised one, trained, missed the goal or the limits: then the best of those that obey.
    """
    obedient = [row for row in rows if row.get("obeys")]
    taken = next((row for row in rows if row["advised"]), None)
    better = [row for row in obedient if row.get("to_advised") == "below"]
    if better or (taken and taken["status"] == "complete" and not taken.get("obeys")):
        taken = min(better or obedient, key=_price, default=taken)
    for row in rows:
        row["taken"] = row is taken


def holds(ratio: Estimate, factor: float | None) -> str | None:
    """Return whether a time is within a factor of the predicted one; None where nothing says.

    ratio: the time over the predicted one.
    """
    if factor is None or ratio.value is None:
        return None
    low, high = ratio.low or 0.0, math.inf if ratio.high is None else ratio.high
    if 1 / factor <= low and high <= factor:
        return "yes"
    return "no" if low > factor or high < 1 / factor else "undecided"


def _price(row: dict[str, Any]) -> float:
    """What a choice makes least, of a trained cell."""
    return float(row["measured_s"] * (row["workers"] if row["aim"] == "cost" else 1))


def _trained(
    trials: pd.DataFrame, trained: TrainedTime, cell: dict[str, Any], limits: dict[str, Any]
) -> dict[str, Any]:
    seconds = trained.seconds()
    predicted = estimate_of(cell, "time_to_goal_s")
    ratio = product(seconds, inverse(predicted)) if seconds.value is not None else UNKNOWN
    measured = {
        **interval_columns("time_to_goal_s", seconds),
        **interval_columns("worker_s", product(seconds, exactly(cell["workers"]))),
        "peak_bytes": cell.get("peak_bytes"),
    }
    obeys = over_limits(measured, limits) if seconds.value is not None else {"obeys": False}
    return {
        "lr": trials["lr"].iloc[0],
        "momentum": trials["momentum"].iloc[0],
        **interval_columns("predicted_s", predicted),
        **interval_columns("measured_s", seconds),
        **interval_columns("ratio", ratio),
        "steps_to_goal": censored_median(trained.steps).value,
        "step_s": trained.step_s.median(),
        "prediction_factor": (factor := limits.get("prediction_factor")),
        "holds": holds(ratio, factor),
        "seeds": len(trained.steps),
        "reached": int(trained.steps.notna().sum()),
        "launches": trials["run"].nunique(),
        **obeys,
    }
