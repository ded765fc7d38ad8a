"""E2: time and worker-seconds to the goal for every number of workers and batch."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

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
from dpscale.derive.formulas import goal_seconds
from dpscale.derive.ring import StepModel, beyond_the_fit, fitted_ring, refusal, share_of
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import (
    CONFIDENCE,
    UNKNOWN,
    Estimate,
    censored_median,
    estimate_of,
    exactly,
    interval_columns,
    inverse,
    median,
    median_ratio,
    paired_median_ratio,
    product,
    together,
    verdict,
)
from dpscale.derive.tables import Table
from dpscale.records.columns import Columns, columns, intervals
from dpscale.studies.choose.config import Aim
from dpscale.vocabulary import VERDICTS, words

CELL = ["workers", "nodes", "per_worker_batch"]
LOSSES = ("batch", "sharing", "communication", "samples")
LIMITS = ("deadline", "worker_hours", "memory")
GRID_COLUMNS: Columns = (
    columns("workers nodes per_worker_batch global_batch")
    | intervals("step_s silent_step_s")
    | columns("backward_s peak_bytes repeats launches launch_spread_frac oversubscribed status")
    | columns("runs")
)
PREDICTION_COLUMNS: Columns = (
    columns("workers nodes per_worker_batch fit_workers")
    | intervals("predicted_step_s")
    | columns("compute_step_s measured_step_s error_frac status note runs")
)
GOAL_COLUMNS: Columns = (
    columns("workers nodes per_worker_batch global_batch predicted")
    | intervals("step_s steps_to_goal time_to_goal_s worker_s")
    | intervals("silent_step_s")
    | columns("lr momentum peak_bytes repeats oversubscribed on_front")
    | columns("obeys")
    | words("misses", LIMITS)
    | columns("excess_ratio rank_of_workers")
    | intervals("to_fastest_ratio")
    | words("to_fastest")
    | columns("model optimizer status note runs")
)
DOUBLING_COLUMNS: Columns = (
    columns("workers per_worker_batch global_batch next_workers next_per_worker_batch")
    | columns("next_global_batch predicted adjacent stops")
    | intervals("time_ratio worker_s_ratio")
    | words("footing", ("global_batch", "per_worker_batch"))
    | intervals("batch_ratio sharing_ratio communication_ratio samples_ratio retuned_ratio")
    | words("pays")
    | words("blame", LOSSES)
    | columns("saved_s sent_s too_short runs")
)
ADVICE_COLUMNS: Columns = (
    columns("role workers nodes per_worker_batch global_batch")
    | intervals("time_to_goal_s worker_s")
    | columns("price lr momentum peak_bytes repeats obeys")
    | words("chosen_as", ("best", "alike"))
    | words("misses", LIMITS)
    | columns("excess_ratio")
    | words("aim", Aim)
    | columns("compared chance_cells runs")
)
TRAINED_COLUMNS: Columns = (
    columns("workers nodes per_worker_batch global_batch lr momentum")
    | intervals("predicted_s measured_s ratio")
    | columns("steps_to_goal step_s")
    | words("within", ("yes", "no"))
    | words("against")
    | words("found", (*VERDICTS, "missed", "unavailable"))
    | words("aim", Aim)
    | columns("advised")
    | intervals("to_advised_ratio")
    | words("to_advised")
    | columns("obeys")
    | words("misses", LIMITS)
    | columns("excess_ratio taken seeds reached launches oversubscribed status runs")
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
    backward_s; peak_bytes: the largest of all workers and launches. Runs of an N without a record
    are a row with their status.
    """
    rows: list[dict[str, Any]] = []
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
            rows.append(whole)
        peaks = grid_memory[grid_memory["run"].isin(names)].groupby("per_worker_batch")
        needed = peaks["peak_bytes"].max()
        for batch, of_batch in own.groupby("per_worker_batch"):
            rows.append(
                whole
                | {"per_worker_batch": batch, "global_batch": batch * workers}
                | {"peak_bytes": known(needed.get(batch))}
                | _times(of_batch)
            )
    return as_table(rows, GRID_COLUMNS)


