"""Which times a table's speed-ups, computations and communications rest on."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dpscale.audit.cells import Cell
from dpscale.audit.table import Row, Table

Pair = tuple[str, str]  # column of one worker's time, column of N workers' time
SPEEDUP: tuple[Pair, ...] = (
    ("epoch_s", "epoch_s"),
    ("nodata_s", "nodata_s"),
    ("sweep_compute_s", "nodata_s"),
    ("sweep_compute_s", "epoch_s"),
    ("epoch_s", "nodata_s"),
)
COMMUNICATION: tuple[Pair, ...] = (
    ("sweep_compute_s", "nodata_s"),
    ("nodata_s", "nodata_s"),
    ("sweep_compute_s", "epoch_s"),
    ("epoch_s", "epoch_s"),
    ("epoch_s", "nodata_s"),
)
WITHOUT_LOADING = ("sweep_compute_s", "nodata_s")


@dataclass(frozen=True)
class Times:
    """One worker's time and that of N workers, under one convention."""

    base: Cell
    total: Cell
    base_column: str
    total_column: str
    same_batch: bool

    def described(self) -> str:
        """The convention in words."""
        alike = "b" if self.same_batch else "N*b"
        return f"{self.base_column} of one worker with the same {alike}, and {self.total_column}"


Fits = Callable[[Row, Times], int]


def base_row(table: Table, row: Row, *, same_batch: bool) -> Row | None:
    """Return the one-worker row of the same b, or of the same N*b."""
    return table.rows.get((1, row.per_worker_batch if same_batch else row.global_batch))


def _base(table: Table, row: Row, column: str, *, same_batch: bool) -> Cell | None:
    base = base_row(table, row, same_batch=same_batch)
    cell = base.cells.get(column) if base else None
    if cell is None and column == "sweep_compute_s" and same_batch:
        return row.cells.get(column)  # one device's time by definition, in whichever row
    return cell


def options(table: Table, row: Row, pairs: tuple[Pair, ...]) -> Iterator[Times]:
    """Yield what a row's derived numbers may rest on, the lab's way first.

    Times with and without loading are mixed only where the row gives no two alike.
    """
    for same_batch in (True, False):
        found = {}
        for base, total in pairs:
            cell, measured = _base(table, row, base, same_batch=same_batch), row.cells.get(total)
            if cell and measured:
                found[base, total] = Times(cell, measured, base, total, same_batch)
        for pair, times in found.items():
            if not _mixed(pair) or all(map(_mixed, found)) or _no_better(row, pair, pairs):
                yield times


def _mixed(pair: Pair) -> bool:
    return (pair[0] in WITHOUT_LOADING) != (pair[1] in WITHOUT_LOADING)


def _no_better(row: Row, pair: Pair, pairs: tuple[Pair, ...]) -> bool:
    """Whether a table without nodata_s means its epoch_s for the lab's subtraction."""
    return pairs is COMMUNICATION and pair[1] == "epoch_s" and "nodata_s" not in row.cells


class Choice:
    """The convention of a table: of those that a row can follow, the one that most numbers do."""

    def __init__(self, table: Table, pairs: tuple[Pair, ...], fits: Fits) -> None:
        self._table, self._pairs = table, pairs
        votes: dict[tuple[bool, Pair], int] = {}
        for row in table:
            for times in options(table, row, pairs) if row.workers > 1 else ():
                way = _way(times)
                votes[way] = votes.get(way, 0) + fits(row, times)
        self._votes = votes

    def of(self, row: Row) -> Times | None:
        """Return the times that a row is judged by; None where it gives none."""
        found = list(options(self._table, row, self._pairs))
        return max(found, key=lambda times: self._votes.get(_way(times), 0), default=None)


def _way(times: Times) -> tuple[bool, Pair]:
    return times.same_batch, (times.base_column, times.total_column)
