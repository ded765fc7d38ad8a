"""Why a printed computation or communication is wrong: the nearest known mistake."""

from collections.abc import Iterator

from dpscale.audit.cells import Cell
from dpscale.audit.conventions import COMMUNICATION, options
from dpscale.audit.finding import Guess, nearest, shown
from dpscale.audit.interval import Interval, reach
from dpscale.audit.split import COMM, COMPUTE, Split
from dpscale.audit.table import TIMES, Row, Table
from dpscale.derive.formulas import compute_seconds

MIXED = {
    "epoch_s": "a time with loading, less computation without",
    "nodata_s": "a time without loading, less computation with it",
}


def compute_reason(table: Table, row: Row, parts: Split) -> str:
    """Return what explains a wrong computation, and what follows for the communication."""
    printed, times = row.cells[COMPUTE], parts.times
    met = nearest(printed.span, _compute_mistakes(table, row, parts))
    reason = met.reason if met else f"T_1/N = {shown(times.base.value)} / {row.workers}"
    rest = parts.rest(parts.printed_comm)
    if rest and printed.span.meets(rest):
        reason += (
            f"; the printed communication is what it leaves of {shown(times.total.value, 's')} "
            f"and becomes {shown(parts.comm_s, 's')} with {shown(parts.compute_s, 's')}"
        )
    return reason


def comm_reason(table: Table, row: Row, parts: Split) -> str:
    """Return what explains a wrong communication."""
    printed, times = row.cells[COMM], parts.times
    for text, span in printed.slips():
        if span.meets(parts.comm):
            return f"it is {text} with a slip of a digit"
    met = nearest(printed.span, _comm_mistakes(table, row, parts))
    given = f"T_N - T_1/N = {shown(times.total.value)} - {shown(times.base.value)} / {row.workers}"
    return met.reason if met else given


def _compute_mistakes(table: Table, row: Row, parts: Split) -> Iterator[Guess]:
    times = parts.times
    yield _guess(times.base.span, "it is T_1, not divided by N")
    yield _guess(times.total.span, "it is the whole T_N")
    yield _guess(parts.comm, "it is the communication, T_N - T_1/N")
    base = table.rows.get((1, row.per_worker_batch))
    for name in TIMES:
        cell = base.cells.get(name) if base else None
        if cell and name != times.base_column:
            reason = f"it is T_1/N with T_1 from {name}, not {times.base_column}"
            yield _guess(parts.compute_of(cell), reason)
    for span, words in _other_computes(table, row, parts):
        yield _guess(span, f"it is {words}")


def _comm_mistakes(table: Table, row: Row, parts: Split) -> Iterator[Guess]:
    times = parts.times
    yield _guess(times.total.span, "it is the whole T_N")
    yield _guess(parts.compute, "it is the computation, T_1/N")
    yield _guess(_left(times.total, times.base.span), "it is T_N - T_1: T_1 is not divided by N")
    for name, words in MIXED.items():
        if name != times.total_column and (cell := row.cells.get(name)):
            yield _guess(_left(cell, parts.compute), f"it is {name} - T_1/N: {words}")
    for span, words in _other_computes(table, row, parts):
        yield _guess(_left(times.total, span), f"it is T_N less {words}")
    for other in options(table, row, COMMUNICATION):
        reason = f"it rests on {other.described()}, unlike the others"
        yield _guess(parts.comm_of(other), reason)


def _other_computes(table: Table, row: Row, parts: Split) -> Iterator[tuple[Interval, str]]:
    """Computations of rows that differ in N or in b alone."""
    base = parts.times.base
    for (workers, batch), other in table.rows.items():
        cell = other.cells.get(parts.times.base_column)
        if workers == 1 and batch != row.per_worker_batch and cell:
            yield parts.compute_of(cell), f"T_1/N of batch {batch}"
        elif batch == row.per_worker_batch and workers not in (1, row.workers):
            span = reach(lambda base_s, n=workers: compute_seconds(base_s, n), base.span)
            yield span, f"the computation of {workers} workers"


def _left(total: Cell, compute: Interval) -> Interval:
    return reach(lambda whole, part: whole - part, total.span, compute)


def _guess(span: Interval, reason: str) -> Guess:
    return Guess(span, "", reason)