def _times(repeats: pd.DataFrame) -> dict[str, Any]:
    """The seconds of a step of a cell, from what each worker took in each repeat."""
    by_repeat = repeats.groupby(["timed_arm", "run", "repeat"])
    slowest = by_repeat[["step_s", "backward_s"]].max()
    arms = slowest.index.get_level_values("timed_arm")
    ddp = over_launches(slowest.xs("ddp")["step_s"])
    silent = slowest.xs("noop_hook") if "noop_hook" in arms else slowest.xs("ddp")
    found = median(ddp)
    return {
        **interval_columns("step_s", found),
        **interval_columns("silent_step_s", median(over_launches(silent["step_s"]))),
        "backward_s": silent["backward_s"].median(),
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


def time_to_goal(
    step_grid: pd.DataFrame,
    step_prediction: pd.DataFrame,
    steps_to_goal: pd.DataFrame,
    limits: pd.DataFrame,
    runs: pd.DataFrame,
) -> pd.DataFrame:
    """Return time_to_goal_s = steps to the goal with N*b times step_s, and worker_s = N times that.

    Their intervals hold those of both (`statistics.product`), that of the steps with the luck of
    the search where it is known (searched_steps). A row for each measured N and b, and for the
    predicted ones that are not refused. to_fastest_ratio: over the least of the measured
    cells; of equal batches the steps cancel. to_fastest: its verdict, of measured cells alone.
    on_front: no measured cell that fits the memory of `limits` has less of both. obeys: the upper
    ends of its intervals keep to all limits, or by what factor (excess_ratio) it `misses` one; it
    is unknown, and does not obey, where what is limited was not measured. rank_of_workers: of a
    measured cell, by its time, among those of its N that obey, then those that fit, then others.
    Raises MixedMachinesError where steps and search are of different machines.
    """
    planned = grid_runs(runs)
    searched = runs[runs["kind"] == "search"]
    require_same_machine(pd.concat([planned, searched]))
    optimizer = first_known(planned["arm"])
    # A user's own network has its name from the runs that have a record.
    named = steps_to_goal["model"].isin(planned["model"])
    found = steps_to_goal[named & (steps_to_goal["optimizer"] == optimizer)]
    model = first_known(found["model"])
    found = found.dropna(subset="global_batch")
    steps = {int(row["global_batch"]): row for row in found.to_dict("records")}
    whole = {"model": model, "optimizer": optimizer}
    rows = [whole | row | _to_goal(row, steps) for row in _measured(step_grid)]
    rows += [whole | row | _to_goal(row, steps) for row in _predicted(step_prediction)]
    judge(
        rows, {name: known(limit) for name, limit in limits.iloc[0].items()} if len(limits) else {}
    )
    return as_table(rows, GOAL_COLUMNS)


def _measured(step_grid: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for row in step_grid.to_dict("records"):
        yield row | {"predicted": False}


def _predicted(step_prediction: pd.DataFrame) -> Iterator[dict[str, Any]]:
    rows = step_prediction[step_prediction["status"] == "predicted"]
    for row in rows.to_dict("records"):
        steps = interval_columns("step_s", estimate_of(row, "predicted_step_s"))
        yield (
            {key: row[key] for key in (*CELL, "runs")}
            | steps
            | {
                "predicted": True,
                "status": "complete",
                "silent_step_s": row["compute_step_s"],
                "global_batch": row["workers"] * row["per_worker_batch"],
            }
        )


def _to_goal(row: dict[str, Any], steps: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """What a cell needs to the goal, by the steps of its global batch; else the reason."""
    batch = known(row.get("global_batch"))
    of_batch = steps.get(int(batch)) if batch is not None else None
    if batch is None or row["status"] != "complete":
        return {}
    if of_batch is None:
        return {"note": "no steps to the goal were searched for this global batch"}
    needed = estimate_of(of_batch, "searched_steps")
    if needed.low is None:  # the luck of the search is unknown
        needed = estimate_of(of_batch, "steps_to_goal")
    if needed.value is None:
        return {"note": "the goal is not reached with this global batch"}
    time = product(needed, estimate_of(row, "step_s"))
    time = time._replace(value=goal_seconds(needed.value, row["step_s"]))
    cost = product(time, exactly(row["workers"]))
    return {
        **interval_columns("steps_to_goal", needed),
        **interval_columns("time_to_goal_s", time),
        **interval_columns("worker_s", cost),
        "lr": of_batch["lr"],
        "momentum": of_batch["momentum"],
        "repeats": of_batch["repeats"],
        "runs": f"{row['runs']} {of_batch['runs']}",
    }


def time_ratio(row: dict[str, Any], other: dict[str, Any]) -> Estimate:
    """Return how many times the time to the goal of another cell a cell takes."""
    if row is other:
        return exactly(1)
    parts = [estimate_of(row, "step_s"), inverse(estimate_of(other, "step_s"))]
    if row["global_batch"] != other["global_batch"]:
        parts += [estimate_of(row, "steps_to_goal"), inverse(estimate_of(other, "steps_to_goal"))]
    return product(*parts)


def cost_ratio(row: dict[str, Any], other: dict[str, Any]) -> Estimate:
    """Return how many times the worker-seconds to the goal of another cell a cell takes."""
    return product(time_ratio(row, other), exactly(row["workers"] / other["workers"]))


def fits(row: dict[str, Any], memory_bytes: float | None) -> bool:
    """Return whether a cell keeps within the memory of a worker; what is not known does not."""
    peak = known(row.get("peak_bytes"))
    return memory_bytes is None or (peak is not None and peak <= memory_bytes)


def judge(rows: list[dict[str, Any]], limits: dict[str, Any]) -> None:
    """Notes in each row with a time where it stands among the measured ones."""
    timed = [row for row in rows if known(row.get("time_to_goal_s")) is not None]
    measured = [row for row in timed if not row["predicted"]]
    # Where none fits, all of them: the advice then says by how much.
    candidates = [row for row in measured if fits(row, limits.get("memory_bytes"))] or measured
    if not candidates:
        return
    fastest = min(candidates, key=lambda row: row["time_to_goal_s"])
    for row in timed:
        found = time_ratio(row, fastest)
        row |= interval_columns("to_fastest_ratio", found)
        judged = row is not fastest and not row["predicted"]
        row["to_fastest"] = verdict(found.low, found.high, 1.0) if judged else None
        chosen = any(row is one for one in candidates)
        row["on_front"] = chosen and not any(_dominates(one, row) for one in candidates)
        row |= over_limits(row, limits)
    ordered = sorted(
        measured, key=lambda row: (not row["obeys"], row not in candidates, row["time_to_goal_s"])
    )
    for workers in {row["workers"] for row in measured}:
        of_workers = [row for row in ordered if row["workers"] == workers]
        for rank, row in enumerate(of_workers, start=1):
            row["rank_of_workers"] = rank


def _dominates(one: dict[str, Any], other: dict[str, Any]) -> bool:
    gains = [other[key] - one[key] for key in ("time_to_goal_s", "worker_s")]
    return min(gains) >= 0 and max(gains) > 0


def advice(time_to_goal: pd.DataFrame, limits: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that a decision is between, a row a role, of all that were measured.

    recommended: of those that obey the limits the one with the least time, or cost, as `aim` has
    it; of those that are not told apart from it the one with the least of the other. Where none
    obeys it is the nearest, by its excess_ratio. fastest, cheapest: of those that fit the memory;
    one_worker, most_workers: the best of the fewest and of the most. price: of worker_s at the
    configured price. compared: cells that were set beside the fastest, the luckiest of all; of them
    chance_cells would be set apart from it if all were alike.
    """
    given = {key: known(value) for key, value in limits.iloc[0].items()} if len(limits) else {}
    aim, price = given.get("aim") or "time", given.get("price_per_worker_hour")
    measured = time_to_goal[time_to_goal["rank_of_workers"].notna()]
    rows = [cell | {"aim": aim} for cell in measured.to_dict("records")]
    if not rows:
        return as_table([], ADVICE_COLUMNS)
    fitting = [row for row in rows if fits(row, given.get("memory_bytes"))] or rows
    best = [row for row in rows if row["rank_of_workers"] == 1]
    roles = {
        "recommended": recommended(rows, aim),
        "fastest": min(fitting, key=lambda row: row["time_to_goal_s"]),
        "cheapest": min(fitting, key=lambda row: row["worker_s"]),
        "one_worker": min(best, key=lambda row: row["workers"]),
        "most_workers": max(best, key=lambda row: row["workers"]),
    }
    compared = len(measured["to_fastest"].dropna())
    chance = {"compared": compared, "chance_cells": (1 - CONFIDENCE) * compared}
    rows = [
        row | chance | {"role": role, "price": price and price * row["worker_s"] / HOUR_S}
        for role, row in roles.items()
    ]
    return as_table(rows, ADVICE_COLUMNS)


HOUR_S = 3600
AIMS = {"time": ("time_to_goal_s", "worker_s"), "cost": ("worker_s", "time_to_goal_s")}


def recommended(rows: list[dict[str, Any]], aim: str) -> dict[str, Any]:
    """Return the cell to take of some with `obeys` and `excess_ratio`; see `advice`.

    chosen_as: the `best` by the aim, or `alike`: not told from it; none where none obeys.
    """
    obedient = [row for row in rows if row["obeys"]]
    if not obedient:
        excess = {n: known(row["excess_ratio"]) for n, row in enumerate(rows)}
        nearest = min(excess, key=lambda n: math.inf if excess[n] is None else excess[n])
        return rows[nearest] | {"chosen_as": None}
    first, second = AIMS[aim]
    best = min(obedient, key=lambda row: row[first])
    alike = [row for row in obedient if not _told_from(row, best, aim)]
    taken = min(alike, key=lambda row: row[second])
    return taken | {"chosen_as": "best" if taken is best else "alike"}


def _told_from(row: dict[str, Any], best: dict[str, Any], aim: str) -> bool:
    ratio = (cost_ratio if aim == "cost" else time_ratio)(row, best)
    return row is not best and verdict(ratio.low, ratio.high, 1.0) != "indistinct"


def over_limits(cell: dict[str, Any], limits: dict[str, Any]) -> dict[str, Any]:
    """Return whether a cell obeys each limit, and by how much it misses the one it misses most.

    The upper ends of intervals decide. What is limited and not known misses, by nobody knows what.
    """
    hours = limits.get("worker_hours")
    bounds = {
        "deadline": ("time_to_goal_s", limits.get("deadline_s")),
        "worker_hours": ("worker_s", None if hours is None else HOUR_S * hours),
        "memory": ("peak_bytes", limits.get("memory_bytes")),
    }
    asked = {name: limit for name, limit in bounds.items() if limit[1] is not None}
    for name, (column, _) in asked.items():
        if _upper(cell, column) is None:
            return {"obeys": False, "misses": name, "excess_ratio": None}
    over = {name: float(_upper(cell, column) / bound) for name, (column, bound) in asked.items()}
    worst = max(over, key=lambda name: over[name], default=None)
    beyond = worst is not None and over[worst] > 1
    return {
        "obeys": not beyond,
        "misses": worst if beyond else None,
        "excess_ratio": over[worst] if worst is not None else 0.0,
    }


def _upper(cell: dict[str, Any], column: str) -> Any:
    """The upper end of what a cell takes; without an interval the value, with a lower end none."""
    high = known(cell.get(f"{column}_high"))
    return known(cell.get(column)) if known(cell.get(f"{column}_low")) is None else high


def doublings(time_to_goal: pd.DataFrame, step_grid: pd.DataFrame) -> pd.DataFrame:
    """Return what larger numbers of workers buy, from best cell to best cell.

    A row for each two measured N, `adjacent` if none lies between, and from N to N where one is
    predicted. pays: whether the time falls (`below`); null for a predicted one, which was not
    measured. Its time is compared at equal `footing` first, of the same global batch B (what the
    step costs) or, where that was not measured with more workers, of the same b (what the samples
    cost), and then with the best batch of the more workers (retuned_ratio). time_ratio times the
    growth of N is the product of what the step of fewer samples costs (batch_ratio), workers beside
    each other that send nothing (sharing_ratio), communication_ratio, samples_ratio of larger
    batches, and retuned_ratio. blame: `dominant` of the four losses; too_short: see `_spared`.
    """
    timed = time_to_goal.dropna(subset="time_to_goal_s")
    chosen = (timed["rank_of_workers"] == 1) | timed["predicted"]
    best = [
        cells.loc[cells["time_to_goal_s"].idxmin()].to_dict()
        for _, cells in timed[chosen].groupby("workers")
    ]
    pairs = [(fewer, more) for fewer, more in combinations(best, 2) if not more["predicted"]]
    pairs += [(fewer, more) for fewer, more in pairwise(best) if more["predicted"]]
    adjacent = [(fewer["workers"], more["workers"]) for fewer, more in pairwise(best)]
    solo = step_grid[step_grid["workers"] == 1].set_index("per_worker_batch").to_dict("index")
    alone = {batch: estimate_of(row, "step_s") for batch, row in solo.items()}
    cells = timed.to_dict("records")
    rows = [_doubling(fewer, more, cells, alone) for fewer, more in pairs]
    for row in rows:
        row["adjacent"] = (row["workers"], row["next_workers"]) in adjacent
    return as_table(rows, DOUBLING_COLUMNS)


def judge_doublings(rows: list[dict[str, Any]]) -> None:
    """Notes which is the step from the fewest workers that no larger number is faster than.

    None where that is the largest number of workers that was measured.
    """
    measured = [row for row in rows if not row["predicted"]]
    paying = {row["workers"] for row in measured if row["pays"] == "below"}
    last = [row for row in measured if row["adjacent"] and row["workers"] not in paying]
    for row in rows:
        row["stops"] = any(row is stop for stop in last[:1])


def _doubling(
    fewer: dict[str, Any],
    more: dict[str, Any],
    cells: list[dict[str, Any]],
    alone: dict[Any, Estimate],
) -> dict[str, Any]:
    """The row of two best cells; cells: with a time; alone: the step of one worker by b."""
    time = time_ratio(more, fewer)
    predicted = fewer["predicted"] or more["predicted"]
    footing, factors = at_equal_footing(fewer, more, cells, alone)
    losses = {name: factors[name] for name in LOSSES if name in factors}
    return {
        **{name: fewer[name] for name in ("workers", "per_worker_batch", "global_batch")},
        **{f"next_{name}": more[name] for name in ("workers", "per_worker_batch", "global_batch")},
        "predicted": predicted,
        **interval_columns("time_ratio", time),
        **interval_columns("worker_s_ratio", cost_ratio(more, fewer)),
        "footing": footing,
        **{
            key: end
            for name, factor in factors.items()
            for key, end in interval_columns(f"{name}_ratio", factor).items()
        },
        "pays": None if predicted else verdict(time.low, time.high, 1.0),
        "blame": None if predicted else dominant(losses),
        **({} if predicted else _spared(fewer, more, cells)),
        "runs": f"{fewer['runs']} {more['runs']}",
    }


def _spared(
    fewer: dict[str, Any], more: dict[str, Any], cells: list[dict[str, Any]]
) -> dict[str, Any]:
    """What more workers save of a step at most, and what they send, at each global batch of both.

    too_short: at every batch they send for longer than they can save, by the ends of the
    intervals, so that they cannot pay; saved_s, sent_s: then, at the batch where they come nearest.
    """
    share = 1 - fewer["workers"] / more["workers"]
    pairs = [
        (
            estimate_of(cell, "step_s"),
            estimate_of(other, "step_s"),
            estimate_of(other, "silent_step_s"),
        )
        for cell in cells
        for other in cells
        if (cell["workers"], other["workers"]) == (fewer["workers"], more["workers"])
        and cell["global_batch"] == other["global_batch"]
    ]
    if not pairs or any(None in one for pair in pairs for one in pair):
        return {"too_short": False}
    steps, sending, silent = (np.array(one, dtype=float).T for one in zip(*pairs, strict=True))
    saved_s, sent_s = share * steps[0], sending[0] - silent[0]
    if not (sending[1] - silent[2] > share * steps[2]).all():
        return {"too_short": False}
    nearest = np.argmax(saved_s / sent_s)
    return {"too_short": True, "saved_s": saved_s[nearest], "sent_s": sent_s[nearest]}


def at_equal_footing(
    fewer: dict[str, Any],
    more: dict[str, Any],
    cells: list[dict[str, Any]],
    alone: dict[Any, Estimate],
) -> tuple[str | None, dict[str, Estimate]]:
    """Return the batch that is kept, global or per worker, and the factors; see `doublings`.

    None and no factors where the larger number of workers has a time with neither, or one worker
    was not timed with both batches.
    """
    for footing in ("global_batch", "per_worker_batch"):
        for cell in cells:
            same = cell["workers"] == more["workers"] and cell[footing] == fewer[footing]
            if same and {cell["per_worker_batch"], fewer["per_worker_batch"]} <= alone.keys():
                factors = step_factors(fewer, cell, alone)
                samples = exactly(1)
                if footing == "per_worker_batch":
                    grown = exactly(cell["global_batch"] / fewer["global_batch"])
                    steps = [estimate_of(row, "steps_to_goal") for row in (cell, fewer)]
                    samples = product(steps[0], inverse(steps[1]), grown)
                retuned = exactly(1) if _same_cell(cell, more) else time_ratio(more, cell)
                return footing, factors | {"samples": samples, "retuned": retuned}
    return None, {}


def _same_cell(row: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(row[key] == other[key] for key in ("workers", "global_batch"))


def step_factors(
    fewer: dict[str, Any], more: dict[str, Any], alone: dict[Any, Estimate]
) -> dict[str, Estimate]:
    """Return what a sample of a worker costs more in a cell of more workers, in three factors.

    alone: the step of one worker by b. Their product is (t'/b') / (t/b), t the seconds of a step.
    What stands above and below a line cancels, noise and all.
    """
    batches = [row["per_worker_batch"] for row in (fewer, more)]
    base, base_more = (alone[batch] for batch in batches)
    step, step_more = (estimate_of(row, "step_s") for row in (fewer, more))
    silent, silent_more = (
        base_of_row if row["workers"] == 1 else estimate_of(row, "silent_step_s")
        for row, base_of_row in ((fewer, base), (more, base_more))
    )
    return {
        "batch": _quotient([base_more], [base], batches[0] / batches[1]),
        "sharing": _quotient([silent_more, base], [base_more, silent]),
        "communication": _quotient([step_more, silent], [silent_more, step]),
    }


def _quotient(above: list[Estimate], below: list[Estimate], factor: float = 1.0) -> Estimate:
    """Return products above and below a line over each other, without what is in both."""
    left, right = Counter(above), Counter(below)
    rest = [*(left - right).elements(), *map(inverse, (right - left).elements())]
    return product(exactly(factor), *rest)


def dominant(losses: dict[str, Estimate]) -> str | None:
    """Return the loss that is at least half of the logarithm of all of them, by its interval.

    It is where it is more than the product of the others (of those that are gains too). None where
    none is, or where all of them together may be no loss.
    """
    if not losses or (product(*losses.values()).low or 0) <= 1:
        return None
    for name, loss in losses.items():
        others = [other for key, other in losses.items() if key != name]
        if (product(loss, *map(inverse, others)).low or 0) >= 1:
            return name
    return None


def goal_trainings(
    time_to_goal: pd.DataFrame,
    trials: pd.DataFrame,
    advice: pd.DataFrame,
    limits: pd.DataFrame,
    runs: pd.DataFrame,
) -> pd.DataFrame:
    """Return for each cell that was trained the time to the goal, predicted and measured.

    measured_s: the median steps over seeds, where a seed that missed the goal counts as longer than
    all, times the median step over launches, with the interval of both, or its lower end where a
    seed missed the goal; ratio: over predicted_s.
    within: whether measured_s lies inside the predicted interval; against: whether the ratio is
    told apart from 1; found: the same, or that the goal was `missed`, or nothing `unavailable` to
    train. advised: the recommended cell; to_advised_ratio: the time, or cost as `aim` has it, over
    that of the recommended cell, seeds paired, all intervals `together`. obeys: the trained time
    keeps to the limits. taken: the cell to take after training, see `_take`.
    """
    planned = in_study(runs, "choose")
    planned = planned[planned["kind"] == "goal"]
    require_same_machine(planned)
    key = ["workers", "per_worker_batch"]
    cells = {
        tuple(known(row[name]) for name in key): row
        for row in time_to_goal[~time_to_goal["predicted"]].to_dict("records")
    }
    given = {name: known(limit) for name, limit in limits.iloc[0].items()} if len(limits) else {}
    recommended_cell = [
        tuple(known(row[name]) for name in key)
        for row in advice[advice["role"] == "recommended"].to_dict("records")
    ]
    rows: list[dict[str, Any]] = []
    seconds: dict[int, TrainedTime] = {}
    for _, of_cell in planned.groupby([*CELL, "global_batch"], dropna=False):
        status = combined_status(of_cell["status"])
        launches = of_cell[of_cell["status"] == status]
        row = launches.iloc[0][[*CELL, "global_batch", "status", "oversubscribed"]].to_dict()
        place = tuple(known(row[name]) for name in key)
        row |= {"runs": " ".join(launches["run"]), "advised": place in recommended_cell}
        trained = trials[trials["run"].isin(launches["run"]) & (trials["role"] == "goal")]
        if status == "complete" and place in cells and not trained.empty:
            seconds[len(rows)] = TrainedTime.of(trained)
            row |= _trained(trained, seconds[len(rows)], cells[place], given)
        rows.append(row | {"aim": given.get("aim") or "time"})
    _against_advised(rows, seconds)
    _take(rows)
    return as_table(rows, TRAINED_COLUMNS)


class TrainedTime(NamedTuple):
    """What a cell took to the goal: steps by seed, and a step by launch.

    steps: null where a seed missed the goal; at_least: then those that it trained in vain.
    """

    steps: pd.Series
    at_least: pd.Series
    step_s: pd.Series

    @classmethod
    def of(cls, trials: pd.DataFrame) -> "TrainedTime":
        """Return that of the trials of all launches."""
        steps = trials["steps_to_goal"].astype(float)
        reached = trials["wall_s"].notna() & steps.notna()
        # A seed takes the same steps in each launch, but for the order of sums.
        by_seed = steps.where(reached, np.inf).groupby(trials["seed"]).median()
        trained = steps.where(reached, trials["steps"].astype(float))
        step_s = (trials["wall_s"] / steps)[reached]
        by_launch = step_s.groupby(trials.loc[reached, "run"]).median()
        known_steps = by_seed.replace(np.inf, np.nan)
        return cls(
            known_steps, known_steps.fillna(trained.groupby(trials["seed"]).max()), by_launch
        )

    @property
    def whole(self) -> bool:
        """Whether every seed reached the goal."""
        return bool(self.steps.notna().all())

    def seconds(self) -> Estimate:
        """Return the time to the goal, with the interval over seeds and launches.

        Where a seed missed the goal it has a lower end alone, that of what was trained.
        """
        step_s = median(self.step_s)
        found = product(censored_median(self.steps), step_s)
        if self.whole or found.value is None:
            return found
        return found._replace(low=product(median(self.at_least), step_s).low, high=None)

    def over(self, other: "TrainedTime", family: int = 1) -> Estimate:
        """Return the time over that of another cell, seeds paired, and so many others at once.

        A seed that missed the goal takes longer than it was trained: the ratio of what was trained
        has the lower end where that is a seed of this cell, the upper end where it is one of the
        other, and none where both have one. Its value is known where both medians are.
        """
        steps = paired_median_ratio(self.at_least, other.at_least)
        ratio = together(product(steps, median_ratio(self.step_s, other.step_s)), family)
        medians = [censored_median(one.steps).value for one in (self, other)]
        return Estimate(
            None if None in medians else ratio.value,
            ratio.low if other.whole else None,
            ratio.high if self.whole else None,
            ratio.repeats,
        )


def _against_advised(rows: list[dict[str, Any]], seconds: Mapping[int, TrainedTime]) -> None:
    """Notes in each trained row how it compares with the advised cell."""
    advised = next((n for n, row in enumerate(rows) if row["advised"] and n in seconds), None)
    if advised is None:
        return
    rows[advised] |= interval_columns("to_advised_ratio", exactly(1))
    for number, row in enumerate(rows):
        if number in seconds and number != advised:
            ratio = seconds[number].over(seconds[advised], family=len(seconds) - 1)
            if row["aim"] == "cost":
                grown = row["workers"] / rows[advised]["workers"]
                value, low, high = (end and end * grown for end in ratio[:3])
                ratio = Estimate(value, low, high, ratio.repeats)
            row |= interval_columns("to_advised_ratio", ratio)
            row["to_advised"] = verdict(ratio.low, ratio.high, 1.0)


def _take(rows: list[dict[str, Any]]) -> None:
    """Notes which trained cell to take.

    The advised one, unless a trained cell that obeys the limits is told to be better, or the
    advised one, trained, missed the goal or the limits: then the best of those that obey.
    """
    obedient = [row for row in rows if row.get("obeys")]
    taken = next((row for row in rows if row["advised"]), None)
    better = [row for row in obedient if row.get("to_advised") == "below"]
    if better or (taken and taken["status"] == "complete" and not taken.get("obeys")):
        taken = min(better or obedient, key=_price, default=taken)
    for row in rows:
        row["taken"] = row is taken


def _price(row: dict[str, Any]) -> float:
    """What a choice makes least, of a trained cell."""
    return float(row["measured_s"] * (row["workers"] if row["aim"] == "cost" else 1))


def judge_trainings(rows: list[dict[str, Any]]) -> None:
    """Notes what the time of a training says of the prediction, in one word."""
    for row in rows:
        row["found"] = row["against"]
        if row["measured_s"] is None:
            row["found"] = "missed" if row["status"] == "complete" else "unavailable"


def _trained(
    trials: pd.DataFrame, trained: TrainedTime, cell: dict[str, Any], limits: dict[str, Any]
) -> dict[str, Any]:
    seconds = trained.seconds()
    predicted = estimate_of(cell, "time_to_goal_s")
    ratio = product(seconds, inverse(predicted)) if seconds.value is not None else UNKNOWN
    within = None
    if seconds.value is not None and predicted.low is not None and predicted.high is not None:
        within = "yes" if predicted.low <= seconds.value <= predicted.high else "no"
    measured = {
        **interval_columns("time_to_goal_s", seconds),
        **interval_columns("worker_s", product(seconds, exactly(cell["workers"]))),
        "peak_bytes": cell.get("peak_bytes"),
    }
    obeys = over_limits(measured, limits) if seconds.value is not None else {"obeys": False}
    return {
        "lr": trials["lr"].iloc[0],
        "momentum": trials["momentum"].iloc[0],
        **interval_columns("predicted_s", predicted),
        **interval_columns("measured_s", seconds),
        **interval_columns("ratio", ratio),
        "steps_to_goal": censored_median(trained.steps).value,
        "step_s": trained.step_s.median(),
        "within": within,
        "against": verdict(ratio.low, ratio.high, 1.0),
        "seeds": len(trained.steps),
        "reached": int(trained.steps.notna().sum()),
        "launches": trials["run"].nunique(),
        **obeys,
    }


TABLES = {
    "step_grid": Table(step_grid, ["grid", "grid_memory", "runs"], GRID_COLUMNS),
    "step_prediction": Table(
        step_prediction, ["step_grid", "grid_buckets", "link", "limits", "runs"], PREDICTION_COLUMNS
    ),
    "time_to_goal": Table(
        time_to_goal,
        ["step_grid", "step_prediction", "steps_to_goal", "limits", "runs"],
        GOAL_COLUMNS,
    ),
    "advice": Table(advice, ["time_to_goal", "limits"], ADVICE_COLUMNS),
    "doublings": Table(doublings, ["time_to_goal", "step_grid"], DOUBLING_COLUMNS, judge_doublings),
    "goal_trainings": Table(
        goal_trainings,
        ["time_to_goal", "trials", "advice", "limits", "runs"],
        TRAINED_COLUMNS,
        judge_trainings,
    ),
}
