"""Communication: an epoch's seconds split by subtraction, and by measuring its parts directly."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dpscale.derive.cells import Cell, Launches, cells, one_worker_bases, sharing_launches
from dpscale.derive.columns import as_table
from dpscale.derive.factors import Sides, Weights, sum_columns, with_leads
from dpscale.derive.formulas import communication_seconds, compute_seconds
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import CONFIDENCE, UNKNOWN, Estimate, interval_columns, median
from dpscale.derive.verdicts import of_row, side
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
    | intervals("loaded_epoch_s solo_epoch_s other_s waiting_s broadcast_s unisolated_s")
    | intervals("exposed_lead_s overhead_lead_s contention_lead_s")
    | side("subtraction_side", "subtraction_s")
    | side("exposed_side", "exposed_s")
    | side("other_side", "other_s")
    | side("waiting_side", "waiting_s")
    | side("broadcast_side", "broadcast_s")
    | side("unisolated_side", "unisolated_s")
    | side("exposed_to_buckets", "exposed_s", "buckets_s")
    | side("loaded_to_epoch", "loaded_epoch_s", "epoch_s")
)
DDP = "without_loading"


def _of_one(epoch: Estimate) -> dict[str, Any]:
    """Return the parts of one worker: it is its own reference, and has nobody to talk to."""
    row: dict[str, Any] = {}
    for name in ("base_epoch_s", "compute_s"):
        row |= interval_columns(name, epoch)
    if epoch.value is not None:
        nothing = Estimate(communication_seconds(epoch.value, epoch.value, 1), 0.0, 0.0, 0)
        for name in ("subtraction_s", *DIRECT):
            row |= interval_columns(name, nothing)
    return row


# Arms by the names that sums of them have here, each with the column of its times.
ARMS = {
    "ddp": (DDP, "epoch_s"),
    "noop": ("noop_hook", "epoch_s"),
    "copies": ("reference", "epoch_s"),
    "mean_copy": ("reference", "rank_mean_epoch_s"),
    "no_broadcast": ("no_broadcast", "epoch_s"),
    "buckets": ("buckets", "epoch_s"),
}
# Of what T_N is more than T_1/N (`one`), each part; they add up to it.
SUMMANDS: dict[str, Weights] = {
    "exposed": {"ddp": 1, "noop": -1},
    "overhead": {"noop": 1, "copies": -1},
    "contention": {"copies": 1, "one": -1},
}
SUMS: dict[str, Weights] = with_leads(SUMMANDS, "subtraction") | {
    # Parts of contention: the slowest of the copies against their mean, and that against one alone.
    "straggler_s": {"copies": 1, "mean_copy": -1},
    "sharing_s": {"mean_copy": 1, "one": -1},
    # Of what the subtraction is more than the buckets alone: overhead and contention, and waiting.
    "other_s": {"noop": 1, "one": -1},
    "waiting_s": {"ddp": 1, "noop": -1, "buckets": -1},
    # Of the waiting what goes with the broadcast of buffers, and what is neither that nor buckets.
    "broadcast_s": {"ddp": 1, "no_broadcast": -1},
    "unisolated_s": {"no_broadcast": 1, "noop": -1, "buckets": -1},
}


def sides_of(cell: Cell, base: Cell, times: Launches) -> list[pd.DataFrame]:
    """Return the arms of a cell of several workers, and T_1/N of its base without loading."""
    one = times.together(base, {"one": (DDP, "epoch_s")})
    return [times.together(cell, ARMS), compute_seconds(one, cell.workers)]


def _of_several(
    cell: Cell,
    base: Cell,
    sides: Sides,
    times: Launches,
    spans_s: Mapping[str, float],
    confidence: float,
) -> dict[str, Any]:
    """Return T_1, T_1/N, and what was seen of the communication alone; spans_s: of a launch."""
    complete = cell.status == "complete"
    of_cell = [spans_s[run] for run in cell.runs if complete and run in spans_s]
    found = {
        "base_epoch_s": median(times.epoch_s(base, DDP), confidence),
        "compute_s": median(sides[1]["one"], confidence) if complete else UNKNOWN,
        # From the first bucket's start to the last one's end; iterations of a launch are alike.
        "span_s": median(np.array(of_cell, float) * cell.iterations),
        "buckets_s": median(sides[0]["buckets"]),
        "solo_epoch_s": median(times.epoch_s(cell, "solo")),
    }
    row: dict[str, Any] = {}
    for name, estimate in found.items():
        row |= interval_columns(name, estimate)
    return row


def spans_of_launches(spans: pd.DataFrame) -> pd.Series:
    """Return the median span of each run, in seconds, over its iterations.

    Of each iteration the rank that waited least: the others' spans hold its delay too.
    """
    return spans.groupby(["run", "iteration"])["span_s"].min().groupby("run").median()


def _covers_zero(row: dict[str, Any], column: str) -> bool | None:
    where = of_row(row, column)
    return None if where == "unknown" else where == "indistinct"


def _row(cell: Cell, base: Cell, times: Launches, confidence: float) -> dict[str, Any]:
    """What is known of a cell of any number of workers."""
    epoch = median(times.epoch_s(cell, DDP), confidence)
    row = cell.columns() | {
        "repeats": epoch.repeats,
        "base_status": base.status,
        "base_runs": " ".join(base.runs),
        **times.columns(cell, DDP),
    }
    row |= interval_columns("epoch_s", epoch)
    loaded = median(times.epoch_s(cell, "with_loading"), confidence)
    row |= interval_columns("loaded_epoch_s", loaded)
    return row | _of_one(epoch) if cell.workers == 1 else row


def _note(row: dict[str, Any]) -> None:
    """Note in the row of several workers what its parts are of the epoch, and which are noise."""
    if row["straggler_s"] is not None and row["epoch_s"]:
        row["straggler_frac"] = row["straggler_s"] / row["epoch_s"]
    row["below_noise"] = _covers_zero(row, "subtraction_s")
    row["exposed_below_noise"] = _covers_zero(row, "exposed_s")


def split_of(
    planned: pd.DataFrame,
    epoch_times: pd.DataFrame,
    spans: pd.DataFrame,
    confidence: float = CONFIDENCE,
) -> pd.DataFrame:
    """Return the rows of `communication` of these timed runs."""
    require_same_machine(planned)
    every = cells(planned)
    bases = one_worker_bases(every)
    times = Launches(epoch_times)
    launch_spans_s = spans_of_launches(spans).to_dict()
    found = [(cell, bases.get(cell.per_worker_batch)) for cell in every]
    pairs = {
        cell: sharing_launches(base, cell) if cell.workers > 1 else base
        for cell, base in found
        if base
    }
    sides = {cell: sides_of(cell, base, times) for cell, base in pairs.items() if cell.workers > 1}
    parts = dict(zip(sides, sum_columns(list(sides.values()), SUMS, confidence), strict=True))
    rows = []
    for cell, base in pairs.items():
        of_one = cell.workers == 1 and cell.nodes == base.nodes
        row = _row(base if of_one else cell, base, times, confidence)
        if cell in sides:
            row |= _of_several(cell, base, sides[cell], times, launch_spans_s, confidence)
            _note(row := row | parts[cell])
        rows.append(row)
    return as_table(rows, COLUMNS)
