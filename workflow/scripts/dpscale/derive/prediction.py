"""Prediction: the step time of a number of workers that the ring model's fit did not see."""

from typing import Any

import pandas as pd

from dpscale.derive.cells import in_study
from dpscale.derive.columns import Columns, as_table, floats, integers, known, texts
from dpscale.derive.formulas import iterations_per_epoch, ring_allreduce_seconds
from dpscale.derive.rows import RowsByKey
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.step_model import BucketSeconds, StepModel, share_of, step_models

COLUMNS: Columns = (
    integers("workers nodes per_worker_batch fit_workers fit_nodes")
    | floats("compute_step_s communication_step_s exposed_step_s predicted_step_s")
    | floats("measured_step_s measured_step_s_low measured_step_s_high error_frac overlap_frac")
    | floats("stretch_ratio")
    | texts("status note runs")
)


def ring_seconds(workers: int, alpha_s: float, beta_bytes_per_s: float) -> BucketSeconds:
    """Return the seconds of a bucket's ring all-reduce as a function of its bytes."""
    return lambda size: ring_allreduce_seconds(float(size), workers, alpha_s, beta_bytes_per_s)


def fitted_link(link: pd.DataFrame, workers: int) -> pd.Series | None:
    """Return the row of `link` with a fit for this number of workers, or None."""
    rows = link[(link["workers"] == workers) & link["beta_bytes_per_s"].notna()]
    return None if rows.empty else rows.iloc[0]


def _predicted(fit: StepModel, workers: int, share: float, link: pd.Series) -> dict[str, Any]:
    """Return the step of more workers from the model of fewer: computation and what of it waits.

    Workers that share devices compute slower by as many as there are on one. Within one machine
    the link's bandwidth is that of its memory and devices, and shared alike; a network between
    nodes is not.
    """
    alpha_s, beta = float(link["alpha_s"]), float(link["beta_bytes_per_s"])
    observed = fit.observed(ring_seconds(fit.workers, alpha_s, beta))
    slower = share / fit.share
    link_slower = slower if fit.nodes == 1 else 1.0
    total_s, exposed_s = fit.communication(
        ring_seconds(workers, alpha_s, beta / link_slower), observed, slower=slower
    )
    compute_s = fit.compute_s * slower
    return {
        "compute_step_s": compute_s,
        "communication_step_s": total_s,
        "exposed_step_s": exposed_s,
        "predicted_step_s": compute_s + exposed_s,
        "overlap_frac": observed.overlap_frac,
        "stretch_ratio": observed.stretch_ratio,
    }


def _row(
    part: pd.Series, fit: StepModel | None, link: pd.DataFrame, runs: RowsByKey
) -> dict[str, Any]:
    """Return the row of a cell of `communication` that no fit has seen."""
    row = {name: part[name] for name in ("workers", "nodes", "per_worker_batch", "status", "runs")}
    names = str(part["runs"]).split()
    samples = runs.of(*names)["train_samples"].dropna()
    workers = int(part["workers"])
    if part["status"] == "complete" and len(samples):
        iterations = iterations_per_epoch(
            float(samples.iloc[0]), workers, int(part["per_worker_batch"])
        )
        for end in ("", "_low", "_high"):
            seconds = known(part[f"epoch_s{end}"])
            row[f"measured_step_s{end}"] = None if seconds is None else seconds / iterations
    if fit is None:
        return row | {"note": "no smaller number of workers was measured arm by arm"}
    row |= {"fit_workers": fit.workers, "fit_nodes": fit.nodes}
    line = fitted_link(link, fit.workers)
    if line is None:
        return row | {"note": f"the link has no fit at N = {fit.workers}"}
    row |= _predicted(fit, workers, share_of(runs, names) if names else fit.share, line)
    measured = row.get("measured_step_s")
    return row | {"error_frac": row["predicted_step_s"] / measured - 1 if measured else None}


def prediction(
    communication: pd.DataFrame,
    link: pd.DataFrame,
    phases: pd.DataFrame,
    buckets: pd.DataFrame,
    runs: pd.DataFrame,
) -> pd.DataFrame:
    """Return predicted and measured step seconds of each number of workers beyond the smallest.

    The smallest N >= 2 of each b that was measured arm by arm gives computation, bucket times and
    overlap, the link run of the same N latency and rate; larger N are not fitted, only scored:
    error_frac = predicted / measured - 1. Null with a note where something is lacking.
    Raises MixedMachinesError for runs of different machines.
    """
    require_same_machine(in_study(runs, "scaling", "link"))
    models = step_models(communication, phases, buckets, runs)
    by_run = RowsByKey(runs, "run")
    rows = []
    for batch, cells in communication.groupby("per_worker_batch"):
        fit = next(iter(models.get(int(batch), [])), None)
        several = sorted({int(n) for n in cells["workers"] if n > 1})
        seen = fit.workers if fit else min(several, default=0)
        rows += [
            _row(part, fit, link, by_run) for _, part in cells.iterrows() if part["workers"] > seen
        ]
    return as_table(rows, COLUMNS)
