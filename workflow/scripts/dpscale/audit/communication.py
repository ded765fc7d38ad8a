"""Printed computation and communication against T_1/N and T_N - T_1/N."""

from collections.abc import Iterator
from dataclasses import dataclass

from dpscale.audit.cells import Interval, SheetCell, reach
from dpscale.audit.conventions import COMMUNICATION, Guess, Times, likeliest, options
from dpscale.audit.table import TIMES, TimingRow, TimingTable
from dpscale.audit.timings import NOISE_FRAC
from dpscale.derive.formulas import communication_seconds, compute_seconds
from dpscale.records.audit import Cause, Finding, cause

COMPUTE, COMM = "printed_compute_s", "printed_comm_s"


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

    @property
    def seconds(self) -> dict[str, float]:
        """T_1 and T_N, for words."""
        return {"base_s": self.times.base.value, "total_s": self.times.total.value}

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
        why = _compute_causes(table, row, parts)
        yield _finding(row, COMPUTE, "compute_mismatch", parts.compute_s, *why)
    printed = row.cells.get(COMM)
    nothing_left = parts.comm.high < -NOISE_FRAC * parts.times.total.value
    if (printed and printed.value < 0) or (nothing_left and (printed or not superlinear)):
        yield _negative(row, parts)
    elif printed and not comm_fits and not row.meets(COMM, parts.rest(COMPUTE)):
        yield _finding(row, COMM, "comm_mismatch", parts.comm_s, _comm_cause(table, row, parts))
        if wrong_compute:
            yield _sum(row, parts.times.total)


def _one_worker(row: TimingRow) -> Iterator[Finding]:
    """One worker's computation is one of its times, and it communicates nothing."""
    times = [row.cells[name] for name in TIMES if name in row.cells]
    if COMPUTE in row.cells and not row.meets(COMPUTE, *(cell.span for cell in times)):
        why = cause("one_computes")
        yield _finding(row, COMPUTE, "compute_mismatch", times[0].value, why)
    rests = [one.span.minus(other.span) for one in times for other in times]
    if COMM in row.cells and not row.meets(COMM, Interval(0.0, 0.0), *rests):
        yield _finding(row, COMM, "comm_mismatch", 0.0, cause("one_sends"))


def _untimed(row: TimingRow) -> Iterator[Finding]:
    """What can be said without one worker's time: the sign, and the sum."""
    compute, comm = row.span(COMPUTE), row.cells.get(COMM)
    if comm and comm.value < 0:
        yield _finding(row, COMM, "negative_comm", None, cause("negative"))
    elif compute and comm:
        totals = summed(row)
        both = reach(lambda one, other: one + other, compute, comm.span)
        if totals and not any(both.meets(total.span) for total in totals):
            yield _sum(row, totals[0])


def summed(row: TimingRow) -> list[SheetCell]:
    """The measured times that a row's two printed parts may add up to; none without both parts."""
    known = row.cells if {COMPUTE, COMM} <= row.cells.keys() else {}
    return [known[name] for name in ("nodata_s", "epoch_s") if name in known]


def _finding(
    row: TimingRow, column: str, code: str, expected_s: float | None, *why: Cause
) -> Finding:
    cell = row.cells.get(column)
    scale, printed = (cell.scale, cell.printed) if cell else (1.0, None)
    expected = None if expected_s is None else expected_s / scale
    unit = {1.0: "s", 1e-3: "ms", 60.0: "min"}.get(scale, "")
    return Finding(*row.place, code, printed, expected, why, column, unit)


def _sum(row: TimingRow, total: SheetCell) -> Finding:
    compute_s, comm_s = row.cells[COMPUTE].value, row.cells[COMM].value
    both = compute_s + comm_s
    why = cause("sum", one_s=compute_s, other_s=comm_s, both_s=both, total_s=total.value)
    column = f"{COMPUTE} + {COMM}"
    return Finding(*row.place, "sum_mismatch", both, total.value, (why,), column, "s")


def _negative(row: TimingRow, parts: Split) -> Finding:
    comm_s, why = parts.comm_s, cause("negative_printed", comm_s=parts.comm_s)
    if comm_s < 0:
        why = cause("negative_times", workers=row.workers, **parts.seconds)
    elif row.meets(COMM, parts.comm.times(-1)):
        why = cause("turned_round")
    return _finding(row, COMM, "negative_comm", None if comm_s < 0 else comm_s, why)


def _compute_causes(table: TimingTable, row: TimingRow, parts: Split) -> Iterator[Cause]:
    guesses = list(_compute_mistakes(table, row, parts))
    met = likeliest(row.cells[COMPUTE], guesses, [parts.compute])
    yield met.cause if met else cause("compute", workers=row.workers, **parts.seconds)
    if row.meets(COMPUTE, parts.rest(COMM)):
        yield cause("remainder", **parts.seconds, compute_s=parts.compute_s, comm_s=parts.comm_s)


def _comm_cause(table: TimingTable, row: TimingRow, parts: Split) -> Cause:
    guesses = list(_comm_mistakes(table, row, parts))
    met = likeliest(row.cells[COMM], guesses, [parts.comm])
    return met.cause if met else cause("comm", workers=row.workers, **parts.seconds)


def _compute_mistakes(table: TimingTable, row: TimingRow, parts: Split) -> Iterator[Guess]:
    times = parts.times
    yield Guess(times.base.span, cause("undivided"))
    yield Guess(times.total.span, cause("total"))
    yield Guess(parts.comm, cause("is_comm"))
    base = table.rows.get((1, row.per_worker_batch))
    for name in TIMES:
        if base and name in base.cells and name != times.base_column:
            why = cause("other_time", base=times.base_column, total=name)
            yield Guess(_share(base.cells[name], row.workers), why)
    for span, kind, number in _other_computes(table, row, times):
        yield Guess(span, cause(kind, number=number))


def _comm_mistakes(table: TimingTable, row: TimingRow, parts: Split) -> Iterator[Guess]:
    times, total = parts.times, parts.times.total.span
    yield Guess(total, cause("total"))
    yield Guess(parts.compute, cause("is_compute"))
    yield Guess(total.minus(times.base.span), cause("less_base"))
    for name in ("epoch_s", "nodata_s"):
        if name != times.total_column and (span := row.span(name)):
            yield Guess(span.minus(parts.compute), cause("mixed", total=name))
    for span, kind, number in _other_computes(table, row, times):
        yield Guess(total.minus(span), cause(f"less_{kind}", number=number))
    for other in options(table, row, COMMUNICATION):
        yield Guess(Split(row, other).comm, cause("other_times", **other.named))


def _other_computes(
    table: TimingTable, row: TimingRow, times: Times
) -> Iterator[tuple[Interval, str, int]]:
    """Computations of rows that differ in N or in b alone, and in which of them."""
    for (workers, batch), other in table.rows.items():
        cell = other.cells.get(times.base_column)
        if workers == 1 and batch != row.per_worker_batch and cell:
            yield _share(cell, row.workers), "compute_of_batch", batch
        elif batch == row.per_worker_batch and workers not in (1, row.workers):
            yield _share(times.base, workers), "compute_of_workers", workers
