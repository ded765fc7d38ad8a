"""Trainings of S3 one by one: when each reached its target, and where it ended."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpscale.derive.cells import in_study
from dpscale.derive.columns import known
from dpscale.derive.same_machine import require_same_machine

STUDY = "model_averaging"
ARM = [
    "arm", "optimizer", "model", "learners", "per_learner_batch", "global_batch", "lr",
    "momentum", "alpha", "local_steps", "target_accuracy_frac", "median_of",
]  # fmt: skip


def label(arm: Mapping[str, Any]) -> str:
    """Return an arm in words: what trains, on which batches, at which rate."""
    if arm["optimizer"] == "sgd":
        return f"SGD, B = {arm['global_batch']}, γ = {arm['lr']:g}"
    return (
        f"{arm['learners']} learners, b = {arm['per_learner_batch']}, γ = {arm['lr']:g}, "
        f"α = {arm['alpha']:g}"
    )


class Reached(NamedTuple):
    """Where a curve first reaches its target."""

    epoch: float
    wall_s: float


def reached(curve: pd.DataFrame, target: float, median_of: int) -> Reached | None:
    """Return where the median of the last `median_of` test accuracies first reaches the target.

    curve: evaluations of one trial in their order; target: a fraction. One lucky evaluation is
    not enough. None where the target is never reached, or the curve is shorter than the median.
    """
    accuracies = curve["test_accuracy_frac"].to_numpy(dtype=float, na_value=np.nan)
    for end in range(median_of, len(accuracies) + 1):
        # The median of values of which one is not a number is none either, and reaches nothing.
        if np.median(accuracies[end - median_of : end]) >= target:
            row = curve.iloc[end - 1]
            return Reached(float(row["epoch"]), float(row["wall_s"]))
    return None


def averaging_trials(
    trials: pd.DataFrame, evaluations: pd.DataFrame, runs: pd.DataFrame, role: str = "arm"
) -> pd.DataFrame:
    """Return one row for each training of the study in a role, with the columns of ARM and

    run, seed, status, goal ("complete" where the target was reached, "incomplete" where not,
    "diverged"), epochs_to_target and seconds_to_target (null unless reached), final accuracies
    and loss, the whole training's epochs and wall_s, and rounds and sent_bytes.
    Raises MixedMachinesError for runs of different machines.
    """
    own = in_study(runs[runs["kind"] == "averaging"], STUDY)
    require_same_machine(own)
    chosen = trials[trials["run"].isin(own["run"]) & (trials["role"] == role)]
    curves = dict(list(evaluations.groupby(["run", "trial"])))
    rows = [_row(trial, curves[trial["run"], trial["trial"]]) for _, trial in chosen.iterrows()]
    return pd.DataFrame(rows, columns=_columns())


def _columns() -> list[str]:
    measured = "epochs_to_target seconds_to_target final_test_accuracy_frac "
    measured += "final_validation_accuracy_frac validation_mean_frac final_train_loss epochs "
    return ["run", "seed", "status", "goal", *ARM, *measured.split(), "wall_s", "rounds",
            "sent_bytes"]  # fmt: skip


def _row(trial: pd.Series, curve: pd.DataFrame) -> dict[str, Any]:
    curve = curve.sort_values("step")
    found = reached(curve, trial["target_accuracy_frac"], int(trial["median_of"]))
    if trial["status"] == "diverged":
        goal, found = "diverged", None
    else:
        goal = "complete" if found else "incomplete"
    last = curve.iloc[-1]
    validation = curve["validation_accuracy_frac"].to_numpy(dtype=float, na_value=np.nan)
    names = ["run", "seed", "status", *ARM, "wall_s", "rounds", "sent_bytes"]
    return {name: known(trial[name]) for name in names} | {
        "goal": goal,
        "epochs_to_target": found.epoch if found else None,
        "seconds_to_target": found.wall_s if found else None,
        "final_test_accuracy_frac": known(last["test_accuracy_frac"]),
        "final_validation_accuracy_frac": known(last["validation_accuracy_frac"]),
        "final_train_loss": known(last["train_loss"]),
        "validation_mean_frac": float(np.mean(validation)),
        "epochs": known(last["epoch"]),
    }
