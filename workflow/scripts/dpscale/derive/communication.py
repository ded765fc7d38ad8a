"""Communication: an epoch's seconds split by subtraction, and by measuring its parts directly."""

from typing import Any

import pandas as pd

from dpscale.derive.cells import (
    Cell,
    by_arm_and_run,
    cells,
    in_study,
    of_rounds,
    one_worker_bases,
    rounds_of,
)
from dpscale.derive.columns import Columns, as_table, flags, floats, integers, texts
from dpscale.derive.formulas import (
    communication_seconds,
    compute_seconds,
    iterations_per_epoch,
)
from dpscale.derive.rows import RowsByKey
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import (
    UNKNOWN,
    Estimate,
    median,
    paired_median_difference,
    verdict,
)

PARTS = ("exposed_s", "overhead_s", "contention_s")
DIRECT = (*PARTS, "span_s", "buckets_s", "straggler_s")
COLUMNS: Columns = (
    integers("workers nodes per_worker_batch")
    | texts("status")
    | floats("epoch_s compute_s subtraction_s subtraction_s_low subtraction_s_high")
    | floats("exposed_s overhead_s contention_s span_s base_epoch_s")
    | flags("below_noise oversubscribed")
    | texts("runs base_status base_runs")
    | floats("epoch_s_low epoch_s_high compute_s_low compute_s_high")
    | floats("buckets_s straggler_s straggler_frac")
    | floats(" ".join(f"{name}_{end}" for name in DIRECT for end in ("low", "high")))
    | flags("exposed_below_noise")
    | integers("repeats")
)
DDP = "without_loading"


def _compute(cell: Cell, base: Cell | None, times: RowsByKey) -> pd.Series:
    """Return T_1/N of every repeat: of rank 0 alone in the same run, else of the one-worker run."""
    solo = rounds_of(cell, times, "solo")
    one = solo if len(solo) else rounds_of(base, times, DDP)
    return compute_seconds(one, cell.workers)


def _parts(cell: Cell, compute: pd.Series, times: RowsByKey) -> dict[str, Estimate]:
    """Return what T_N is more than T_1/N, part by part; the parts add up by construction."""
    ddp = rounds_of(cell, times, DDP)
    noop, reference = (rounds_of(cell, times, arm) for arm in ("noop_hook", "reference"))
    arms = of_rounds(cell, times, "reference")
    differences = {
        "subtraction_s": (ddp, compute),
        "exposed_s": (ddp, noop),
        "overhead_s": (noop, reference),
        "contention_s": (reference, compute if len(reference) else reference),
        # A part of contention: the slowest of the copies against their mean.
        "straggler_s": (arms["epoch_s"], arms["rank_mean_epoch_s"]),
    }
    return {
        name: paired_median_difference(more, less) if len(more) and len(less) else UNKNOWN
        for name, (more, less) in differences.items()
    }


def _span(cell: Cell, spans: RowsByKey) -> Estimate:
    """Return the median seconds per epoch from the first bucket's start to the last one's end."""
    own = spans.of(*cell.runs) if cell.status == "complete" else spans.of()
    if own.empty or cell.train_samples is None:
        return UNKNOWN
    iterations = iterations_per_epoch(cell.train_samples, cell.workers, cell.per_worker_batch)
    return median(own["span_s"] * iterations)


def _columns(estimates: dict[str, Estimate]) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for name, (value, low, high, _) in estimates.items():
        columns |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return columns


def _covers_zero(estimate: Estimate) -> bool | None:
    where = verdict(estimate.low, estimate.high, 0.0)
    return None if where == "unknown" else where == "indistinct"


