"""Steps to the goal against the batch size: what each search found, and its winner's repeats."""

from typing import Any

import numpy as np
import pandas as pd

from dpscale.derive.columns import Columns, as_table, flags, floats, integers, known, texts
from dpscale.derive.formulas import log_slope
from dpscale.derive.scaling_fit import MAXIMAL_SLOPE, PERFECT_SLOPE
from dpscale.derive.searches import KEY, censored_median, search_runs
from dpscale.derive.statistics import median

BORDER_SHARE = 0.1  # of a logarithmic range, at each end: as near as that is on the border
COLUMNS: Columns = (
    texts("model optimizer")
    | integers("global_batch")
    | texts("status")
    | floats("steps_to_goal steps_to_goal_low steps_to_goal_high")
    | integers("repeats repeats_reached")
    | floats("perfect_scaling_steps samples_to_goal epochs_to_goal")
    | texts("regime")
    | floats("lr momentum effective_lr")
    | flags("at_border")
    | integers("trials complete_trials incomplete_trials infeasible_trials")
    | floats("search_steps test_error_frac test_error_frac_low test_error_frac_high")
    | floats("goal_error_frac")
    | integers("step_resolution")
    | texts("runs")
)


def at_border(lr: float, momentum: float, space: dict[str, Any]) -> bool:
    """Return whether a point lies in the outer tenth of the search space, on logarithmic axes.

    The end of the space at no momentum is none of it: there is nothing beyond.
    """
    low, high = np.log([space["effective_lr_low"], space["effective_lr_high"]])
    place = (np.log(lr / (1 - momentum)) - low) / (high - low)
    outside = place < BORDER_SHARE or place > 1 - BORDER_SHARE
    if momentum > 0:
        outside |= np.log(1 - momentum) < np.log(space["momentum_rest_low"]) * (1 - BORDER_SHARE)
    return bool(outside)


def _regime(b_crit: float | None, batch: int) -> str | None:
    if b_crit is None:
        return None
    slope = log_slope(b_crit, float(batch))
    if slope <= PERFECT_SLOPE:
        return "perfect scaling"
    return "diminishing returns" if slope < MAXIMAL_SLOPE else "maximal data parallelism"


def _of_search(searched: pd.DataFrame) -> dict[str, Any]:
    counts = searched["status"].value_counts()
    kinds = ("complete", "incomplete", "infeasible")
    return {f"{kind}_trials": int(counts.get(kind, 0)) for kind in kinds} | {
        "trials": len(searched),
        "search_steps": known(searched["steps_to_goal"].min()),
    }


def _of_repeats(
    repeats: pd.DataFrame, evaluations: pd.DataFrame, space: dict[str, Any]
) -> dict[str, Any]:
    if repeats.empty:
        return {"status": "incomplete"}
    steps = censored_median(repeats["steps_to_goal"])
    tests = evaluations[evaluations["trial"].isin(repeats["trial"])]["test_accuracy_frac"]
    error = median(1 - tests.dropna().to_numpy(dtype=float))
    lr, momentum = float(repeats["lr"].iloc[0]), float(repeats["momentum"].iloc[0])
    return {
        "status": "incomplete" if steps.value is None else "complete",
        "steps_to_goal": steps.value, "steps_to_goal_low": steps.low,
        "steps_to_goal_high": steps.high, "repeats": len(repeats),
        "repeats_reached": int(repeats["steps_to_goal"].notna().sum()),
        "lr": lr, "momentum": momentum, "effective_lr": lr / (1 - momentum),
        "at_border": at_border(lr, momentum, space),
        "test_error_frac": error.value, "test_error_frac_low": error.low,
        "test_error_frac_high": error.high,
    }  # fmt: skip


def _run_rows(
    own: dict[str, Any], trials: pd.DataFrame, evaluations: pd.DataFrame, space: dict[str, Any],
    b_crit: float | None, train_samples: int,
) -> list[dict[str, Any]]:  # fmt: skip
    rows = []
    for batch in sorted(map(int, trials["global_batch"].unique())):
        of_batch = trials[trials["global_batch"] == batch]
        row = own | {"global_batch": batch, "goal_error_frac": space["goal_error_frac"]}
        row |= {"step_resolution": max(1, space["evaluation_samples"] // batch)}
        row |= _of_search(of_batch[of_batch["role"] == "search"])
        row |= _of_repeats(of_batch[of_batch["role"] == "repeat"], evaluations, space)
        row["regime"] = _regime(b_crit, batch)
        if (steps := row.get("steps_to_goal")) is not None:
            row["samples_to_goal"] = steps * batch
            row["epochs_to_goal"] = steps * batch / train_samples
        rows.append(row)
    first = next((row for row in rows if row.get("steps_to_goal") is not None), None)
    for row in rows if first else []:
        assert first is not None
        row["perfect_scaling_steps"] = first["samples_to_goal"] / row["global_batch"]
    return rows


def steps_to_goal(
    trials: pd.DataFrame, evaluations: pd.DataFrame, searches: pd.DataFrame,
    scaling_fit: pd.DataFrame, runs: pd.DataFrame,
) -> pd.DataFrame:  # fmt: skip
    """Return one row for each (model, optimiser, batch size).

    steps_to_goal: median over the winner's repeats; status incomplete and null where half of them
    or more, or every trial of the search, ended before the goal. perfect_scaling_steps: those of
    the smallest batch that reached it, divided by the growth of the batch. search_steps: fewest
    steps in the search, which flatter its winner. A run without a record is one row with its
    status. Raises MixedMachinesError for runs of different machines.
    """
    b_crits = {tuple(row[name] for name in KEY): known(row["b_crit"])
               for row in scaling_fit.to_dict("records")}  # fmt: skip
    protocols = {row["run"]: row for row in searches.to_dict("records")}
    rows: list[dict[str, Any]] = []
    for key, run in search_runs(runs):
        name = run["run"]
        own = key | {"status": run["status"], "runs": name}
        if run["status"] != "complete" or name not in protocols:
            rows.append(own)
            continue
        rows += _run_rows(
            own, trials[trials["run"] == name], evaluations[evaluations["run"] == name],
            {str(k): v for k, v in protocols[name].items()}, b_crits.get(tuple(key.values())),
            int(run["train_samples"]),
        )  # fmt: skip
    return as_table(rows, COLUMNS)
