"""E2: the seconds of a step for every number of workers and batch, measured and predicted."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpscale.derive.cells import (
    Cell,
    combined_status,
    first_known,
    in_study,
    launch_columns,
    over_launches,
)
from dpscale.derive.columns import as_table, known
from dpscale.derive.contrasts import Prior, prior_of
from dpscale.derive.ring import StepModel, beyond_the_fit, fitted_ring, refusal, share_of
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import interval_columns, like_pairs, median, median_of_ratios
from dpscale.records.columns import Columns, columns, intervals

CELL = ["workers", "nodes", "per_worker_batch"]
ARMS = ("ddp", "noop_hook")
Arms = dict[str, pd.DataFrame]  # by arm: a row a launch
GRID_COLUMNS: Columns = (
    columns("workers nodes per_worker_batch global_batch")
    | intervals("step_s silent_step_s to_least_step_ratio")
    | columns("backward_s peak_bytes repeats launches launch_spread_frac oversubscribed status")
    | columns("runs")
)
PREDICTION_COLUMNS: Columns = (
    columns("workers nodes per_worker_batch fit_workers")
    | intervals("predicted_step_s")
    | columns("compute_step_s measured_step_s error_frac status note runs")
)


def grid_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that time the grid; raises MixedMachinesError for different machines."""
    planned = in_study(runs, "choose")
    planned = planned[planned["kind"] == "grid"]
    require_same_machine(planned)
    return planned


