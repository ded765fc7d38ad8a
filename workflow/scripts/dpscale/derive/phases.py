"""Phases: where the seconds of an epoch go, run by run."""

from typing import Any

import pandas as pd

from dpscale.derive.columns import Columns, as_table, floats, integers, texts
from dpscale.derive.epoch_times import steps_of_full_batches
from dpscale.derive.formulas import epoch_seconds
from dpscale.derive.same_machine import require_same_machine

COLUMNS: Columns = (
    texts("run study arm")
    | integers("workers per_worker_batch")
    | texts("phase")
    | floats("epoch_s share_frac")
    | integers("nodes repeats")
    | texts("kind status")
)
MEASURED = ["load", "copy", "forward", "backward", "update"]
PHASES = [*MEASURED, "other"]
KINDS = ["timed", "training"]
_OF_RUN = ["run", "kind", "study", "arm", "workers", "nodes", "per_worker_batch"]


def _per_repeat(steps: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return seconds per epoch of D samples of each phase, a row for each repeat of a run's arm.

    The mean over ranks; a repeat of a training run is one epoch of one seed.
    """
    full = steps_of_full_batches(steps, runs)
    full = full[full["forward_s"].notna()]  # an arm that does not train has no phases
    keys = [*_OF_RUN, "train_samples", "seed", "repeat", "epoch"]
    measured = [f"{phase}_s" for phase in MEASURED]
    by_repeat = full.groupby(keys, dropna=False, sort=False)
    sums = by_repeat[["samples", "step_s", *measured]].sum()
    ranks = by_repeat["rank"].nunique()
    sums["other_s"] = sums["step_s"] - sums[measured].sum(axis=1)
    samples, train_samples = sums["samples"], sums.index.get_level_values("train_samples")
    for phase in PHASES:
        mean_s = sums[f"{phase}_s"] / ranks
        sums[phase] = epoch_seconds(mean_s, samples, train_samples.astype(float))
    return sums[PHASES].reset_index()


def phases(steps: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the seconds of each phase of an epoch of D samples, and its share of all phases.

    One row for each (run, arm, phase): the mean over ranks, the median over repeats. "other" is
    what of a step no phase covers. A run without a record is one row with its status and nulls;
    probes of the memory boundary are left out.
    Raises MixedMachinesError for runs of different machines.
    """
    planned = runs[runs["kind"].isin(KINDS) & (runs["study"] != "boundary")]
    require_same_machine(planned)
    repeats = _per_repeat(steps, planned)
    rows: list[dict[str, Any]] = []
    by_run = repeats.astype(dict.fromkeys(PHASES, float)).groupby(_OF_RUN, dropna=False, sort=False)
    medians, counts = by_run[PHASES].median(), by_run.size()
    for key, seconds, count in zip(medians.index, medians.to_numpy(), counts, strict=True):
        whole = dict(zip(_OF_RUN, key, strict=True)) | {"status": "complete", "repeats": count}
        total_s = seconds.sum()
        for phase, phase_s in zip(PHASES, seconds, strict=True):
            share = phase_s / total_s if total_s else None
            rows.append(whole | {"phase": phase, "epoch_s": phase_s, "share_frac": share})
    for _, run in planned[planned["status"] != "complete"].iterrows():
        rows.append({name: run[name] for name in [*_OF_RUN, "status"]})
    return as_table(rows, COLUMNS)
