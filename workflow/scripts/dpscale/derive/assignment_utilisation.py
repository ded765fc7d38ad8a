"""The cluster-training assignment: how busy one worker's device is at each batch size."""

from typing import Any

import numpy as np
import pandas as pd

from dpscale.derive.cells import in_study
from dpscale.derive.columns import Columns, as_table, floats, integers, texts
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import interval_columns, median
from dpscale.plan.assignment import LARGER_BATCH, LINEAR, STUDY

MEASURES = ("utilisation_frac", "samples_per_s", "load_frac", "compute_frac")
COMPUTE = ["forward_s", "backward_s", "update_s"]
COLUMNS: Columns = (
    integers("per_worker_batch")
    | texts("status")
    | floats(" ".join(f"{name} {name}_low {name}_high"
                      for name in MEASURES))
    | integers("repeats")
    | texts("device dataset runs message")
)  # fmt: skip


def one_worker_batches(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of one worker with the rate of its batch, ascending by batch."""
    planned = in_study(runs, STUDY)
    alone = planned[(planned["workers"] == 1) & planned["arm"].isin([LINEAR, LARGER_BATCH])]
    return alone.sort_values("per_worker_batch")


def _epochs_of(run: pd.Series, epochs: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """Return the measures of each epoch but the first of each seed, which warms up."""
    keys = ["seed", "epoch"]
    measured = ["samples", "load_s", *COMPUTE]
    sums = steps[steps["run"] == run["run"]].groupby(keys)[measured].sum(min_count=1)
    own = epochs[epochs["run"] == run["run"]].set_index(keys).join(sums)
    own = own[own.index.get_level_values("epoch") > 1]
    return own.assign(
        samples_per_s=own["samples"] / own["wall_s"],
        load_frac=own["load_s"] / own["wall_s"],
        compute_frac=own[COMPUTE].sum(axis=1) / own["wall_s"],
    )


def utilisation(epochs: pd.DataFrame, steps: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row a batch of one worker, ascending: its utilisation while it trains.

    utilisation_frac: on a GPU NVML's share of time with a kernel running, on a CPU processor time
    over wall time and threads, loading in this process included. load_frac: share of the wall time
    in which the device waits for the loader; compute_frac: that of forward pass, backward pass and
    update, an idle device between two kernels included. Medians over epochs and seeds, the first
    epoch left out.
    Raises MixedMachinesError for runs of different machines.
    """
    alone = one_worker_batches(runs)
    require_same_machine(alone)
    rows: list[dict[str, Any]] = []
    for _, run in alone.iterrows():
        row = {name: run[name] for name in ("per_worker_batch", "status", "device", "dataset")}
        row |= {"runs": run["run"], "message": run["message"]}
        if run["status"] == "complete":
            own = _epochs_of(run, epochs, steps)
            row["repeats"] = len(own)
            for name in MEASURES:
                row |= interval_columns(
                    name, median(own[name].to_numpy(dtype=float, na_value=np.nan))
                )
        rows.append(row)
    return as_table(rows, COLUMNS)
