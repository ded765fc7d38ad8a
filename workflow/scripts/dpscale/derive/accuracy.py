"""Accuracy: the curves of every training arm, median and interval over seeds."""

from typing import Any

import numpy as np
import pandas as pd

from dpscale.derive.cells import combined_status, first_known
from dpscale.derive.columns import Columns, as_table, floats, integers, known, texts
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import UNKNOWN, Estimate, median

MEASURES = ["train_loss", "train_accuracy_frac", "validation_accuracy_frac", "test_accuracy_frac"]
COLUMNS: Columns = (
    texts("study arm")
    | integers("workers per_worker_batch global_batch")
    | texts("status")
    | floats("lr")
    | integers("epochs epoch seeds")
    | floats(" ".join(f"{name} {name}_low {name}_high" for name in MEASURES))
    | floats("epoch_s")
    | texts("runs")
    | integers("nodes train_samples")
    | texts("message")
)
ARM = ["study", "arm", "workers", "nodes", "per_worker_batch", "global_batch", "lr", "epochs"]


def _over_seeds(values: pd.Series) -> Estimate:
    """Return the median over seeds; unknown when any seed's value is not finite.

    A median of the seeds that did not diverge would praise an arm for its luckiest seeds.
    """
    array = values.to_numpy(dtype=float, na_value=np.nan)
    return median(array) if np.isfinite(array).all() else UNKNOWN


def _epoch_row(epoch: int, group: pd.DataFrame) -> dict[str, Any]:
    seeds = len(group[["run", "seed"]].drop_duplicates())
    row: dict[str, Any] = {"epoch": epoch, "seeds": seeds}
    for name in MEASURES:
        estimate = _over_seeds(group[name])
        row |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return row | {"epoch_s": median(group["epoch_s"].to_numpy(dtype=float, na_value=np.nan)).value}


def _status(statuses: pd.Series) -> str:
    """Return "diverged" when any run of the arm did, else the cells' rule."""
    return "diverged" if (statuses == "diverged").any() else combined_status(statuses)


def accuracy(epochs: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each (study, arm, epoch) of the training runs, medians over seeds.

    Losses are means over an epoch's samples, accuracies fractions. A diverged arm has rows up to
    its last epoch, values null where any seed's is not finite; an arm without a record is one row
    with its status, epoch null. `runs` names the runs behind the row.
    Raises MixedMachinesError for runs of different machines.
    """
    training = runs[runs["kind"] == "training"]
    require_same_machine(training)
    rows: list[dict[str, Any]] = []
    for key, group in training.groupby(ARM, dropna=False, sort=False):
        arm = dict(zip(ARM, key, strict=True)) | {
            "status": _status(group["status"]),
            "train_samples": first_known(group["train_samples"]),
            "message": " ".join(group["message"].dropna().unique()) or None,
            "runs": " ".join(group["run"]),
        }
        curves = epochs[epochs["run"].isin(group["run"])]
        if curves.empty:
            rows.append(arm)
        for epoch, of_epoch in curves.groupby("epoch"):
            names = " ".join(of_epoch["run"].unique())
            rows.append(arm | _epoch_row(int(known(epoch)), of_epoch) | {"runs": names})
    return as_table(rows, COLUMNS)
