"""What times and counts say: steps, batches and loading, and printed speed-ups against T_1/T_N."""

import math
from collections.abc import Iterable, Iterator, Mapping

from dpscale.audit.cells import Interval, SheetCell, reach
from dpscale.audit.conventions import SPEEDUP, Facts, Guess, Times, likeliest, options
from dpscale.audit.table import Setting, TimingRow, TimingTable
from dpscale.derive import formulas
from dpscale.derive.formulas import speedup
from dpscale.records.audit import Cause, Finding, cause

# ASSUME: epochs timed by hand scatter by 1.5%, so that two of the same differ by 2.1%, and by three
# times that, 6.4%, in 1 of 370.
SCATTER_FRAC = 0.015
SAME_EPOCH_FRAC = 3 * math.sqrt(2) * SCATTER_FRAC
NOISE_FRAC = 0.03  # ASSUME: epochs of 1 and of N workers, timed by hand, agree to this
MOST_WORKERS = 1024
PRINTED = "printed_speedup"


def impossible(row: TimingRow, facts: Facts) -> Iterator[Finding]:
    """Yield what cannot be in a row, whatever is printed beside it."""
    batch, largest = row.per_worker_batch, facts.samples // row.workers
    if row.global_batch > facts.samples:
        why = cause("batch", step=row.global_batch, samples=facts.samples, largest=largest)
        code, column = "batch_exceeds_dataset", "per_worker_batch"
        yield Finding(*row.place, code, float(batch), float(largest), (why,), column)
    elif "steps" in row.cells:
        yield from _steps(row, facts)
    yield from _loading(row)


def _steps(row: TimingRow, facts: Facts) -> Iterator[Finding]:
    printed = row.cells["steps"].value
    fewest, expected, most = _possible(row.workers, row.per_worker_batch, facts)
    if fewest <= printed <= most:
        return
    known = {"epochs": facts.epochs, "samples": facts.samples, "global_batch": row.global_batch}
    kind = "steps" if fewest == most else "steps_between"
    reason = [cause(kind, **known, fewest=fewest, most=most)]
    if fitting := _fitting(row, facts):
        reason.append(cause("steps_of_workers", steps=printed, workers=fitting))
    elif printed > 0 and (ratio := printed / expected).is_integer():
        reason.append(cause("steps_of_epochs", steps=printed, epochs=ratio * facts.epochs))
    yield Finding(*row.place, "steps_mismatch", printed, expected, tuple(reason), "steps")


def _possible(workers: int, batch: int, facts: Facts) -> tuple[float, ...]:
    """Steps of a run: without the last partial batch of an epoch, by D/(N*b), and with it."""
    counts = (
        formulas.full_steps(facts.samples, workers * batch),
        formulas.iterations_per_epoch(facts.samples, workers, batch),
        formulas.loader_steps(facts.samples, workers * batch),
    )
    return tuple(formulas.run_steps(count, facts.epochs) for count in counts)


