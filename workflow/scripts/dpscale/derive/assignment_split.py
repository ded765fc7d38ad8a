"""The cluster-training assignment: where the seconds of an epoch with loading go."""

from typing import Any

import numpy as np
import pandas as pd

from dpscale.derive.cells import Cell, by_arm_and_run, cells, in_study, rounds_of
from dpscale.derive.columns import Columns, as_table, flags, floats, integers, known, texts
from dpscale.derive.communication import split_of
from dpscale.derive.epoch_times import steps_of_full_batches
from dpscale.derive.formulas import epoch_seconds
from dpscale.derive.rows import RowsByKey
from dpscale.derive.statistics import Estimate, interval_columns, median
from dpscale.plan.assignment import SPLIT_STUDY

# Where time goes beside computation; `computation` is the rest of the epoch.
LOSSES = ("load", "copy", "sharing", "stragglers", "overhead", "exposed")
PARTS = (*LOSSES, "computation")
COLUMNS: Columns = (
    integers("workers nodes per_worker_batch")
    | texts("status")
    | floats("epoch_s epoch_s_low epoch_s_high")
    | floats(" ".join(f"{part}_{unit}" for unit in ("s", "frac") for part in PARTS))
    | floats(" ".join(f"{part}_frac_{end}" for part in LOSSES for end in ("low", "high")))
    | flags("oversubscribed")
    | integers("repeats")
    | texts("runs message")
)
ARM = "with_loading"
ENDS = ("low", "high")
# A part: its column in the split without loading, and what is taken off it.
DIRECT = {"stragglers": "straggler_s", "overhead": "overhead_s", "exposed": "exposed_s"}


def _loading(cell: Cell, steps: pd.DataFrame) -> dict[str, Estimate]:
    """Return the seconds of loading and copying in an epoch of D samples, medians of repeats.

    The mean over ranks: a rank that waits for another's loading does so in its backward pass.
    """
    own = steps[steps["run"].isin(cell.runs) & (steps["arm"] == ARM)]
    by_repeat = own.groupby(["run", "repeat"])
    ranks = by_repeat["rank"].nunique()
    found = {}
    for part in ("load", "copy"):
        seconds = by_repeat[f"{part}_s"].sum() / ranks
        whole = epoch_seconds(seconds, by_repeat["samples"].sum(), cell.train_samples or np.nan)
        found[part] = median(whole.to_numpy(dtype=float))
    return found


def _direct(split: pd.Series | None) -> dict[str, Estimate]:
    """Return the parts that the arms measured; sharing is contention less the stragglers."""
    if split is None:
        return {}
    found = {part: _estimate(split, column) for part, column in DIRECT.items()}
    low, high = (known(split[f"contention_s_{end}"] - split["straggler_s"]) for end in ENDS)
    rest = known(split["contention_s"] - split["straggler_s"])
    return found | {"sharing": Estimate(rest, low, high, 0)}


def _estimate(split: pd.Series, column: str) -> Estimate:
    value, low, high = (known(split[f"{column}{end}"]) for end in ("", "_low", "_high"))
    return Estimate(value, low, high, 0)


def _row(cell: Cell, split: pd.Series | None, times: RowsByKey, steps: pd.DataFrame) -> dict:
    epoch = median(rounds_of(cell, times, ARM))
    row: dict[str, Any] = {
        "workers": cell.workers,
        "nodes": cell.nodes,
        "per_worker_batch": cell.per_worker_batch,
        "status": cell.status,
        "oversubscribed": cell.oversubscribed,
        "runs": " ".join(cell.runs),
        "repeats": epoch.repeats,
    } | interval_columns("epoch_s", epoch)
    if not epoch.value:
        return row
    parts = _loading(cell, steps) | _direct(split)
    for part, estimate in parts.items():
        row[f"{part}_s"] = estimate.value
        for end, value in zip(("", "_low", "_high"), estimate[:3], strict=True):
            row[f"{part}_frac{end}"] = None if value is None else value / epoch.value
    known_s = [estimate.value for estimate in parts.values() if estimate.value is not None]
    if len(known_s) == len(LOSSES):
        row["computation_s"] = epoch.value - sum(known_s)
        row["computation_frac"] = row["computation_s"] / epoch.value
    return row


def split(
    epoch_times: pd.DataFrame, spans: pd.DataFrame, steps: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return the parts of an epoch of D samples with loading, a row for each (workers, nodes).

    load and copy are phases of the steps with loading; exposed (communication that computation
    does not hide), overhead (of DDP), stragglers (the slowest copy against the mean one) and
    sharing (the rest of what copies side by side cost each other) are differences of arms without
    loading; computation is the rest, so that the parts add up to epoch_s. Shares are of epoch_s.
    Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, SPLIT_STUDY)
    arms = split_of(planned, epoch_times, spans)
    times, full = by_arm_and_run(epoch_times), steps_of_full_batches(steps, planned)
    rows = []
    for cell in cells(planned):
        same = (arms["workers"] == cell.workers) & (arms["nodes"] == (cell.nodes or -1))
        own = arms[same & (arms["status"] == "complete")]
        rows.append(_row(cell, own.iloc[0] if len(own) else None, times, full))
    return as_table(rows, COLUMNS)