def _row(cell: Cell, base: Cell | None, times: RowsByKey, spans: RowsByKey) -> dict[str, Any]:
    """Return the row of a cell of several workers."""
    epoch = median(rounds_of(cell, times, DDP))
    of_one = _compute(cell, base, times)
    compute = median(of_one) if cell.status == "complete" else UNKNOWN
    found = _parts(cell, of_one, times)
    if epoch.value is not None and compute.value is not None:
        # From the same two medians as the columns beside it: the parts add up to the whole.
        exact = communication_seconds(compute.value * cell.workers, epoch.value, cell.workers)
        found["subtraction_s"] = found["subtraction_s"]._replace(value=exact)
    found |= {
        "epoch_s": epoch,
        "compute_s": compute,
        "span_s": _span(cell, spans),
        "buckets_s": median(rounds_of(cell, times, "buckets")),
    }
    straggler_s = found["straggler_s"].value
    return _of_cell(cell, base, times) | _columns(found) | {
        "below_noise": _covers_zero(found["subtraction_s"]),
        "exposed_below_noise": _covers_zero(found["exposed_s"]),
        "straggler_frac": (
            straggler_s / epoch.value if straggler_s is not None and epoch.value else None
        ),
        "repeats": epoch.repeats,
    }  # fmt: skip


def _one_worker_row(cell: Cell, times: RowsByKey) -> dict[str, Any]:
    """Return the row of one worker: it is its own reference, and has nobody to talk to."""
    epoch = median(rounds_of(cell, times, DDP))
    row = _of_cell(cell, cell, times) | _columns({"epoch_s": epoch, "compute_s": epoch})
    if epoch.value is None:
        return row
    nothing = Estimate(communication_seconds(epoch.value, epoch.value, 1), 0.0, 0.0, epoch.repeats)
    parts = _columns(dict.fromkeys(("subtraction_s", *DIRECT), nothing))
    return row | parts | {"straggler_frac": 0.0, "repeats": epoch.repeats}


def _of_cell(cell: Cell, base: Cell | None, times: RowsByKey) -> dict[str, Any]:
    return {
        "workers": cell.workers,
        "nodes": cell.nodes,
        "per_worker_batch": cell.per_worker_batch,
        "status": cell.status,
        "base_epoch_s": median(rounds_of(base, times, DDP)).value,
        "oversubscribed": cell.oversubscribed,
        "runs": " ".join(cell.runs),
        "base_status": base.status if base else None,
        "base_runs": " ".join(base.runs) if base else None,
    }


def communication(
    epoch_times: pd.DataFrame, spans: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return the split of an epoch of each (workers, nodes, b) whose b one worker ran too.

    Seconds of an epoch of D samples without loading. compute_s = T_1/N, subtraction_s = T_N -
    T_1/N, with T_1 of rank 0 alone in the same run (arm solo), else of the one-worker run of the
    same b. exposed_s = T_N - T_noop, overhead_s = T_noop - T_reference, contention_s =
    T_reference - T_1/N: they add up to the subtraction. straggler_s, a part of contention, is the
    slowest copy against the mean copy; span_s is DDP's own log; buckets_s the all-reduce alone.
    Medians of the repeats with paired bootstrap intervals; null where an arm was not measured.
    below_noise and exposed_below_noise: the interval covers 0; null without one. One worker's row
    is zero but for its computation. Raises MixedMachinesError for runs of different machines.
    """
    return split_of(in_study(runs, "scaling"), epoch_times, spans)


def split_of(planned: pd.DataFrame, epoch_times: pd.DataFrame, spans: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `communication` of these timed runs."""
    require_same_machine(planned)
    found = cells(planned)
    bases = one_worker_bases(found)
    times = by_arm_and_run(epoch_times)
    # Of each iteration the rank that waited least: the others' spans hold its delay too.
    least = spans.groupby(["run", "iteration"])["span_s"].min().reset_index()
    spans_by_run = RowsByKey(least, "run")
    rows = [
        _one_worker_row(cell, times)
        if cell.workers == 1
        else _row(cell, bases[cell.per_worker_batch], times, spans_by_run)
        for cell in found
        if cell.per_worker_batch in bases
    ]
    return as_table(rows, COLUMNS)
