"""Printed speed-ups against T_1/T_N, and speed-ups that no N workers can reach."""

from collections.abc import Iterator

from dpscale.audit.conventions import SPEEDUP, Choice, Times, options
from dpscale.audit.finding import Guess, nearest, shown
from dpscale.audit.interval import Interval, reach
from dpscale.audit.split import NOISE_FRAC
from dpscale.audit.table import Row, Table
from dpscale.derive.formulas import efficiency, speedup
from dpscale.records.audit import Finding

PRINTED = "printed_speedup"


def choice(table: Table) -> Choice:
    """Return the convention of the table's speed-ups."""
    return Choice(table, SPEEDUP, lambda row, times: _fits(row, ratio(times)))


def ratio(times: Times) -> Interval:
    """Return the span of T_1/T_N."""
    return reach(speedup, times.base.span, times.total.span)


def _fits(row: Row, span: Interval) -> bool:
    printed = row.span(PRINTED)
    return printed is not None and printed.meets(span)


def findings(table: Table, row: Row, times: Times | None) -> Iterator[Finding]:
    """Yield what is wrong with a row's printed speed-up, and with the speed-up itself."""
    printed = row.cells.get(PRINTED)
    if times and printed and not _fits(row, ratio(times)):
        expected = speedup(times.base.value, times.total.value)
        guess = nearest(printed.span, _mistakes(table, row, times)) or Guess(
            printed.span,
            "speedup_mismatch",
            f"T_1/T_N is {shown(times.base.value)} / {shown(times.total.value)}",
        )
        yield Finding(
            row.workers, row.per_worker_batch, guess.code, printed.value, expected, guess.reason,
            PRINTED,
        )  # fmt: skip
    reached = ratio(times) if times else row.span(PRINTED)
    if row.workers > 1 and reached and reached.low > row.workers * (1 + NOISE_FRAC):
        yield _superlinear(row, times, reached.middle)


def _superlinear(row: Row, times: Times | None, reached: float) -> Finding:
    source = "the two times give" if times else "the table prints"
    reason = (
        f"{source} a speed-up of {shown(reached)} on {row.workers} workers, more than N by over "
        f"{NOISE_FRAC:.0%}: the two were hardly measured alike (warm-up, caches, clocks)"
    )
    printed = row.cells.get(PRINTED)
    return Finding(
        row.workers, row.per_worker_batch, "superlinear", printed.value if printed else None,
        float(row.workers), reason, PRINTED if printed else "epoch_s",
    )  # fmt: skip


def _mistakes(table: Table, row: Row, times: Times) -> Iterator[Guess]:
    """What known mistakes would have printed."""
    workers, right = row.workers, ratio(times)
    for other in options(table, row, SPEEDUP):
        by_workers = "" if other == times else f" from {other.described()}"
        yield Guess(
            ratio(other).times(workers),
            "speedup_times_workers",
            f"it is N*T_1/T_N{by_workers}: multiplied by the number of workers",
        )
        if other != times:
            yield _mismatch(ratio(other), f"it rests on {other.described()}")
    yield _mismatch(reach(speedup, times.total.span, times.base.span), "it is T_N/T_1, upside down")
    yield _mismatch(
        reach(lambda ratio: efficiency(ratio, workers), right),
        "it is T_1/(N*T_N), the efficiency",
    )
    yield _mismatch(
        Interval(right.low - 1, right.high - 1), "it is T_1/T_N - 1, by how much it is faster"
    )
    yield _mismatch(right.times(100), "it is in percent, which neither header nor cell says")
    yield from _elsewhere(table, row, times)


def _elsewhere(table: Table, row: Row, times: Times) -> Iterator[Guess]:
    """The speed-up with a time of another row, or with a time mistyped."""
    for other in table:
        total = other.cells.get(times.total_column)
        if other.workers == 1 and (base := other.cells.get(times.base_column)):
            yield _mismatch(
                reach(speedup, base.span, times.total.span),
                f"its T_1 is that of batch {other.per_worker_batch}",
            )
        elif total and (other.workers == row.workers) != (
            other.per_worker_batch == row.per_worker_batch
        ):
            yield _mismatch(
                reach(speedup, times.base.span, total.span),
                f"its T_N is that of {other.workers} workers with batch {other.per_worker_batch}",
            )
    for name, cell in (("T_N", times.total), ("T_1", times.base)):
        for text, span in cell.slips():
            ends = (times.base.span, span) if name == "T_N" else (span, times.total.span)
            yield _mismatch(
                reach(speedup, *ends),
                f"it follows from {name} = {text}, which is {cell.typed} with a slip of a digit",
            )


def _mismatch(span: Interval, reason: str) -> Guess:
    return Guess(span, "speedup_mismatch", reason)
