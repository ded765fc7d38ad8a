"""Communication: an epoch's seconds split by subtraction, and by measuring its parts directly."""

from typing import Any

import pandas as pd

from dpscale.derive.cells import Cell, Launches, cells, one_worker_bases
from dpscale.derive.columns import as_table
from dpscale.derive.formulas import communication_seconds, compute_seconds
from dpscale.derive.rows import RowsByKey
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import (
    UNKNOWN,
    Estimate,
    interval_columns,
    median,
    paired_median_difference,
    verdict,
)
from dpscale.derive.verdicts import side
from dpscale.records.columns import Columns, columns, intervals

DIRECT = (
    "exposed_s",
    "overhead_s",
    "contention_s",
    "span_s",
    "buckets_s",
    "straggler_s",
    "sharing_s",
)
COLUMNS: Columns = (
    columns("workers nodes per_worker_batch status epoch_s compute_s")
    | intervals("subtraction_s")
    | columns("exposed_s overhead_s contention_s span_s base_epoch_s below_noise oversubscribed")
    | columns("runs base_status base_runs epoch_s_low epoch_s_high compute_s_low compute_s_high")
    | columns("buckets_s straggler_s straggler_frac sharing_s")
    | columns(" ".join(f"{name}_{end}" for name in DIRECT for end in ("low", "high")))
    | columns("exposed_below_noise repeats launches launch_spread_frac base_epoch_s_low")
    | columns("base_epoch_s_high")
    | intervals("loaded_epoch_s")
    | side("subtraction_side", "subtraction_s")
    | side("exposed_side", "exposed_s")
    | side("contention_to_exposed", "contention_s", "exposed_s")
    | side("subtraction_to_exposed", "subtraction_s", "exposed_s")
    | side("exposed_to_buckets", "exposed_s", "buckets_s")
    | side("loaded_to_epoch", "loaded_epoch_s", "epoch_s")
)
DDP = "without_loading"


def _of_one(epoch: Estimate) -> dict[str, Estimate]:
    """Return the parts of one worker: it is its own reference, and has nobody to talk to."""
    if epoch.value is None:
        return {"compute_s": UNKNOWN, "base_epoch_s": UNKNOWN}
    nothing = Estimate(communication_seconds(epoch.value, epoch.value, 1), 0.0, 0.0, epoch.repeats)
    own = dict.fromkeys(("base_epoch_s", "compute_s"), epoch)
    return own | dict.fromkeys(("subtraction_s", *DIRECT), nothing)


def _of_several(
    cell: Cell, base: Cell, epoch: Estimate, times: Launches, spans: RowsByKey
) -> dict[str, Estimate]:
    """Return T_1, T_1/N and what T_N is more than it, part by part.

    T_1 is of rank 0 alone in the same run, else of the one-worker run.
    """
    ddp, noop, solo, buckets = (
        times.epoch_s(cell, arm) for arm in (DDP, "noop_hook", "solo", "buckets")
    )
    copies = times.of(cell, "reference")
    base_epoch = solo if len(solo) else times.epoch_s(base, DDP)
    one = compute_seconds(base_epoch, cell.workers)
    complete = cell.status == "complete"
    compute = median(one) if complete else UNKNOWN
    subtraction = paired_median_difference(ddp, one)
    if epoch.value is not None and compute.value is not None:
        # From the same two medians as the columns beside it: the parts add up to the whole.
        exact = communication_seconds(compute.value * cell.workers, epoch.value, cell.workers)
        subtraction = subtraction._replace(value=exact)
    return {
        "base_epoch_s": median(base_epoch),
        "compute_s": compute,
        "subtraction_s": subtraction,
        "exposed_s": paired_median_difference(ddp, noop),
        "overhead_s": paired_median_difference(noop, copies["epoch_s"]),
        "contention_s": paired_median_difference(copies["epoch_s"], one),
        # A part of contention: the slowest of the copies against their mean.
        "straggler_s": paired_median_difference(copies["epoch_s"], copies["rank_mean_epoch_s"]),
        # The rest of it: the mean of the copies against one alone, paired as both are.
        "sharing_s": paired_median_difference(copies["rank_mean_epoch_s"], one),
        # From the first bucket's start to the last one's end; iterations of a launch are alike.
        "span_s": median(_by_launch(spans.of(*cell.runs if complete else ())) * cell.iterations),
        "buckets_s": median(buckets),
    }


def _by_launch(spans: pd.DataFrame) -> pd.Series:
    """The median span of each launch, in seconds."""
    return spans.groupby("run")["span_s"].median()


def _covers_zero(estimate: Estimate) -> bool | None:
    where = verdict(estimate.low, estimate.high, 0.0)
    return None if where == "unknown" else where == "indistinct"


def _row(cell: Cell, base: Cell, times: Launches, spans: RowsByKey) -> dict[str, Any]:
    epoch = median(times.epoch_s(cell, DDP))
    row = cell.columns() | {
        "repeats": epoch.repeats,
        "base_status": base.status,
        "base_runs": " ".join(base.runs),
        **times.columns(cell, DDP),
    }
    alone = cell.workers == 1
    found = _of_one(epoch) if alone else _of_several(cell, base, epoch, times, spans)
    loaded = median(times.epoch_s(cell, "with_loading"))
    for name, estimate in {"epoch_s": epoch, "loaded_epoch_s": loaded, **found}.items():
        row |= interval_columns(name, estimate)
    if row.get("straggler_s") is not None and epoch.value:
        row["straggler_frac"] = row["straggler_s"] / epoch.value
    if not alone:
        row["below_noise"] = _covers_zero(found["subtraction_s"])
        row["exposed_below_noise"] = _covers_zero(found["exposed_s"])
    return row


def split_of(planned: pd.DataFrame, epoch_times: pd.DataFrame, spans: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `communication` of these timed runs."""
    require_same_machine(planned)
    found = cells(planned)
    bases = one_worker_bases(found)
    times = Launches(epoch_times)
    # Of each iteration the rank that waited least: the others' spans hold its delay too.
    least = spans.groupby(["run", "iteration"])["span_s"].min().reset_index()
    spans_by_run = RowsByKey(least, "run")
    rows = [
        _row(cell, cell if cell.workers == 1 else bases[cell.per_worker_batch], times, spans_by_run)
        for cell in found
        if cell.per_worker_batch in bases
    ]
    return as_table(rows, COLUMNS)
