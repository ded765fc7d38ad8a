"""E2: time and worker-seconds to the goal of every cell, and which to take within the limits."""

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from dpscale.derive.cells import first_known
from dpscale.derive.columns import as_table, known
from dpscale.derive.formulas import goal_seconds
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import (
    CONFIDENCE,
    Estimate,
    estimate_of,
    exactly,
    interval_columns,
    inverse,
    product,
    verdict,
)
from dpscale.records.columns import Columns, columns, intervals
from dpscale.studies.choose.config import Aim
from dpscale.studies.choose.derive.grid import CELL, grid_runs
from dpscale.vocabulary import words

LIMITS = ("deadline", "worker_hours", "memory")
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
