"""Trainings of any study: their ends, their curves, and medians of them over seeds.

An accuracy on test images carries their sampling beside the seeds; a loss, and an accuracy on the
images that a model was trained with, are of all images there are.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpscale.derive.columns import known
from dpscale.derive.statistics import (
    Estimate,
    interval_columns,
    on_same_images,
    over_seeds,
    seeds_apart,
)
from dpscale.records.bits import unpacked

TRIAL = ["run", "trial"]
TEST = "test_accuracy_frac"
MEASURES = ["train_loss", "train_accuracy_frac", "validation_accuracy_frac", TEST]
# Columns that the tables share without meaning the same.
_OF_STEPS = ["step", "lr", "wall_s"]


def trained(trials: pd.DataFrame, runs: pd.DataFrame, role: str = "arm") -> pd.DataFrame:
    """Return the trials of some runs in a role; images: of their test set."""
    images = runs.set_index("run")["test_samples"]
    chosen = trials[trials["run"].isin(images.index) & (trials["role"] == role)]
    return chosen.assign(images=chosen["run"].map(images)).reset_index(drop=True)


def ends(trained: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """Return the trials in their order, with the columns of the last evaluation of each.

    Null where there was none, and the values of one that diverged at its end.
    """
    last = curves.sort_values("step").groupby(TRIAL).tail(1).drop(columns=_OF_STEPS)
    return trained.merge(last, how="left", on=TRIAL)


def evaluations(trained: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """Return the curves of the trials in the order of their steps, with the trials' columns.

    lr: of the steps before an evaluation; seconds: in training so far.
    """
    made = curves[curves["run"].isin(trained["run"])].sort_values([*TRIAL, "step"], kind="stable")
    made = made.assign(seconds=made.groupby(TRIAL)["wall_s"].cumsum())
    return trained.drop(columns=["lr", "wall_s"]).merge(made, on=TRIAL)


def over_trials(rows: pd.DataFrame, measures: Iterable[str] = MEASURES) -> dict[str, Any]:
    """Return medians and intervals over seeds; unknown unless every row has a finite value.

    rows: a trial each, with `images` of the test set.
    """
    images = known(rows["images"].max())
    return {
        column: value
        for name in measures
        for column, value in interval_columns(
            name,
            over_seeds(rows[name], images if name == TEST else None, share=name.endswith("_frac")),
        ).items()
    }


def tested_apart(one: pd.DataFrame, other: pd.DataFrame, images: float | None) -> Estimate:
    """Return by how much the test accuracy of an arm is above that of another, median less median.

    Paired by seed, and by image where it is known of every trial which are right; else the arms
    count as tested on images of their own. one, other: trials by seed; images: of the test set.
    """
    found = seeds_apart(one[TEST], other[TEST], images)
    right, base = (_right(arm.sort_index(), images) for arm in (one, other))
    if found.value is None or right is None or base is None:
        return found
    if found.repeats < 2 or set(one.index) != set(other.index):
        return found
    return on_same_images(found.value, right.astype(float) - base)


def _right(trials: pd.DataFrame, images: float | None) -> np.ndarray | None:
    """Which images [trials, images] are answered right; None where that is not known of all."""
    texts = trials["test_right"]
    if not images or texts.isna().any():
        return None
    return np.array([unpacked(text, int(images)) for text in texts])


def by_epoch(
    evaluations: pd.DataFrame, measures: Sequence[str] = MEASURES
) -> Iterator[dict[str, Any]]:
    """Yield a row each epoch of an arm's trials: medians over those that were evaluated then.

    seconds is the median of what they trained so far, lr their rate.
    """
    for epoch, rows in evaluations.groupby("epoch"):
        yield over_trials(rows, measures) | {
            "epoch": epoch,
            "seeds": len(rows),
            "runs": " ".join(rows["run"].unique()),
            "seconds": rows["seconds"].median(),
            "lr": rows["lr"].iloc[0],
        }


def time_to_target(
    curve: pd.DataFrame, target_frac: float, median_of: int
) -> tuple[float, float] | None:
    """Return at which epoch and after how many seconds a trial first reached a test accuracy.

    The median of the last `median_of` evaluations has to: one lucky one is not enough. curve: the
    evaluations of the trial in their order. None where the target is never reached, or the curve
    is shorter than the median.
    """
    # A median of values of which one is not a number is none either, and reaches nothing.
    medians = curve[TEST].astype(float).rolling(median_of).median()
    points = curve.loc[medians >= target_frac, ["epoch", "seconds"]]
    return next(points.itertuples(index=False, name=None), None)
