"""The searches of S1: their runs, the repeats of their winners, and medians over them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from dpscale.derive.columns import known
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import Estimate, median

STUDY = "steps_to_goal"
KEY = ["model", "optimizer"]
BEYOND = 1e6  # stands for "not reached" inside a median, as a multiple of the largest number


def search_runs(runs: pd.DataFrame) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield (model and optimiser, row of `runs`) of each search; the run's arm is its optimiser.

    Raises MixedMachinesError for runs of different machines.
    """
    searches = runs[runs["kind"] == "search"]
    require_same_machine(searches)
    for row in searches.to_dict("records"):
        yield {"model": row["model"], "optimizer": row["arm"]}, {str(k): v for k, v in row.items()}


def of_role(trials: pd.DataFrame, run: str, role: str) -> pd.DataFrame:
    """Return the trials of a run that play a role: search, final or repeat."""
    return trials[(trials["run"] == run) & (trials["role"] == role)]


def censored_median(values: pd.Series) -> Estimate:
    """Return the median of steps where null means more than could be waited for.

    With less than half of them null the median is known all the same; so is its interval but for
    an end that falls on the nulls, which is null.
    """
    steps = values.to_numpy(dtype=float, na_value=np.nan)
    finite = steps[np.isfinite(steps)]
    if not len(finite):
        return Estimate(None, None, None, len(steps))
    top = float(finite.max())
    found = median(np.where(np.isfinite(steps), steps, top * BEYOND))

    def reached(value: float | None) -> float | None:
        """A value, or null where it lies beyond what was waited for."""
        return None if value is None or value > top else value

    return Estimate(reached(found.value), reached(found.low), reached(found.high), len(steps))


def batch_medians(trials: pd.DataFrame, run: str) -> dict[int, float]:
    """Return the median steps to the goal of a run's repeats by batch size, the known ones."""
    medians = {}
    for batch, group in of_role(trials, run, "repeat").groupby("global_batch"):
        value = censored_median(group["steps_to_goal"]).value
        if value is not None:
            medians[int(known(batch))] = value
    return medians
