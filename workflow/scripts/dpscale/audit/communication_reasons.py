"""Why a printed computation or communication is wrong: the nearest known mistake."""

from collections.abc import Iterator

from dpscale.audit.cells import Cell
from dpscale.audit.conventions import COMMUNICATION, Times, options
from dpscale.audit.finding import Guess, nearest, shown
from dpscale.audit.interval import Interval, reach
from dpscale.audit.split import COMM, COMPUTE, Split
from dpscale.audit.table import TIMES, Row, Table
from dpscale.derive.formulas import compute_seconds


def compute_reason(table: Table, row: Row, parts: Split) -> str:
    printed, times = row.cells[COMPUTE], parts.times
    guesses = [
        Guess(times.base.span, COMPUTE, "it is T_1, not divided by N"),
        Guess(times.total.span, COMPUTE, "it is the whole T_N"),
        Guess(parts.comm, COMPUTE, "it is the communication, T_N - T_1/N"),
    ]
    base = table.rows.get((1, row.per_worker_batch))
    for name in TIMES:
        cell = base.cells.get(name) if base else None
        if cell and name != times.base_column:
            reason = f"it is T_1/N with T_1 from {name}, not {times.base_column}"
            guesses.append(Guess(parts.compute_of(cell), COMPUTE, reason))
    guesses += [Guess(span, COMPUTE, reason) for span, reason in _other_computes(table, row, times)]
    met = nearest(printed.span, guesses)
    reason = met.reason if met else f"T_1/N = {shown(times.base.value)} / {row.workers}"
    rest = parts.rest(parts.printed_comm)
    if rest and printed.span.meets(rest):
        reason += (
            f"; the printed communication is what it leaves of {shown(times.total.value, 's')} "
            f"and becomes {shown(parts.comm_s, 's')} with {shown(parts.compute_s, 's')}"
        )
    return reason


def _other_computes(table: Table, row: Row, times: Times) -> Iterator[tuple[Interval, str]]:
    """Computations of rows that differ in N or in b alone."""
    for (workers, batch), other in table.rows.items():
        cell = other.cells.get(times.base_column)
        if workers == 1 and batch != row.per_worker_batch and cell:
            yield (
                reach(lambda s: compute_seconds(s, row.workers), cell.span),
                (f"it is T_1/N of batch {batch}"),
            )
        elif batch == row.per_worker_batch and workers not in (1, row.workers):
            yield (
                reach(lambda s, n=workers: compute_seconds(s, n), times.base.span),
                (f"it is the computation of {workers} workers"),
            )


def comm_reason(table: Table, row: Row, parts: Split) -> str:
    printed, times = row.cells[COMM], parts.times
    guesses = [
        Guess(times.total.span, COMM, "it is the whole T_N"),
        Guess(parts.compute, COMM, "it is the computation, T_1/N"),
        Guess(
            reach(lambda total, base: total - base, times.total.span, times.base.span),
            COMM,
            "it is T_N - T_1: T_1 was not divided by N",
        ),
    ]
    for name in ("epoch_s", "nodata_s"):
        if name != times.total_column and (cell := row.cells.get(name)):
            guesses += _left(cell, parts.compute, f"it is {name} - T_1/N: {_MIXED[name]}")
    for span, reason in _other_computes(table, row, times):
        guesses += _left(times.total, span, f"T_N less another computation: {reason}")
    for other in options(table, row, COMMUNICATION):
        reason = f"it rests on {other.described()}, unlike the others"
        guesses.append(Guess(parts.comm_of(other), COMM, reason))
    for text, span in printed.slips():
        if span.meets(parts.comm):
            return f"it is {text} with a slip of a digit"
    met = nearest(printed.span, guesses)
    given = f"T_N - T_1/N = {shown(times.total.value)} - {shown(times.base.value)} / {row.workers}"
    return met.reason if met else given


_MIXED = {
    "epoch_s": "a time with loading, less computation without",
    "nodata_s": "a time without loading, less computation with it",
}


def _left(total: Cell, compute: Interval, reason: str) -> list[Guess]:
    return [Guess(reach(lambda t, c: t - c, total.span, compute), COMM, reason)]