def step_grid(grid: pd.DataFrame, grid_memory: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the seconds of a step for each N and b, with loading, and the memory that it needs.

    A repeat takes the longest of its workers; step_s is the median over launches, silent_step_s
    that of DDP which sends nothing (of one worker: the step), of which the backward pass takes
    backward_s; peak_bytes: the largest of all workers and launches; to_least_step_ratio: step_s
    over that of the least b of the N, launch by launch, since a launch times every b. Launches of
    all cells scatter alike (`contrasts.Prior`). Runs of an N without a record are a row with their
    status.
    """
    found: list[tuple[dict[str, Any], Arms]] = []
    for (workers, nodes), planned in grid_runs(runs).groupby(["workers", "nodes"], dropna=False):
        status = combined_status(planned["status"])
        names = planned.loc[planned["status"] == status, "run"]
        whole = {
            "workers": workers,
            "nodes": known(nodes),
            "status": status,
            "runs": " ".join(names),
            "oversubscribed": first_known(planned["oversubscribed"]),
        }
        own = grid[grid["run"].isin(names)]
        if own.empty:
            found.append((whole, {}))
        peaks = grid_memory[grid_memory["run"].isin(names)].groupby("per_worker_batch")
        needed = peaks["peak_bytes"].max()
        for batch, of_batch in own.groupby("per_worker_batch"):
            cell = {"per_worker_batch": batch, "global_batch": batch * workers}
            cell["peak_bytes"] = known(needed.get(batch))
            found.append((whole | cell, _arms(of_batch)))
    samples = {arm: [arms[arm]["step_s"] for _, arms in found if arm in arms] for arm in ARMS}
    priors = {arm: prior_of(np.log(step_s) for step_s in samples[arm]) for arm in ARMS}
    rows = [cell | _times(arms, priors) if arms else cell for cell, arms in found]
    return as_table([*map(dict.__or__, rows, _to_least(found))], GRID_COLUMNS)


def _to_least(found: Sequence[tuple[dict[str, Any], Arms]]) -> list[dict[str, float | None]]:
    """The ratio of a cell's step to that of the least b of its N, by launch, as columns."""
    least: dict[tuple[Any, Any], Arms] = {}
    pairs = []
    for cell, arms in found:  # the least b of an N comes first
        first = least.setdefault((cell["workers"], cell["nodes"]), arms)
        own, other = (np.log(one["ddp"]["step_s"]) if one else None for one in (arms, first))
        pairs.append(None if first is arms else (own, other))
    prior = like_pairs(filter(None, pairs))
    ratios = [pair and median_of_ratios(pair, prior) for pair in pairs]
    return [interval_columns("to_least_step_ratio", one) if one else {} for one in ratios]


def _arms(repeats: pd.DataFrame) -> Arms:
    """The seconds of a step by arm and launch, from what each worker took in each repeat."""
    by_repeat = repeats.groupby(["timed_arm", "run", "repeat"])
    slowest = by_repeat[["step_s", "backward_s"]].max()
    arms = slowest.index.get_level_values("timed_arm").unique()
    return {arm: over_launches(slowest.xs(arm)) for arm in arms}


def _times(arms: Arms, priors: Mapping[str, Prior]) -> dict[str, Any]:
    """The seconds of a step of a cell; one worker sends nothing anyway."""
    ddp = arms["ddp"]["step_s"]
    silent = "noop_hook" if "noop_hook" in arms else "ddp"
    found, without = (median(arms[arm]["step_s"], prior=priors[arm]) for arm in ("ddp", silent))
    return {
        **interval_columns("step_s", found),
        **interval_columns("silent_step_s", without),
        "backward_s": arms[silent]["backward_s"].median(),
        "repeats": found.repeats,
        **launch_columns(ddp),
    }


def _models(
    step_grid: pd.DataFrame, grid_buckets: pd.DataFrame, runs: pd.DataFrame
) -> dict[int, StepModel]:
    """The ring model of each b, of the fewest workers of several that were measured."""
    found: dict[int, StepModel] = {}
    solo = step_grid[step_grid["workers"] == 1].set_index("per_worker_batch")["step_s"]
    several = step_grid[(step_grid["workers"] > 1) & step_grid["silent_step_s"].notna()]
    for row in several.sort_values("workers").itertuples():
        batch, names = int(row.per_worker_batch), tuple(str(row.runs).split())
        buckets = grid_buckets[grid_buckets["run"] == names[0]]
        buckets = buckets[buckets["per_worker_batch"] == batch].sort_values("index")
        if batch in found or buckets.empty or batch not in solo:
            continue
        samples = first_known(runs.loc[runs["run"].isin(names), "train_samples"])
        sizes = tuple(int(size) for size in buckets["bytes"])
        cell = Cell(
            int(row.workers),
            known(row.nodes),
            batch,
            "complete",
            names,
            samples,
            sum(sizes),
            known(row.oversubscribed),
        )
        found[batch] = StepModel(
            cell,
            row.silent_step_s,
            min(row.backward_s, row.silent_step_s),
            solo[batch],
            max(0.0, row.step_s - row.silent_step_s),
            share_of(runs, cell),
            sizes,
            tuple(buckets["ready_frac"].astype(float)),
        )
    return found


def step_prediction(
    step_grid: pd.DataFrame,
    grid_buckets: pd.DataFrame,
    link: pd.DataFrame,
    limits: pd.DataFrame,
    runs: pd.DataFrame,
) -> pd.DataFrame:
    """Return the steps that the ring model predicts: of larger N that were measured, and others.

    The fewest workers of several give computation, exposure and buckets of each b, the link run
    of the same N latency and rate. Measured N are `scored` (error_frac = predicted / measured - 1);
    others are `predicted`, within the largest error of their b either way, or `refused` with the
    reason, as in the answer to Q3.2.
    """
    rows: list[dict[str, Any]] = []
    asked = first_known(limits["predicted_workers"]) or ""
    for batch, fit in sorted(_models(step_grid, grid_buckets, runs).items()):
        ring, own = fitted_ring(link, fit.cell.workers), step_grid["per_worker_batch"] == batch
        whole = fit.cell.columns() | {"fit_workers": fit.cell.workers}
        scores = []
        for row in step_grid[own & (step_grid["workers"] > fit.cell.workers)].itertuples():
            seen = {"workers": row.workers, "nodes": row.nodes, "measured_step_s": row.step_s}
            if ring is None:
                rows.append(
                    whole
                    | seen
                    | {"status": "refused", "note": refusal(pd.Series(dtype=float), fit, ring)}
                )
                continue
            cell = fit.cell._replace(workers=int(row.workers), runs=tuple(row.runs.split()))
            step = fit.step(ring, cell.workers, nodes=known(row.nodes), share=share_of(runs, cell))
            scores.append(step.seconds / row.step_s - 1)
            rows.append(
                whole
                | seen
                | {
                    "status": "scored",
                    "predicted_step_s": step.seconds,
                    "error_frac": scores[-1],
                    "compute_step_s": step.compute_s,
                }
            )
        refused = refusal(pd.Series(scores, dtype=float), fit, ring)
        for workers in map(int, asked.split()):
            rows.append(whole | _other(fit, ring, workers, refused, scores))
    return as_table(rows, PREDICTION_COLUMNS)


def _other(
    fit: StepModel, ring: Any, workers: int, refused: str | None, scores: Sequence[float]
) -> dict[str, Any]:
    """What is predicted for a number of workers that was not measured, each with a device."""
    nodes = None if fit.cell.nodes == 1 else fit.cell.nodes
    row = {"workers": workers, "nodes": nodes}
    if why := refused or beyond_the_fit(fit, ring, workers):
        return row | {"status": "refused", "note": why}
    step = fit.step(ring, workers, nodes=nodes, share=1.0)
    error = max(map(abs, scores))
    return row | {
        "status": "predicted",
        "compute_step_s": step.compute_s,
        "predicted_step_s": step.seconds,
        "predicted_step_s_low": step.seconds * (1 - error),
        "predicted_step_s_high": step.seconds * (1 + error),
    }
