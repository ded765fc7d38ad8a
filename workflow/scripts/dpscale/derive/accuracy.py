"""Accuracy: the curves of every training arm over seeds, and how far two arms are apart.

An accuracy on test images carries their sampling beside the seeds; a loss, and an accuracy on the
images that a model was trained with, are of all images there are.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import pandas as pd

from dpscale.derive.cells import combined_status, first_known
from dpscale.derive.columns import as_table
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import interval_columns, median, seeds_apart
from dpscale.derive.trainings import MEASURES, TEST, by_epoch, evaluations, tested_apart, trained
from dpscale.derive.verdicts import side
from dpscale.records.columns import Columns, columns, intervals

LEARNT = 0.9995  # of the training images: prints as 100%
COLUMNS: Columns = (
    columns("study arm workers per_worker_batch global_batch status lr epochs epoch seeds")
    | intervals(" ".join(MEASURES))
    | columns("epoch_s runs nodes train_samples message learnt")
)
ARM = ["study", "arm", "workers", "nodes", "per_worker_batch", "global_batch", "lr", "epochs"]


def _status(statuses: pd.Series) -> str:
    """Return "diverged" when any run of the arm did, else the cells' rule."""
    return "diverged" if (statuses == "diverged").any() else combined_status(statuses)


def accuracy(trials: pd.DataFrame, curves: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each (study, arm, epoch) of the training runs, medians over seeds.

    Losses are means over an epoch's samples, accuracies fractions; learnt: all training images are,
    so that no other arm can stand out by them. A diverged arm has rows up to its last epoch, values
    null where any seed's is not finite; an arm without a record is one row
    with its status, epoch null. `runs` names the runs behind the row.
    Raises MixedMachinesError for runs of different machines.
    """
    training = runs[runs["kind"] == "training"]
    require_same_machine(training)
    seen = evaluations(trained(trials, training), curves)
    rows: list[dict[str, Any]] = []
    for key, group in training.groupby(ARM, dropna=False, sort=False):
        arm = dict(zip(ARM, key, strict=True)) | {
            "status": _status(group["status"]),
            "train_samples": first_known(group["train_samples"]),
            "message": " ".join(group["message"].dropna().unique()) or None,
            "runs": " ".join(group["run"]),
        }
        own = seen[seen["run"].isin(group["run"])]
        if own.empty:
            rows.append(arm)
        for row in by_epoch(own):
            steps_s = own.loc[own["epoch"] == row["epoch"], "steps_s"].to_numpy(float)
            row["learnt"] = (row["train_accuracy_frac"] or 0.0) >= LEARNT
            rows.append(arm | row | {"epoch_s": median(steps_s).value, "lr": arm["lr"]})
    return as_table(rows, COLUMNS)


COMPARED = {
    "train_loss": "train_loss_difference",
    "train_accuracy_frac": "train_accuracy_difference_frac",
    TEST: "test_accuracy_difference_frac",
}
DIFFERENCES: Columns = (
    columns("arm base epoch base_epoch seeds")
    | intervals(" ".join(COMPARED.values()))
    | columns("status runs base_runs")
    | side("train_loss_side", "train_loss_difference")
    | side("train_accuracy_side", "train_accuracy_difference_frac")
    | side("test_accuracy_side", "test_accuracy_difference_frac")
)


class Pair(NamedTuple):
    """Two arms to compare, each after an epoch (None: after its last one)."""

    arm: str
    base: str
    epoch: int | None = None
    base_epoch: int | None = None


def differences(
    pairs: Iterable[Pair], trials: pd.DataFrame, curves: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return one row for each pair: arm less base, medians over seeds, paired by seed and image.

    runs: of one study; a pair of which it plans an arm not at all has no row. Without a finite
    value of every seed of both, and where an arm did not come to its end, a difference is null.
    """
    rows = []
    seen = evaluations(trained(trials, runs), curves)
    for pair in pairs:
        one, other = (runs[runs["arm"] == arm] for arm in (pair.arm, pair.base))
        if len(one) and len(other):
            row = pair._asdict() | {
                "runs": " ".join(one["run"]),
                "base_runs": " ".join(other["run"]),
            }
            lost = [
                end for end in map(_status, (one["status"], other["status"])) if end != "complete"
            ]
            row["status"] = lost[0] if lost else "complete"
            after = _after(seen, one, pair.epoch), _after(seen, other, pair.base_epoch)
            images = first_known(one["test_samples"])
            rows.append(row | ({} if lost else _apart(*after, images)))
    return as_table(rows, DIFFERENCES)


def _after(seen: pd.DataFrame, runs: pd.DataFrame, epoch: int | None) -> pd.DataFrame:
    """Return each seed of some runs after an epoch, or after the last one."""
    own = seen[seen["run"].isin(runs["run"])]
    return own[own["epoch"] == (own["epoch"].max() if epoch is None else epoch)].set_index("seed")


def _apart(one: pd.DataFrame, other: pd.DataFrame, test_images: int | None) -> dict[str, Any]:
    """Return what one arm's seeds have more than those of another, and after which epochs."""
    row: dict[str, Any] = {"seeds": min(len(one), len(other))}
    row |= {"epoch": one["epoch"].max(), "base_epoch": other["epoch"].max()}
    for name, column in COMPARED.items():
        found = seeds_apart(one[name], other[name])
        if name == TEST:
            found = tested_apart(one, other, test_images)
        row |= interval_columns(column, found)
    return row
