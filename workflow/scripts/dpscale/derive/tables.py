"""Derived tables: what makes each, of which tables, with which columns; and those of the core."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from dpscale.derive import accuracy, epoch_times, quiet
from dpscale.derive.columns import as_table, known
from dpscale.records.columns import Columns
from dpscale.records.quiet import COLUMNS as QUIET_COLUMNS


class Table(NamedTuple):
    """A derived table: `make` takes the tables named in `inputs`, in that order.

    An input that names a tidy table is that one, any other a derived one. `judge` notes in the rows
    what they say beside each other.
    """

    make: Callable[..., pd.DataFrame]
    inputs: Sequence[str]
    columns: Columns
    judge: Callable[[list[dict[str, Any]]], None] | None = None

    def __call__(self, *inputs: pd.DataFrame) -> pd.DataFrame:
        """Return the table of its inputs."""
        made = self.make(*inputs)
        return self.judged(made) if self.judge else made

    def named(self, name: str, inputs: Sequence[pd.DataFrame]) -> pd.DataFrame:
        """Return the table of its inputs; what is raised ends with its name."""
        try:
            return self(*inputs)
        except Exception as error:
            error.add_note(f"derived table {name}")
            raise

    def judged(self, made: pd.DataFrame) -> pd.DataFrame:
        """Return what `make` made with all its verdicts."""
        rows = [
            {name: known(value) for name, value in row.items()} for row in made.to_dict("records")
        ]
        if self.judge:
            self.judge(rows)
        return as_table(rows, self.columns)


CORE = {
    "epoch_times": Table(epoch_times.epoch_times, ["steps", "runs"], epoch_times.COLUMNS),
    "quiet": Table(quiet.quiet, ["repeats", "runs"], QUIET_COLUMNS),
    "accuracy": Table(accuracy.accuracy, ["trials", "curves", "runs"], accuracy.COLUMNS),
}


class Derived(Mapping[str, pd.DataFrame]):
    """The derived tables of some tidy tables (all of them), each made when it is first read.

    What a reader is given is a copy (pandas makes it at the first change): to change it changes no
    other table.
    """

    def __init__(self, tidy: Mapping[str, pd.DataFrame], tables: Mapping[str, Table]) -> None:
        self._tidy = {name: frame.copy(deep=False) for name, frame in tidy.items()}
        self._tables = tables
        self._made: dict[str, pd.DataFrame] = {}
        self._instead: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        found = self._instead[name] if name in self._instead else self._make(name)
        return found.copy(deep=False)

    def __or__(self, instead: Mapping[str, pd.DataFrame]) -> "Derived":
        """Return these tables with some replaced; the others are made as if none were."""
        changed = Derived(self._tidy, self._tables)
        changed._made, changed._instead = self._made, {**self._instead, **instead}
        return changed

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def _make(self, name: str) -> pd.DataFrame:
        if name not in self._made:
            table = self._tables[name]
            given = [
                self._tidy[one] if one in self._tidy else self._make(one) for one in table.inputs
            ]
            self._made[name] = table.named(name, given)
        return self._made[name]
