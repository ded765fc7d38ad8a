"""Printed computation and communication against T_1/N and T_N - T_1/N."""

from collections.abc import Iterator
from dataclasses import dataclass

from dpscale.audit.cells import Interval, SheetCell, reach
from dpscale.audit.conventions import COMMUNICATION, Guess, Times, likeliest, options, shown
from dpscale.audit.table import SPOKEN, TIMES, TimingRow, TimingTable
from dpscale.audit.timings import NOISE_FRAC
from dpscale.derive.formulas import communication_seconds, compute_seconds
from dpscale.records.audit import Finding

COMPUTE, COMM = "printed_compute_s", "printed_comm_s"
MIXED = {
    "epoch_s": "a time with loading, less computation without",
    "nodata_s": "a time without loading, less computation with it",
}


@dataclass(frozen=True)
class Split:
    """A row's epoch in two parts, computation and communication, as some times give them."""

    row: TimingRow
    times: Times

    @property
    def compute_s(self) -> float:
        """T_1/N."""
        return compute_seconds(self.times.base.value, self.row.workers)

    @property
    def comm_s(self) -> float:
        """T_N - T_1/N; one worker communicates nothing."""
        base, total, workers = self.times.base.value, self.times.total.value, self.row.workers
        return 0.0 if workers == 1 else communication_seconds(base, total, workers)

    @property
    def compute(self) -> Interval:
        """The span of T_1/N."""
        return _share(self.times.base, self.row.workers)

    @property
    def comm(self) -> Interval:
        """The span of T_N - T_1/N."""
        return self.times.total.span.minus(self.compute)

    def rest(self, printed: str) -> Interval | None:
        """The span of what a printed part leaves of the measured time; None without that part."""
        span = self.row.span(printed)
        return span and self.times.total.span.minus(span)


def _share(base: SheetCell, workers: int) -> Interval:
    """The span of T_1/N."""
    return reach(lambda base_s: compute_seconds(base_s, workers), base.span)


def communication(
    table: TimingTable, row: TimingRow, parts: Split | None, *, superlinear: bool
) -> Iterator[Finding]:
    """Yield what is wrong with a row's printed computation and communication.

    superlinear: these times are known to be too fast; that they leave nothing is said already.
    """
    if parts is None:
        yield from _untimed(row)
        return
    if row.workers == 1:
        yield from _one_worker(row)
        return
    # Noise may leave a little less than nothing, and people then write 0.
    comm_fits = row.meets(COMM, Interval(parts.comm.low, max(parts.comm.high, 0.0)))
    compute_fits = row.meets(COMPUTE, parts.compute, parts.rest(COMM) if comm_fits else None)
    if wrong_compute := COMPUTE in row.cells and not compute_fits:
        reason = _compute_reason(table, row, parts)
        yield _finding(row, COMPUTE, "compute_mismatch", parts.compute_s, reason)
    printed = row.cells.get(COMM)
    nothing_left = parts.comm.high < -NOISE_FRAC * parts.times.total.value
    if (printed and printed.value < 0) or (nothing_left and (printed or not superlinear)):
        yield _negative(row, parts)
    elif printed and not comm_fits and not row.meets(COMM, parts.rest(COMPUTE)):
        yield _finding(row, COMM, "comm_mismatch", parts.comm_s, _comm_reason(table, row, parts))
        if wrong_compute:
            yield _sum(row, parts.times.total)


def _one_worker(row: TimingRow) -> Iterator[Finding]:
    """One worker's computation is one of its times, and it communicates nothing."""
    times = [row.cells[name] for name in TIMES if name in row.cells]
    if COMPUTE in row.cells and not row.meets(COMPUTE, *(cell.span for cell in times)):
        reason = "one worker computes for all of its time"
        yield _finding(row, COMPUTE, "compute_mismatch", times[0].value, reason)
    rests = [one.span.minus(other.span) for one in times for other in times]
    if COMM in row.cells and not row.meets(COMM, Interval(0.0, 0.0), *rests):
        yield _finding(row, COMM, "comm_mismatch", 0.0, "one worker communicates nothing")


def _untimed(row: TimingRow) -> Iterator[Finding]:
    """What can be said without one worker's time: the sign, and the sum."""
    compute, comm = row.span(COMPUTE), row.cells.get(COMM)
    if comm and comm.value < 0:
        yield _finding(row, COMM, "negative_comm", None, "no communication takes less than no time")
    elif compute and comm:
        totals = [row.cells[name] for name in ("nodata_s", "epoch_s") if name in row.cells]
        both = reach(lambda one, other: one + other, compute, comm.span)
        if totals and not any(both.meets(total.span) for total in totals):
            yield _sum(row, totals[0])


