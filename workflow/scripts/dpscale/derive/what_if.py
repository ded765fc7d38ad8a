"""What if: speed-up and efficiency of many workers on links that are named, not measured."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from dpscale.derive.cells import in_study
from dpscale.derive.columns import Columns, as_table, flags, floats, integers, known, texts
from dpscale.derive.formulas import efficiency, ring_allreduce_seconds
from dpscale.derive.overlap import Observed
from dpscale.derive.prediction import fitted_link, ring_seconds
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.step_model import StepModel, step_models
from dpscale.units import format_value

COLUMNS: Columns = (
    texts("link")
    | floats("bytes_per_s latency_s")
    | integers("per_worker_batch")
    | texts("variant")
    | integers("workers")
    | floats("step_s exposed_step_s speedup_ratio efficiency_frac")
    | texts("status note")
    | integers("global_batch")
    | flags("exceeds_dataset")
    | texts("runs")
)
WORKERS = tuple(2**power for power in range(1, 11))  # to 1,024
LOCAL_STEPS = (4, 16)
# A model that misses a measured number of workers by more than this says nothing about others.
LARGEST_ERROR = 0.25
THIS_LINK = "this link"


def _links(links: pd.DataFrame, own: pd.Series | None) -> list[dict[str, Any]]:
    named = links[~links["own"].fillna(False).astype(bool)]
    rows = [
        {name: row[name] for name in ("link", "bytes_per_s", "latency_s")}
        for _, row in named.iterrows()
    ]
    if own is not None:
        measured = {"bytes_per_s": own["beta_bytes_per_s"], "latency_s": own["alpha_s"]}
        rows.insert(0, {"link": THIS_LINK, **measured})
    return rows


def _refusal(scores: pd.Series, fit: StepModel, own: pd.Series | None) -> str | None:
    """Return why nothing is predicted at all, or None."""
    if own is None:
        return f"the link has no fit at N = {fit.workers}"
    if scores.empty:
        return "no prediction could be scored on a measured number of workers"
    if fit.share > 1:
        return f"the {fit.workers} workers of the fit shared a device"
    worst = float(scores.abs().max())
    if worst > LARGEST_ERROR:
        return f"the model missed a measured number of workers by {worst:.0%}"
    return None


def _beyond_the_fit(fit: StepModel, own: pd.Series, workers: int) -> str | None:
    """Return why the fitted latency and rate do not reach to the messages of so many workers.

    A ring sends an N-th of a bucket at a time; the fit has seen no smaller piece than its
    smallest message gave.
    """
    mean_bytes = sum(fit.bucket_bytes) / len(fit.bucket_bytes)
    smallest = float(own["smallest_bytes"]) / fit.workers
    if mean_bytes / workers >= smallest:
        return None
    piece, least = (format_value(size, "bytes") for size in (mean_bytes / workers, smallest))
    return f"pieces of {piece} are below the fit's smallest, {least}"


def _variants(compression: pd.DataFrame) -> Iterator[tuple[str, float, float]]:
    """Yield name, share of the bytes and extra seconds a step of each way to exchange gradients."""
    yield "none", 1.0, 0.0
    for _, row in compression.iterrows():
        ratio, step_s, base_s = (
            known(row[name]) for name in ("bytes_ratio", "step_s", "base_step_s")
        )
        if ratio is not None and step_s is not None and base_s is not None:
            yield str(row["hook"]), ratio, max(0.0, step_s - base_s)


def _step(
    fit: StepModel, variant: tuple[str, float, float], workers: int, link: dict[str, Any],
    observed: Observed,
) -> tuple[float, float]:  # fmt: skip
    """Return the step's seconds and the seconds in it that wait for the transfer."""
    _, ratio, extra_s = variant
    seconds = ring_seconds(workers, float(link["latency_s"]), float(link["bytes_per_s"]))
    _, exposed_s = fit.communication(lambda size: seconds(round(size * ratio)), observed)
    return fit.compute_s + extra_s + exposed_s, exposed_s


def _local_step(
    fit: StepModel, every: int, workers: int, link: dict[str, Any]
) -> tuple[float, float]:
    """Return the mean step where parameters are averaged every so many steps, hidden by nothing."""
    whole_s = ring_allreduce_seconds(
        float(sum(fit.bucket_bytes)), workers, float(link["latency_s"]), float(link["bytes_per_s"])
    )
    return fit.compute_s + whole_s / every, whole_s / every


def _rows(
    fit: StepModel, compression: pd.DataFrame, links: pd.DataFrame, own: pd.Series | None,
    scores: pd.Series, train_samples: float | None,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    refusal = _refusal(scores, fit, own)
    observed = Observed(0.0, 1.0)
    if own is not None:
        rate = float(own["beta_bytes_per_s"])
        observed = fit.observed(ring_seconds(fit.workers, float(own["alpha_s"]), rate))
    variants = list(_variants(compression))
    for link in _links(links, own):
        for workers in WORKERS:
            why = refusal
            if why is None and own is not None and link["link"] == THIS_LINK:
                why = _beyond_the_fit(fit, own, workers)
            whole = link | {
                "per_worker_batch": fit.per_worker_batch, "workers": workers,
                "global_batch": workers * fit.per_worker_batch, "runs": fit.run,
                "exceeds_dataset": (None if train_samples is None
                                    else workers * fit.per_worker_batch > train_samples),
            }  # fmt: skip
            steps = {one[0]: _step(fit, one, workers, link, observed) for one in variants}
            steps |= {f"local_{every}": _local_step(fit, every, workers, link)
                      for every in LOCAL_STEPS}  # fmt: skip
            for variant, (step_s, exposed_s) in steps.items():
                row = whole | {"variant": variant}
                if why is not None:
                    yield row | {"status": "refused", "note": why}
                    continue
                ratio = workers * fit.solo_s / step_s
                yield row | {
                    "status": "predicted", "step_s": step_s, "exposed_step_s": exposed_s,
                    "speedup_ratio": ratio, "efficiency_frac": efficiency(ratio, workers),
                }  # fmt: skip


def what_if(
    communication: pd.DataFrame, link: pd.DataFrame, prediction: pd.DataFrame,
    compression: pd.DataFrame, phases: pd.DataFrame, buckets: pd.DataFrame,
    links: pd.DataFrame, runs: pd.DataFrame,
) -> pd.DataFrame:  # fmt: skip
    """Return the predicted step, speed-up and efficiency of 2 to 1,024 workers, a device each.

    For the smallest and the largest b, on each named link and on the measured one; speedup_ratio
    is N times the step of one worker alone over the step of N. Variants: gradients as they are
    (none), compressed (with the bytes and the extra time that were measured), parameters averaged
    every 4 or 16 steps. status "refused" with the reason in `note`, and nulls, where the fit cannot
    carry it. Raises MixedMachinesError for runs of different machines.
    """
    require_same_machine(in_study(runs, "scaling", "link", "compression"))
    models = step_models(communication, phases, buckets, runs)
    fits = [models[batch][0] for batch in sorted({min(models), max(models)})] if models else []
    rows: list[dict[str, Any]] = []
    for fit in fits:
        own = fitted_link(link, fit.workers)
        samples = runs.loc[runs["run"] == fit.run, "train_samples"].dropna()
        of_batch = prediction["per_worker_batch"] == fit.per_worker_batch
        scores = prediction.loc[of_batch, "error_frac"].dropna()
        rows += _rows(
            fit, compression, links, own, scores, float(samples.iloc[0]) if len(samples) else None
        )
    return as_table(rows, COLUMNS)