def _fitting(row: TimingRow, facts: Facts) -> int | None:
    """The number of workers whose steps the printed ones are, the nearest of several."""
    printed, batch = row.cells["steps"].value, row.per_worker_batch
    fits = {}
    for workers in range(1, min(MOST_WORKERS, facts.samples // batch) + 1):
        fewest, exact, most = _possible(workers, batch, facts)
        if fewest <= printed <= most:
            fits[workers] = abs(exact - printed)
    return min(fits, key=fits.__getitem__, default=None)


def _loading(row: TimingRow) -> Iterator[Finding]:
    """An epoch with loading takes at least as long as the same epoch without."""
    for loaded, bare in _saved_by_loading(row, SAME_EPOCH_FRAC)[:1]:
        why = cause("loading", bare_s=bare.value, noise=SAME_EPOCH_FRAC)
        code, unit = "loading_faster_than_without", "s" if loaded.scale == 1 else ""
        expected = bare.value / loaded.scale
        yield Finding(*row.place, code, loaded.printed, expected, (why,), "epoch_s", unit)


def _saved_by_loading(row: TimingRow, spared_frac: float) -> list[tuple[SheetCell, SheetCell]]:
    """The row's times with loading and without where loading saves more than some of the latter."""
    loaded = row.cells.get("epoch_s")
    names = ("nodata_s", "sweep_compute_s") if row.workers == 1 else ("nodata_s",)
    bares = [row.cells[name] for name in names if loaded and name in row.cells]
    return [
        (loaded, bare)
        for bare in bares
        if loaded and loaded.span.high < bare.span.low * (1 - spared_frac)
    ]


def spared(rows: Iterable[TimingRow], fast: Mapping[Setting, Times]) -> Iterator[Cause]:
    """Yield what is no finding only because it is within what epochs timed by hand scatter.

    fast: the times of the rows' speed-ups.
    """
    saved, beyond = {}, []
    for row in rows:
        pairs = _saved_by_loading(row, 0.0)
        if pairs and not _saved_by_loading(row, SAME_EPOCH_FRAC):
            saved[row.place] = max(1 - loaded.value / bare.value for loaded, bare in pairs)
        if row.workers > 1 and (times := fast.get(row.place)):
            least = _ratio(times.base, times.total).low
            if row.workers < least <= row.workers * (1 + NOISE_FRAC):
                beyond.append(row.place)
    if saved:
        named = {"cells": _listed(saved), "most": max(saved.values())}
        yield cause("loading_spared", **named, scatter=SCATTER_FRAC, noise=SAME_EPOCH_FRAC)
    if beyond:
        yield cause("superlinear_spared", cells=_listed(beyond), noise=NOISE_FRAC)


def _listed(places: Iterable[Setting]) -> str:
    return ", ".join(map(str, places))


def speedup_fits(row: TimingRow, times: Times) -> bool:
    """Return whether the printed speed-up follows from these times."""
    return row.meets(PRINTED, _ratio(times.base, times.total))


def _ratio(base: SheetCell, total: SheetCell) -> Interval:
    """The span of T_1/T_N."""
    return reach(speedup, base.span, total.span)


def speedups(table: TimingTable, row: TimingRow, times: Times | None) -> Iterator[Finding]:
    """Yield what is wrong with a row's speed-up itself, and with the printed one."""
    printed = row.cells.get(PRINTED)
    reached = _ratio(times.base, times.total) if times else row.span(PRINTED)
    if row.workers > 1 and reached and reached.low > row.workers * (1 + NOISE_FRAC):
        known = {"source": "times" if times else "table", "noise": NOISE_FRAC}
        why = cause("superlinear", speedup=reached.middle, workers=row.workers, **known)
        column, value = (PRINTED, printed.value) if printed else ("epoch_s", None)
        yield Finding(*row.place, "superlinear", value, float(row.workers), (why,), column)
    if times and printed and not speedup_fits(row, times):
        base_s, total_s = times.base.value, times.total.value
        why = cause("speedup", base_s=base_s, total_s=total_s)
        guesses = list(_mistakes(table, row, times))
        found = likeliest(printed, guesses, [_ratio(times.base, times.total)])
        guess = found or Guess(printed.span, why)
        code, expected = guess.code or "speedup_mismatch", speedup(base_s, total_s)
        yield Finding(*row.place, code, printed.value, expected, (guess.cause,), PRINTED)


def _mistakes(table: TimingTable, row: TimingRow, times: Times) -> Iterator[Guess]:
    right = _ratio(times.base, times.total)
    for other in options(table, row, SPEEDUP):
        ratio = _ratio(other.base, other.total)
        kind = "times_workers" if other == times else "times_workers_of"
        why = cause(kind, **other.named)
        yield Guess(ratio.times(row.workers), why, "speedup_times_workers")
        if other != times:
            yield Guess(ratio, cause("other_times", **other.named))
    yield Guess(_ratio(times.total, times.base), cause("upside_down"))
    share = reach(lambda ratio: formulas.efficiency(ratio, row.workers), right)
    yield Guess(share, cause("efficiency"))
    yield Guess(right.minus(Interval(1, 1)), cause("gain"))
    yield Guess(right.times(100), cause("percent"))
    yield from _other_rows(table, row, times)


def _other_rows(table: TimingTable, row: TimingRow, times: Times) -> Iterator[Guess]:
    """The speed-up with a time of another row."""
    for other in table.rows.values():
        workers, batch = other.workers, other.per_worker_batch
        total = other.cells.get(times.total_column)
        if workers == 1 and (base := other.cells.get(times.base_column)):
            yield Guess(_ratio(base, times.total), cause("other_base", batch=batch))
        elif total and (workers == row.workers) != (batch == row.per_worker_batch):
            why = cause("other_total", workers=workers, batch=batch)
            yield Guess(_ratio(times.base, total), why)
