"""The made-up assignment alone, small enough to be derived many times."""

from collections.abc import Iterator
from functools import cache

import pandas as pd

from builders import Tables, full_lab
from dpscale.reporting.inputs import Inputs
from dpscale.studies import derived_of
from properties import failing

NAMES = ("assignment", "assignment_utilisation", "assignment_published")
ONE_WORKER = tuple(f"assignment-{run}" for run in ("linear-n1", "batch-b512", "batch-b1024"))
LINEAR = tuple(f"assignment-linear-n{workers}" for workers in (1, 2, 4))


@cache
def tidy(runs: tuple[str, ...] = (*LINEAR, *ONE_WORKER[1:])) -> Tables:
    """Some of its runs, and of their epochs two steps a rank: enough to count by."""
    own = {name: frame[frame["run"].isin(runs)] if "run" in frame else frame.iloc[:0]
           for name, frame in full_lab().items()}  # fmt: skip
    return own | {"steps": own["steps"][own["steps"]["step"] < 2]}


@cache
def derived() -> dict[str, pd.DataFrame]:
    """Its derived tables."""
    return _derived(tidy())


def _derived(tables: Tables) -> dict[str, pd.DataFrame]:
    made = derived_of(tables)
    return {name: made[name] for name in NAMES}


def failures(runs: tuple[str, ...]) -> Iterator[tuple[str, Inputs]]:
    """What is derived where each of some runs fails in each way, and where all do."""
    for name, tables in failing(tidy(runs), list(runs)):
        yield name, Inputs(_derived(tables), tables)
