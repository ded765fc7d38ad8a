"""Printed computation and communication against T_1/N and T_N - T_1/N."""

from collections.abc import Iterator

from dpscale.audit.cells import Cell
from dpscale.audit.communication_reasons import comm_reason, compute_reason
from dpscale.audit.finding import shown
from dpscale.audit.interval import Interval, reach
from dpscale.audit.split import COMM, COMPUTE, Split
from dpscale.audit.table import TIMES, Row, Table
from dpscale.records.audit import Finding


def findings(
    table: Table, row: Row, parts: Split | None, *, superlinear: bool
) -> Iterator[Finding]:
    """Yield what is wrong with a row's printed computation and communication.

    superlinear: these times are known to be too fast; that they leave nothing is said already.
    """
    if parts is None:
        yield from _untimed(row)
    elif row.workers == 1:
        yield from _one_worker(row)
    else:
        yield from _timed(table, row, parts, superlinear=superlinear)


def _timed(table: Table, row: Row, parts: Split, *, superlinear: bool) -> Iterator[Finding]:
    right = parts.compute_is_right(), parts.comm_is_right()
    if not right[0]:
        reason = compute_reason(table, row, parts)
        yield _finding(row, COMPUTE, "compute_mismatch", parts.compute_s, reason)
    printed = row.cells.get(COMM)
    if (printed and printed.value < 0) or (parts.impossible and (printed or not superlinear)):
        yield _negative(row, parts)
    elif not right[1]:
        yield _finding(row, COMM, "comm_mismatch", parts.comm_s, comm_reason(table, row, parts))
        if not right[0] and not parts.adds_up():
            yield _sum(row, parts.times.total)


def _one_worker(row: Row) -> Iterator[Finding]:
    """One worker's computation is one of its times, and it communicates nothing."""
    times = [cell for name in TIMES if (cell := row.cells.get(name))]
    compute, comm = row.cells.get(COMPUTE), row.cells.get(COMM)
    if compute and not any(compute.span.meets(cell.span) for cell in times):
        reason = "one worker computes for all of its time"
        yield _finding(row, COMPUTE, "compute_mismatch", times[0].value, reason)
    rests = [reach(lambda a, b: a - b, a.span, b.span) for a in times for b in times]
    if comm and not any(comm.span.meets(rest) for rest in [Interval(0.0, 0.0), *rests]):
        yield _finding(row, COMM, "comm_mismatch", 0.0, "one worker communicates nothing")


def _untimed(row: Row) -> Iterator[Finding]:
    """What can be said without one worker's time: the sign, and the sum."""
    compute, comm = row.cells.get(COMPUTE), row.cells.get(COMM)
    if comm and comm.value < 0:
        yield _finding(row, COMM, "negative_comm", None, "no communication takes less than no time")
    elif compute and comm:
        totals = [cell for name in ("nodata_s", "epoch_s") if (cell := row.cells.get(name))]
        both = reach(lambda one, other: one + other, compute.span, comm.span)
        if totals and not any(both.meets(total.span) for total in totals):
            yield _sum(row, totals[0])


def _finding(row: Row, column: str, code: str, expected_s: float | None, reason: str) -> Finding:
    cell = row.cells.get(column)
    scale = cell.scale if cell else 1.0
    expected = None if expected_s is None else expected_s / scale
    printed = cell.printed if cell else None
    unit = {1.0: "s", 1e-3: "ms", 60.0: "min"}.get(scale, "")
    return Finding(row.workers, row.per_worker_batch, code, printed, expected, reason, column, unit)


def _sum(row: Row, total: Cell) -> Finding:
    both = row.cells[COMPUTE].value + row.cells[COMM].value
    reason = (
        f"{shown(row.cells[COMPUTE].value)} of computation and {shown(row.cells[COMM].value)} of "
        f"communication make {shown(both, 's')}, and {shown(total.value, 's')} were measured: the "
        "two do not rest on the times of this row"
    )
    return Finding(
        row.workers, row.per_worker_batch, "sum_mismatch", both, total.value, reason,
        f"{COMPUTE} + {COMM}", "s",
    )  # fmt: skip


def _negative(row: Row, parts: Split) -> Finding:
    printed = parts.printed_comm
    if parts.comm_s < 0:
        reason = (
            f"{row.workers} workers took {shown(parts.times.total.value, 's')}, less than 1/N of "
            f"the {shown(parts.times.base.value, 's')} of one: the times leave less than nothing "
            "for communication, so they were not measured alike"
        )
        return _finding(row, COMM, "negative_comm", None, reason)
    turned = printed and printed.span.times(-1).meets(parts.comm)
    reason = (
        "the subtraction is turned round: it is T_1/N - T_N"
        if turned
        else f"no communication takes less than no time; T_N - T_1/N is {shown(parts.comm_s, 's')}"
    )
    return _finding(row, COMM, "negative_comm", parts.comm_s, reason)
