"""What times and counts say without any printed result: batches, steps, loading."""

from collections.abc import Iterator

from dpscale.audit.facts import Facts
from dpscale.audit.finding import shown
from dpscale.audit.table import Row
from dpscale.derive.formulas import full_steps, iterations_per_epoch, loader_steps, run_steps
from dpscale.records.audit import Finding

SAME_EPOCH_FRAC = 0.01  # ASSUME: the same epoch, timed twice, differs by no more than this
MOST_WORKERS = 1024


def findings(row: Row, facts: Facts) -> Iterator[Finding]:
    """Yield what is impossible in a row, whatever is printed beside it."""
    if row.global_batch > facts.samples:
        yield _oversized(row, facts)
    elif "steps" in row.cells:
        yield from _steps(row, facts)
    yield from _loading(row)


def _oversized(row: Row, facts: Facts) -> Finding:
    largest = facts.samples // row.workers
    held = (
        f"a batch of {row.per_worker_batch:,}"
        if row.workers == 1
        else f"{row.workers} workers of {row.per_worker_batch:,} take {row.global_batch:,} samples "
        "a step, which"
    )
    reason = (
        f"{held} is larger than the dataset of {facts.samples:,}: the loader silently hands out "
        f"no more than {largest:,} a worker, and the row is no measurement of this batch"
    )
    return Finding(
        row.workers, row.per_worker_batch, "batch_exceeds_dataset", float(row.per_worker_batch),
        float(largest), reason, "per_worker_batch",
    )  # fmt: skip


def _steps(row: Row, facts: Facts) -> Iterator[Finding]:
    printed = row.cells["steps"].value
    fewest, most = _possible(row.workers, row.per_worker_batch, facts)
    if fewest <= printed <= most:
        return
    expected = _exact(row.workers, row.per_worker_batch, facts)
    reason = f"{facts.epochs} epochs of {facts.samples:,} / {row.global_batch:,} steps" + (
        f" are {fewest:,}" if fewest == most else f" are {fewest:,} to {most:,}"
    )
    if fitting := _fitting(row, facts):
        reason += f"; {printed:,.0f} fits {fitting} workers"
    elif printed > 0 and (ratio := printed / expected).is_integer():
        reason += f"; {printed:,.0f} would be {ratio * facts.epochs:.0f} epochs (--epochs)"
    yield Finding(
        row.workers, row.per_worker_batch, "steps_mismatch", printed, expected, reason, "steps"
    )


def _possible(workers: int, batch: int, facts: Facts) -> tuple[int, int]:
    """Fewest and most steps of a run, with and without the last partial batch of an epoch."""
    steps = full_steps, loader_steps
    fewest, most = (int(count(facts.samples, workers * batch)) for count in steps)
    return int(run_steps(fewest, facts.epochs)), int(run_steps(most, facts.epochs))


def _exact(workers: int, batch: int, facts: Facts) -> float:
    return run_steps(iterations_per_epoch(facts.samples, workers, batch), facts.epochs)


def _fitting(row: Row, facts: Facts) -> int | None:
    """The number of workers whose steps the printed ones are, the nearest of several."""
    printed, batch = row.cells["steps"].value, row.per_worker_batch
    fits = []
    for workers in range(1, min(MOST_WORKERS, facts.samples // batch) + 1):
        fewest, most = _possible(workers, batch, facts)
        if fewest <= printed <= most:
            fits.append(workers)
    return min(fits, key=lambda n: abs(_exact(n, batch, facts) - printed), default=None)


def _loading(row: Row) -> Iterator[Finding]:
    """An epoch with loading takes at least as long as the same epoch without."""
    loaded = row.cells.get("epoch_s")
    names = ("nodata_s", "sweep_compute_s") if row.workers == 1 else ("nodata_s",)
    for name in names:
        bare = row.cells.get(name)
        if loaded and bare and loaded.span.high < bare.span.low * (1 - SAME_EPOCH_FRAC):
            reason = (
                f"the epoch with loading took {shown(loaded.value, 's')} and the same epoch "
                f"without {shown(bare.value, 's')} ({name}): loading cannot take less than no "
                "time, so the two were not measured alike"
            )
            yield Finding(
                row.workers, row.per_worker_batch, "loading_faster_than_without", loaded.printed,
                bare.value / loaded.scale, reason, "epoch_s", "s" if loaded.scale == 1 else "",
            )  # fmt: skip
            return
