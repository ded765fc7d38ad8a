"""What the answers read: derived and tidy tables as plain rows, and the runs behind a row."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpscale.reporting.answer import Value

Row = dict[str, Any]

RESULTS = ("complete", "out_of_memory", "diverged", "exceeds_dataset", "unavailable")
_WHOLE = (
    "workers",
    "nodes",
    "per_worker_batch",
    "global_batch",
    "epoch",
    "epochs",
    "seed",
    "seeds",
    "rank",
    "repeats",
    "calls",
    "bytes",
    "parameters",
    "train_samples",
    "largest_fit_batch",
    "smallest_failed_batch",
    "fit_confirmations",
    "failure_confirmations",
    "groups",
    "group_batch",
    "steps",
    "diverged_seeds",
    "reference_batch",
    "elbow_batch",
    "lost_batch",
    "largest_batch",
    "published_batch",
)


def _plain(key: str, value: object) -> object:
    """A Python value of a cell; None where it is null; whole where its column counts things."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return int(value) if key in _WHOLE and isinstance(value, float) else value


def rows_of(frame: pd.DataFrame) -> list[Row]:
    """Return a table's rows as dictionaries of Python values, nulls as None."""
    return [
        {str(key): _plain(str(key), value) for key, value in row.items()}
        for row in frame.to_dict("records")
    ]


@dataclass(frozen=True)
class Inputs:
    """The derived tables and the tidy tables of one configuration, by name without ending."""

    derived: Mapping[str, pd.DataFrame]
    tidy: Mapping[str, pd.DataFrame]

    def rows(self, name: str, **cell: object) -> list[Row]:
        """Return the rows of a derived table in which each named column has the given value.

        A table that does not exist has no rows.
        """
        return _matching(self.derived.get(name), cell)

    def tidy_rows(self, name: str, **cell: object) -> list[Row]:
        """Return the rows of a tidy table in which each named column has the given value."""
        return _matching(self.tidy.get(name), cell)

    def runs(self, **cell: object) -> list[str]:
        """Return the names of the runs whose columns in `runs` have the given values."""
        return [row["run"] for row in self.tidy_rows("runs", **cell)]

    def runs_of(self, row: Row, **cell: object) -> list[str]:
        """Return the runs that a derived row names (its base's too), else those that match."""
        named = " ".join(str(row[key]) for key in ("runs", "base_runs") if row.get(key))
        return list(dict.fromkeys(named.split())) or (self.runs(**cell) if cell else [])

    def repeats(self, row: Row, arm: str) -> int | None:
        """Return the number of timed repeats of a row's own runs in an arm; None if unknown."""
        own = set(str(row.get("runs") or "").split())
        times = self.rows("epoch_times", arm=arm)
        return sum(time["run"] in own for time in times) or None


def _matching(frame: pd.DataFrame | None, cell: Mapping[str, object]) -> list[Row]:
    if frame is None or not set(cell) <= set(frame.columns):
        return []
    for key, value in cell.items():
        frame = frame[frame[key] == value]
    return rows_of(frame)


def measured(row: Row, column: str, unit: str, runs: list[str], n: int | None = None) -> Value:
    """Return a row's measurement with its interval (`_low`, `_high`) as a value.

    A null has the row's status, or `not measured` when the run is complete.
    """
    value = row.get(column)
    status = row.get("status")
    why = "not measured" if status in (None, "complete") else status
    return Value(
        value=value,
        unit=unit,
        low=row.get(f"{column}_low"),
        high=row.get(f"{column}_high"),
        n=n,
        runs=runs,
        status=why if value is None else None,
    )


def has_result(row: Row) -> bool:
    """Return whether a row's status is a result (out of memory is one, a failed run is not)."""
    return row.get("status") in RESULTS


def lacking(rows: Iterable[Row], names: Mapping[str, str], study: str) -> list[str]:
    """Return one line for each row without a result: the study, the cell, and its status.

    `names` maps the columns that identify a cell to the letters used for them.
    """
    lines = []
    for row in rows:
        if not has_result(row):
            cell = ", ".join(
                f"{letter} = {row[key]}"
                for key, letter in names.items()
                if row.get(key) is not None
            )
            lines.append(f"{study}, {cell}: {row.get('status') or 'not run yet'}")
    return list(dict.fromkeys(lines))
