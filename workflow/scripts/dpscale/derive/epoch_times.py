"""Epoch times: one row for every timed repeat of every timed run."""

import pandas as pd

from dpscale.derive.columns import as_table
from dpscale.derive.formulas import epoch_seconds
from dpscale.derive.same_machine import require_same_machine
from dpscale.records.columns import Columns, columns

COLUMNS: Columns = columns(
    "run study arm workers nodes per_worker_batch repeat train_samples epoch_s"
) | columns("rank_mean_epoch_s")
# The arm in which rank 0 trains alone: its whole batch is that of one worker.
SOLO = "solo"
_REPEAT = ["run", "seed", "arm", "repeat", "epoch"]
_OF_RUN = ["run", "kind", "study", "run_arm", "workers", "nodes", "per_worker_batch"]


def steps_of_full_batches(steps: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the steps of complete runs in which all ranks together had N*b samples (solo: b).

    The columns of their run follow; `arm` is the run's, else the steps' own.
    """
    complete = runs[runs["status"] == "complete"].rename(columns={"arm": "run_arm"})
    joined = steps.merge(complete[[*_OF_RUN, "global_batch", "train_samples"]], on="run")
    step = [*_REPEAT, "step"]
    together = joined.groupby(step, dropna=False)["samples"].transform("sum")
    whole = joined["global_batch"].where(joined["arm"] != SOLO, joined["per_worker_batch"])
    full = joined[(together == whole).fillna(False).astype(bool)]
    return full.assign(arm=full["run_arm"].where(full["run_arm"].notna(), full["arm"]))


def epoch_times(steps: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return epoch_s of every (run, arm, repeat): D * elapsed seconds of its steps / their samples.

    A rank's steps tile its time, so a repeat takes the longest sum over the steps of a rank (never
    the sum of each step's slowest rank, which is longer); rank_mean_epoch_s is of the mean sum.
    Only full-batch steps of complete timed runs count.
    Raises MixedMachinesError for runs of different machines.
    """
    timed = runs[runs["kind"] == "timed"]
    require_same_machine(timed)
    full = steps_of_full_batches(steps, timed)
    keys = ["run", "study", "arm", "workers", "nodes", "per_worker_batch", "train_samples"]
    repeat = [*keys, "repeat"]
    by_rank = full.groupby([*repeat, "rank"], dropna=False, sort=False)
    of_rank = by_rank[["step_s", "samples"]].sum().reset_index()
    sums = (
        of_rank.groupby(repeat, dropna=False, sort=False)
        .agg(
            epoch_s=("step_s", "max"),
            rank_mean_epoch_s=("step_s", "mean"),
            samples=("samples", "sum"),
        )
        .reset_index()
    )
    for column in ("epoch_s", "rank_mean_epoch_s"):
        sums[column] = epoch_seconds(sums[column], sums["samples"], sums["train_samples"])
    return as_table(sums.to_dict("records"), COLUMNS)