def _finding(
    row: TimingRow, column: str, code: str, expected_s: float | None, reason: str
) -> Finding:
    cell = row.cells.get(column)
    scale, printed = (cell.scale, cell.printed) if cell else (1.0, None)
    expected = None if expected_s is None else expected_s / scale
    unit = {1.0: "s", 1e-3: "ms", 60.0: "min"}.get(scale, "")
    return Finding(*row.place, code, printed, expected, reason, column, unit)


def _sum(row: TimingRow, total: SheetCell) -> Finding:
    compute_s, comm_s = row.cells[COMPUTE].value, row.cells[COMM].value
    both = compute_s + comm_s
    reason = (
        f"{shown(compute_s)} of computation and {shown(comm_s)} of communication make "
        f"{shown(both, 's')}, and {shown(total.value, 's')} were measured: the two do not rest on "
        "the times of this row"
    )
    column = f"{COMPUTE} + {COMM}"
    return Finding(*row.place, "sum_mismatch", both, total.value, reason, column, "s")


def _negative(row: TimingRow, parts: Split) -> Finding:
    comm_s = parts.comm_s
    if comm_s < 0:
        reason = (
            f"{row.workers} workers took {shown(parts.times.total.value, 's')}, less than 1/N of "
            f"the {shown(parts.times.base.value, 's')} of one: the times leave less than nothing "
            "for communication; a share that fits a cache can do it, but more often they were not "
            "measured alike"
        )
    elif row.meets(COMM, parts.comm.times(-1)):
        reason = "the subtraction is turned round: it is T_1/N - T_N"
    else:
        reason = f"no communication takes less than no time; T_N - T_1/N is {shown(comm_s, 's')}"
    return _finding(row, COMM, "negative_comm", None if comm_s < 0 else comm_s, reason)


def _compute_reason(table: TimingTable, row: TimingRow, parts: Split) -> str:
    times = parts.times
    guesses = list(_compute_mistakes(table, row, parts))
    met = likeliest(row.cells[COMPUTE], guesses, [parts.compute])
    reason = met.reason if met else f"T_1/N = {shown(times.base.value)} / {row.workers}"
    if row.meets(COMPUTE, parts.rest(COMM)):
        reason += (
            f"; the printed communication is what it leaves of {shown(times.total.value, 's')} "
            f"and becomes {shown(parts.comm_s, 's')} with {shown(parts.compute_s, 's')}"
        )
    return reason


def _comm_reason(table: TimingTable, row: TimingRow, parts: Split) -> str:
    printed, times = row.cells[COMM], parts.times
    guesses = list(_comm_mistakes(table, row, parts))
    met = likeliest(printed, guesses, [parts.comm])
    given = f"T_N - T_1/N = {shown(times.total.value)} - {shown(times.base.value)} / {row.workers}"
    return met.reason if met else given


def _compute_mistakes(table: TimingTable, row: TimingRow, parts: Split) -> Iterator[Guess]:
    times = parts.times
    yield Guess(times.base.span, "it is T_1, not divided by N")
    yield Guess(times.total.span, "it is the whole T_N")
    yield Guess(parts.comm, "it is the communication, T_N - T_1/N")
    base = table.rows.get((1, row.per_worker_batch))
    for name in TIMES:
        if base and name in base.cells and name != times.base_column:
            known, given = SPOKEN[times.base_column], SPOKEN[name]
            reason = f"it is T_1/N with T_1 from {given}, not {known}"
            yield Guess(_share(base.cells[name], row.workers), reason)
    for span, words in _other_computes(table, row, times):
        yield Guess(span, f"it is {words}")


def _comm_mistakes(table: TimingTable, row: TimingRow, parts: Split) -> Iterator[Guess]:
    times, total = parts.times, parts.times.total.span
    yield Guess(total, "it is the whole T_N")
    yield Guess(parts.compute, "it is the computation, T_1/N")
    yield Guess(total.minus(times.base.span), "it is T_N - T_1: T_1 is not divided by N")
    for name, words in MIXED.items():
        if name != times.total_column and (span := row.span(name)):
            reason = f"it is T_N - T_1/N with {SPOKEN[name]}: {words}"
            yield Guess(span.minus(parts.compute), reason)
    for span, words in _other_computes(table, row, times):
        yield Guess(total.minus(span), f"it is T_N less {words}")
    for other in options(table, row, COMMUNICATION):
        yield Guess(Split(row, other).comm, f"it rests on {other.way}, unlike the others")


def _other_computes(
    table: TimingTable, row: TimingRow, times: Times
) -> Iterator[tuple[Interval, str]]:
    """Computations of rows that differ in N or in b alone."""
    for (workers, batch), other in table.rows.items():
        cell = other.cells.get(times.base_column)
        if workers == 1 and batch != row.per_worker_batch and cell:
            yield _share(cell, row.workers), f"T_1/N of batch {batch}"
        elif batch == row.per_worker_batch and workers not in (1, row.workers):
            yield _share(times.base, workers), f"the computation of {workers} workers"
