"""What the answers read: derived and tidy tables as plain rows, and the runs behind a row."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from dpscale.reporting.answer import Value
from dpscale.units import unit_of

PER_CELL = "{column}_n{workers}_b{per_worker_batch}"  # a name of `named_values`
RESULTS = ("complete", "out_of_memory", "diverged", "exceeds_dataset", "unavailable")


class Row(dict[str, Any]):
    """A row of a table.

    `row["epoch_s"]` is the number, `row.epoch_s` with its interval, its unit and the runs behind
    it; a column that measures nothing is what it holds either way.
    """

    def __getattr__(self, column: str) -> Any:
        if column not in self:
            raise AttributeError(f"no column {column}")
        unit, found = unit_of(column), self[column]
        if unit in ("", "setting") or isinstance(found, Value):
            return found
        return self.value(column, unit)

    def __or__(self, other: Mapping[str, Any]) -> "Row":  # type: ignore[override]
        """Return the row with some columns more, or others."""
        return Row({**self, **other})

    @property
    def runs(self) -> list[str]:
        """The runs that the row names, its base's too."""
        named = " ".join(str(self[key]) for key in ("runs", "base_runs") if self.get(key))
        return list(dict.fromkeys(named.split()))

    def value(self, column: str, unit: str) -> Value:
        """Return a column as a number with its interval and the runs behind it."""
        repeats = self.get("repeats")
        n = self.get("seeds") if repeats is None else repeats
        return measured(self, column, unit, self.runs, n)


def _plain(value: object) -> object:
    """A Python value of a cell; None where it is null or not finite."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    return None if isinstance(value, float) and not math.isfinite(value) else value


def rows_of(frame: pd.DataFrame) -> list[Row]:
    """Return a table's rows as dictionaries of Python values, nulls as None."""
    # Column by column: pandas takes three times as long to make records.
    columns = {str(name): [_plain(value) for value in frame[name].tolist()] for name in frame}
    return [Row(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@dataclass(frozen=True)
class Inputs:
    """The derived tables and the tidy tables of one configuration, by name without ending."""

    derived: Mapping[str, pd.DataFrame]
    tidy: Mapping[str, pd.DataFrame]

    def rows(self, name: str, **cell: object) -> list[Row]:
        """Return the rows of a derived table in which each named column has the given value."""
        return self._matching(self.derived, name, cell)

    def tidy_rows(self, name: str, **cell: object) -> list[Row]:
        """Return the rows of a tidy table in which each named column has the given value."""
        return self._matching(self.tidy, name, cell)

    def runs(self, **cell: object) -> list[str]:
        """Return the names of the runs whose columns in `runs` have the given values."""
        return [row["run"] for row in self.tidy_rows("runs", **cell)]

    def runs_of(self, row: Mapping[str, Any], **cell: object) -> list[str]:
        """Return the runs that a derived row names (its base's too), else those that match."""
        return Row(row).runs or (self.runs(**cell) if cell else [])

    def train_samples(self, names: Iterable[str]) -> int | None:
        """Return how many samples the runs of these names train on; None where no one says."""
        runs = (self.tidy_rows("runs", run=name) for name in names)
        return next((run["train_samples"] for (run,) in runs if run["train_samples"]), None)

    def runs_judged(self, quietness: str) -> set[str]:
        """Return the runs beside which the machine was so: `disturbed`, `quiet` or `unknown`."""
        return {row["run"] for row in self.rows("quiet", quietness=quietness)}

    def disturbed(self, rows: Iterable[Row]) -> list[Row]:
        """Return those of the rows of which own launches were, and how many (`disturbed`)."""
        beside_others = self.runs_judged("disturbed")
        counted = [
            row | {"disturbed": len(beside_others.intersection(row["runs"].split()))}
            for row in rows
            if row["runs"]
        ]
        return [row for row in counted if row["disturbed"]]

    def repeats(self, row: Row, arm: str) -> int | None:
        """Return the number of timed repeats of a row's own runs in an arm; None if unknown."""
        own = set(str(row.get("runs") or "").split())
        times = self.rows("epoch_times", arm=arm)
        return sum(time["run"] in own for time in times) or None

    def taking_turns(
        self, row: Row, compute: Value, cost: Callable[[float, float, float], float]
    ) -> Row | None:
        """Return the devices of a row's workers, and what sharing them costs by arithmetic.

        compute: the computation of each worker, in seconds or as a share; cost: of that, of the
        workers and of the devices of a machine. None where each has a device, or it is unknown.
        """
        run = self.tidy_rows("runs", run=row["runs"].split()[0])[0]
        workers, devices = run["workers_per_machine"], run["devices_per_machine"]
        if None in (workers, devices, compute.value) or workers <= devices:
            return None
        due = {"value": cost(compute.value, workers, devices), "low": None, "high": None}  # type: ignore[arg-type]
        return Row(
            devices=round(row["workers"] * devices / workers), due=compute.model_copy(update=due)
        )

    def _matching(
        self, tables: Mapping[str, pd.DataFrame], name: str, cell: Mapping[str, object]
    ) -> list[Row]:
        if name not in list(tables):  # `in` alone would make the table, and hide what fails there
            raise KeyError(f"no table is named {name}; there are {', '.join(tables)}")
        if (read := (tables is self.tidy, name)) not in self._read:
            self._read[read] = rows_of(tables[name])
        return [
            row for row in self._read[read] if all(row[key] == one for key, one in cell.items())
        ]

    @cached_property
    def _read(self) -> dict[tuple[bool, str], list[Row]]:
        """Rows of the tables that were asked for, which all who ask share."""
        return {}


def measured(
    row: Mapping[str, Any], column: str, unit: str, runs: list[str], n: int | None = None
) -> Value:
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


def named_values(
    rows: Iterable[Row], name: str, columns: Iterable[str] | Mapping[str, str]
) -> dict[str, Value]:
    """Return columns of rows as the values of `answers.json`.

    name: format of a value's name, of the row's columns and `column`; columns: with their units,
    or such whose names tell them.
    """
    units = columns if isinstance(columns, Mapping) else {}
    return {
        name.format_map(row | {"column": column}): row.value(column, units[column])
        if column in units
        else getattr(row, column)
        for row in rows
        for column in columns
    }


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
