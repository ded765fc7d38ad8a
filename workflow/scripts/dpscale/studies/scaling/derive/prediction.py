"""Predictions of the ring model: steps of numbers of workers, and links, that no fit has seen."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd

from dpscale.derive.cells import Cell, in_study
from dpscale.derive.columns import as_table
from dpscale.derive.formulas import efficiency
from dpscale.derive.ring import (
    Observed,
    Ring,
    StepModel,
    averaging_seconds,
    beyond_the_fit,
    exposed_seconds,
    fitted_ring,
    refusal,
    share_of,
)
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.verdicts import ends
from dpscale.records.columns import Columns, columns, intervals
from dpscale.studies.scaling.derive.arms import with_cells
from dpscale.vocabulary import words

PREDICTION_COLUMNS: Columns = (
    columns("workers nodes per_worker_batch fit_workers fit_nodes compute_step_s")
    | columns("communication_step_s exposed_step_s predicted_step_s")
    | intervals("measured_step_s")
    | columns("error_frac overlap_frac stretch_ratio status note runs")
    | words("score", ("close", "off", "undecided"))
)
WHAT_IF_COLUMNS: Columns = (
    columns("link bytes_per_s latency_s per_worker_batch variant workers step_s exposed_step_s")
    | columns("speedup_ratio efficiency_frac overlap_frac stretch_ratio status note global_batch")
    | columns("exceeds_dataset runs")
)
CLOSE_FRAC = 0.15  # of the measured step
WORKERS = tuple(2**power for power in range(1, 11))  # to 1,024
LOCAL_STEPS = (4, 16)


def step_models(
    communication: pd.DataFrame, phases: pd.DataFrame, buckets: pd.DataFrame, runs: pd.DataFrame
) -> dict[int, StepModel]:
    """Return, by b, the model of the fewest workers of several that were measured arm by arm."""
    measured = communication.dropna(subset=["epoch_s", "exposed_s", "compute_s"])
    backward = phases[(phases["phase"] == "backward") & (phases["arm"] == "noop_hook")]
    backward_frac = backward.dropna(subset="share_frac").set_index("run")["share_frac"]
    by_run = {run: own.sort_values("index") for run, own in buckets.groupby("run")}
    found: dict[int, StepModel] = {}
    for row, cell in with_cells(measured.sort_values(["workers", "nodes"]), runs):
        run = cell.runs[0]
        compute_s = (row["epoch_s"] - row["exposed_s"]) / cell.iterations
        if run not in backward_frac or run not in by_run or compute_s <= 0:
            continue
        model = StepModel(
            cell=cell,
            compute_s=compute_s,
            backward_s=compute_s * float(backward_frac[run]),
            solo_s=row["compute_s"] / cell.iterations,
            exposed_s=row["exposed_s"] / cell.iterations,
            share=share_of(runs, cell),
            bucket_bytes=tuple(by_run[run]["bytes"].astype(int)),
            ready_frac=tuple(by_run[run]["ready_frac"].astype(float)),
        )
        found.setdefault(cell.per_worker_batch, model)
    return found


def _prediction_row(
    row: dict[str, Any], cell: Cell, fit: StepModel | None, link: pd.DataFrame, runs: pd.DataFrame
) -> dict[str, Any]:
    """Return the row of a cell that no fit has seen, from the model of fewer workers."""
    whole = cell.columns() | {
        f"measured_step_s{end}": row[f"epoch_s{end}"] / cell.iterations
        for end in ("", "_low", "_high")
    }
    if fit is None:
        return whole | {"note": "no smaller number of workers was measured arm by arm"}
    whole |= {"fit_workers": fit.cell.workers, "fit_nodes": fit.cell.nodes}
    ring = fitted_ring(link, fit.cell.workers)
    if ring is None:
        return whole | {"note": f"the link has no fit at N = {fit.cell.workers}"}
    step = fit.step(ring, cell.workers, nodes=cell.nodes, share=share_of(runs, cell))
    return whole | {
        "compute_step_s": step.compute_s,
        "communication_step_s": step.transfer.total_s,
        "exposed_step_s": step.exposed_s,
        "predicted_step_s": step.seconds,
        "error_frac": step.seconds / whole["measured_step_s"] - 1,
        **step.observed._asdict(),
    }


def prediction(
    communication: pd.DataFrame,
    phases: pd.DataFrame,
    buckets: pd.DataFrame,
    runs: pd.DataFrame,
    link: pd.DataFrame,
) -> pd.DataFrame:
    """Return predicted and measured step seconds of each number of workers beyond the smallest.

    The smallest N >= 2 of each b that was measured arm by arm gives computation, bucket times and
    overlap, the link run of the same N latency and rate; larger N are not fitted, only scored:
    error_frac = predicted / measured - 1. Null with a note where something is lacking.
    Raises MixedMachinesError for runs of different machines.
    """
    require_same_machine(in_study(runs, "scaling", "link"))
    models = step_models(communication, phases, buckets, runs)
    several = communication[communication["workers"] > 1]
    seen = several.groupby("per_worker_batch")["workers"].min().to_dict()
    seen |= {batch: fit.cell.workers for batch, fit in models.items()}
    rows = [
        _prediction_row(row, cell, models.get(cell.per_worker_batch), link, runs)
        for row, cell in with_cells(several.sort_values("per_worker_batch", kind="stable"), runs)
        if cell.workers > seen[cell.per_worker_batch]
    ]
    return as_table(rows, PREDICTION_COLUMNS)


def judge(rows: list[dict[str, Any]]) -> None:
    """Notes whether a prediction is within 15% of the step, for its whole interval or none."""
    for row in rows:
        row["score"] = None if row["error_frac"] is None else "undecided"
        if row["error_frac"] is None:
            continue
        if measured := ends(row, "measured_step_s"):
            least, most = sorted(row["predicted_step_s"] / end - 1 for end in measured)
            if least >= -CLOSE_FRAC and most <= CLOSE_FRAC:
                row["score"] = "close"
            elif least > CLOSE_FRAC or most < -CLOSE_FRAC:
                row["score"] = "off"


class Variant(NamedTuple):
    """A way to exchange gradients, or parameters (their average every so many steps)."""

    name: str
    bytes_ratio: float = 1.0
    extra_s: float = 0.0  # of a step
    every: int = 1


def _variants(compression: pd.DataFrame) -> list[Variant]:
    """Return gradients as they are, by each hook that was measured, and averaged parameters."""
    timed = compression.dropna(subset=["bytes_ratio", "step_s", "base_step_s"])
    hooks = [
        Variant(row.hook, row.bytes_ratio, max(0.0, row.step_s - row.base_step_s))
        for row in timed.itertuples()
    ]
    local = [Variant(f"local_{every}", every=every) for every in LOCAL_STEPS]
    return [Variant("none"), *hooks, *local]


def _predicted(
    fit: StepModel, variant: Variant, workers: int, ring: Ring, observed: Observed
) -> dict[str, Any]:
    """Return the step and what of it waits; an average of parameters is hidden by nothing."""
    ideal = fit.transfer(ring, workers, bytes_ratio=variant.bytes_ratio)
    if variant.every > 1:
        exposed_s = averaging_seconds(ideal, observed, variant.every)
    else:
        exposed_s = exposed_seconds(ideal, observed)
    step_s = fit.compute_s + variant.extra_s + exposed_s
    ratio = workers * fit.solo_s / step_s
    return {
        "status": "predicted",
        "step_s": step_s,
        "exposed_step_s": exposed_s,
        "speedup_ratio": ratio,
        "efficiency_frac": efficiency(ratio, workers),
        **observed._asdict(),
    }


def _what_if_rows(
    fit: StepModel,
    own: Ring | None,
    links: pd.DataFrame,
    variants: list[Variant],
    scores: pd.Series,
) -> Iterator[dict[str, Any]]:
    refused = refusal(scores, fit, own)
    observed = fit.observed(own) if own else Observed(1.0, 1.0)
    named = links[~links["own"]].itertuples()
    rings = [(row.link, Ring(row.latency_s, row.bytes_per_s)) for row in named]
    for link, ring in [("this link", own), *rings] if own else rings:
        # What stretches a transfer here (contention) is of this machine, not of another link.
        behaved = observed if ring is own else observed._replace(stretch_ratio=1.0)
        for workers in WORKERS:
            why = refused or beyond_the_fit(fit, ring, workers)
            batch = workers * fit.cell.per_worker_batch
            whole = fit.cell.columns() | {
                "link": link,
                "bytes_per_s": ring.beta_bytes_per_s,
                "latency_s": ring.alpha_s,
                "workers": workers,
                "global_batch": batch,
                "runs": fit.cell.runs[0],
                "exceeds_dataset": batch > (fit.cell.train_samples or math.inf),
            }
            for variant in variants:
                yield (
                    whole
                    | {"variant": variant.name}
                    | (
                        {"status": "refused", "note": why}
                        if why
                        else _predicted(fit, variant, workers, ring, behaved)
                    )
                )


def what_if(
    communication: pd.DataFrame,
    phases: pd.DataFrame,
    buckets: pd.DataFrame,
    runs: pd.DataFrame,
    link: pd.DataFrame,
    prediction: pd.DataFrame,
    compression: pd.DataFrame,
    links: pd.DataFrame,
) -> pd.DataFrame:
    """Return the predicted step, speed-up and efficiency of 2 to 1,024 workers, a device each.

    For the smallest and the largest b, on each named link and on the measured one; speedup_ratio
    is N times the step of one worker alone over the step of N. Variants: gradients as they are
    (none), compressed (with the bytes and the extra time that were measured), parameters averaged
    every 4 or 16 steps. A stretch fitted here holds on the measured link alone. status "refused"
    with the reason in `note`, and nulls, where the fit cannot carry it. Raises MixedMachinesError
    for runs of different machines.
    """
    require_same_machine(in_study(runs, "scaling", "link", "compression"))
    models = step_models(communication, phases, buckets, runs)
    rows: list[dict[str, Any]] = []
    for batch in sorted({min(models), max(models)}) if models else ():
        own = fitted_ring(link, models[batch].cell.workers)
        scores = prediction.loc[prediction["per_worker_batch"] == batch, "error_frac"].dropna()
        rows += _what_if_rows(models[batch], own, links, _variants(compression), scores)
    return as_table(rows, WHAT_IF_COLUMNS)
