"""S3: time to a target accuracy of each arm, and its curve, over seeds."""

from typing import Any

import numpy as np
import pandas as pd

from dpscale.derive.averaging_trials import ARM, averaging_trials, label
from dpscale.derive.columns import Columns, as_table, floats, integers, texts
from dpscale.derive.formulas import averaged_drift_ratio, momentum_drift_ratio
from dpscale.derive.statistics import UNKNOWN, Estimate, median

MEASURES = ["epochs_to_target", "seconds_to_target", "final_test_accuracy_frac", "final_train_loss"]
_SETTINGS: Columns = (
    texts("arm optimizer model")
    | integers("learners per_learner_batch global_batch")
    | floats("lr momentum alpha")
    | integers("tau")
    | floats("target_accuracy_frac")
    | integers("median_of")
)
COLUMNS: Columns = (
    _SETTINGS
    | texts("status")
    | integers("seeds reached")
    | floats(" ".join(f"{name} {name}_low {name}_high" for name in MEASURES))
    | floats("epochs train_s effective_lr")
    | texts("label")
    | integers("rounds sent_bytes")
    | texts("runs")
)
CURVE_COLUMNS: Columns = (
    texts("arm optimizer label")
    | floats("epoch seconds")
    | integers("seeds")
    | floats("test_accuracy_frac test_accuracy_frac_low test_accuracy_frac_high")
    | floats("target_accuracy_frac lr")
    | integers("median_of")
    | texts("runs")
)


def _over_seeds(values: pd.Series) -> Estimate:
    """Return the median over seeds, unknown when a seed has no value.

    The seeds that reached a target are no fair sample of all.
    """
    array = values.to_numpy(dtype=float, na_value=np.nan)
    return median(array) if np.isfinite(array).all() else UNKNOWN


def _settings(row: pd.Series) -> dict[str, Any]:
    settings = {name: row[name] for name in ARM if name != "local_steps"}
    return settings | {"tau": row["local_steps"], "label": label(settings)}


def _effective_lr(arm: dict[str, Any]) -> float:
    """Return the rate of plain SGD that would go as far along a gradient that stays the same."""
    if arm["optimizer"] == "sgd":
        return float(arm["lr"] * momentum_drift_ratio(arm["momentum"]))
    return float(arm["lr"] * averaged_drift_ratio(arm["learners"], arm["momentum"]))


def _status(goals: pd.Series) -> str:
    """Return what the worst of the seeds came to."""
    for status in ("diverged", "incomplete"):
        if (goals == status).any():
            return status
    return "complete"


def model_averaging(
    trials: pd.DataFrame, evaluations: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return one row for each arm: settings, status, and medians over seeds with intervals.

    status: "complete" where every seed reached the target, "incomplete" where fewer did (how
    many: `reached`), "diverged" where a seed did. Times to the target are null unless all
    reached it. effective_lr: see `_effective_lr`. `train_s` is the median of the whole training,
    `sent_bytes` those that one process handed to all-reduces.
    Raises MixedMachinesError for runs of different machines.
    """
    found = averaging_trials(trials, evaluations, runs)
    rows: list[dict[str, Any]] = []
    for _, group in found.groupby("arm", sort=False):
        row = _settings(group.iloc[0]) | {
            "status": _status(group["goal"]),
            "seeds": len(group),
            "reached": int((group["goal"] == "complete").sum()),
            "epochs": group["epochs"].max(),
            "effective_lr": _effective_lr(_settings(group.iloc[0])),
            "train_s": median(group["wall_s"].to_numpy(float)).value,
            "rounds": group["rounds"].max(),
            "sent_bytes": group["sent_bytes"].max(),
            "runs": " ".join(group["run"]),
        }
        for name in MEASURES:
            estimate = _over_seeds(group[name])
            row |= {
                name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high,
            }  # fmt: skip
        rows.append(row)
    return as_table(rows, COLUMNS)


def curves(trials: pd.DataFrame, evaluations: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return test accuracy of each arm at each evaluation: median and interval over the seeds.

    `seconds` is the median over seeds of the time in training so far.
    """
    found = averaging_trials(trials, evaluations, runs)
    keys = trials[["run", "trial", "arm", "role"]]
    named = evaluations.merge(keys[keys["role"] == "arm"], on=["run", "trial"])
    rows: list[dict[str, Any]] = []
    for arm, group in found.groupby("arm", sort=False):
        own = named[(named["arm"] == arm) & named["run"].isin(group["run"])]
        first = group.iloc[0]
        for epoch, points in own.groupby("epoch"):
            estimate = _over_seeds(points["test_accuracy_frac"])
            rows.append({
                "arm": arm, "optimizer": first["optimizer"], "epoch": epoch,
                "label": label(first),
                "seconds": median(points["wall_s"].to_numpy(float)).value, "seeds": len(points),
                "test_accuracy_frac": estimate.value, "test_accuracy_frac_low": estimate.low,
                "test_accuracy_frac_high": estimate.high, "lr": first["lr"],
                "target_accuracy_frac": first["target_accuracy_frac"],
                "median_of": first["median_of"], "runs": " ".join(points["run"]),
            })  # fmt: skip
    return as_table(rows, CURVE_COLUMNS)
