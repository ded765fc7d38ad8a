"""Contrasts of two searches of S1: their critical batch sizes, and their steps at small batches."""

from typing import Any

import pandas as pd

from dpscale.derive.columns import Columns, as_table, floats, integers, texts
from dpscale.derive.critical_batch import b_crit_ratio, critical_batch
from dpscale.derive.searches import batch_medians, of_role, search_runs
from dpscale.derive.statistics import paired_median_ratio

Key = tuple[str, str]  # model, optimiser
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


def _pairs(keys: list[Key]) -> list[tuple[str, Key, Key]]:
    """Contrasts to make: momentum against plain SGD, and each model against the first."""
    found = []
    for key in keys:
        first = next(model for model, optimizer in keys if optimizer == key[1])
        for base in keys:
            if key[0] == base[0] and base[1] == "sgd" != key[1]:
                found.append(("optimizer", key, base))
            if key[1] == base[1] and base[0] == first != key[0]:
                found.append(("model", key, base))
    return found


def scaling_contrasts(trials: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return B_crit of one search over that of another, with its interval.

    contrast `optimizer`: momentum or Nesterov over plain SGD, same model; `model`: another model
    over the first one, same optimiser. Null with a status where either has no fit.
    small_steps_ratio: median steps to the goal of the repeats at the smallest batch of both.
    """
    names, status = {}, {}
    steps: dict[tuple[str, str], dict[int, float]] = {}
    for key, run in search_runs(runs):
        one = (key["model"], key["optimizer"])
        names[one], steps[one] = run["run"], batch_medians(trials, run["run"])
        whole = run["status"] == "complete"
        status[one] = critical_batch(steps[one]).status if whole else run["status"]
    rows = []
    for contrast, one, base in _pairs(list(names)):
        row = {
            "contrast": contrast, "model": one[0], "optimizer": one[1], "other_model": base[0],
            "other_optimizer": base[1], "runs": f"{names[one]} {names[base]}",
            "status": next((s for s in (status[one], status[base]) if s != "complete"), "complete"),
        }  # fmt: skip
        if row["status"] == "complete":
            columns = ("b_crit_ratio", "b_crit_ratio_low", "b_crit_ratio_high")
            row |= dict(zip(columns, b_crit_ratio(steps[one], steps[base]), strict=True))
        rows.append(row | _small_steps(trials, names[one], names[base]))
    return as_table(rows, COLUMNS)
