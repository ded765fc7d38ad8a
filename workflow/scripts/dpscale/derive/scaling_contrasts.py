"""Contrasts of two searches of S1: their critical batch sizes, and their steps at small batches."""

from typing import Any

import pandas as pd

from dpscale.derive.columns import Columns, as_table, floats, integers, texts
from dpscale.derive.critical_batch import b_crit_ratio, critical_batch
from dpscale.derive.searches import batch_medians, of_role, search_runs
from dpscale.derive.statistics import paired_median_ratio

COLUMNS: Columns = (
    texts("contrast model optimizer other_model other_optimizer status")
    | floats("b_crit_ratio b_crit_ratio_low b_crit_ratio_high")
    | integers("small_batch")
    | floats("small_steps_ratio small_steps_ratio_low small_steps_ratio_high")
    | texts("runs")
)


def _small_steps(trials: pd.DataFrame, run: str, base: str) -> dict[str, Any]:
    """The ratio of median steps at the smallest batch of both runs; null if any is incomplete."""
    repeats = [of_role(trials, name, "repeat") for name in (run, base)]
    shared = set(repeats[0]["global_batch"]) & set(repeats[1]["global_batch"])
    if not shared:
        return {}
    batch = min(shared)
    steps = [one[one["global_batch"] == batch].set_index("seed")["steps_to_goal"]
             for one in repeats]  # fmt: skip
    if any(one.isna().any() for one in steps):
        return {"small_batch": batch}
    ratio = paired_median_ratio(*(one.astype(float) for one in steps))
    return {
        "small_batch": batch, "small_steps_ratio": ratio.value,
        "small_steps_ratio_low": ratio.low, "small_steps_ratio_high": ratio.high,
    }  # fmt: skip


def _pairs(keys: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Contrasts to make: momentum against plain SGD, and each model against the first."""
    found = []
    for key in keys:
        for base in keys:
            if key["model"] == base["model"] and base["optimizer"] == "sgd" != key["optimizer"]:
                found.append(("optimizer", key, base))
            first = next(k["model"] for k in keys if k["optimizer"] == key["optimizer"])
            if key["optimizer"] == base["optimizer"] and base["model"] == first != key["model"]:
                found.append(("model", key, base))
    return found


def scaling_contrasts(trials: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return B_crit of one search over that of another, with its interval.

    contrast `optimizer`: momentum or Nesterov over plain SGD, same model; `model`: another model
    over the first one, same optimiser. Null with a status where either has no fit.
    small_steps_ratio: median steps to the goal of the repeats at the smallest batch of both.
    """
    found = {tuple(key.values()): run for key, run in search_runs(runs)}
    steps, status = {}, {}
    for key, run in found.items():
        steps[key] = batch_medians(trials, run["run"])
        whole = run["status"] == "complete"
        status[key] = critical_batch(steps[key]).status if whole else run["status"]
    rows = []
    keys = [dict(zip(("model", "optimizer"), key, strict=True)) for key in found]
    for contrast, key, base in _pairs(keys):
        one, other = tuple(key.values()), tuple(base.values())
        row = {"contrast": contrast, **key, "other_model": base["model"],
               "other_optimizer": base["optimizer"],
               "runs": f"{found[one]['run']} {found[other]['run']}"}  # fmt: skip
        row["status"] = next(
            (s for s in (status[one], status[other]) if s != "complete"), "complete"
        )
        if row["status"] == "complete":
            names = ("b_crit_ratio", "b_crit_ratio_low", "b_crit_ratio_high")
            row |= dict(zip(names, b_crit_ratio(steps[one], steps[other]), strict=True))
        row |= _small_steps(trials, found[one]["run"], found[other]["run"])
        rows.append(row)
    return as_table(rows, COLUMNS)
