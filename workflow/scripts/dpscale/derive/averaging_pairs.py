"""S3: arms against each other, seed by seed."""

from itertools import combinations
from typing import Any

import pandas as pd

from dpscale.derive.averaging_trials import averaging_trials, label
from dpscale.derive.columns import Columns, as_table, floats, integers, texts
from dpscale.derive.statistics import (
    UNKNOWN,
    Estimate,
    paired_median_difference,
    paired_median_ratio,
)

DIFFERENCES = ["epochs_difference", "seconds_difference", "accuracy_difference_frac"]
COLUMNS: Columns = (
    texts("arm against status label against_label")
    | integers("seeds both_reached")
    | floats(" ".join(f"{name} {name}_low {name}_high" for name in DIFFERENCES))
    | floats("seconds_ratio seconds_ratio_low seconds_ratio_high")
    | texts("runs")
)
# Whole training of a seed, which a target that was not reached lies beyond.
BUDGETS = {"epochs_to_target": "epochs", "seconds_to_target": "wall_s"}


def to_target_difference(own: pd.DataFrame, other: pd.DataFrame, column: str) -> Estimate:
    """Return how much later an arm reaches its target than another, paired by seed.

    own, other: trials indexed by seed; column: a key of BUDGETS. Where a seed never reached the
    target there is no value; but the target lies beyond its whole training, which bounds the
    difference. The interval of the bounds is returned where it alone decides which arm is sooner.
    """
    mine, theirs = own[column], other[column]
    if mine.notna().all() and theirs.notna().all():
        return paired_median_difference(mine, theirs)
    if own["status"].eq("diverged").any() or other["status"].eq("diverged").any():
        return UNKNOWN
    if mine.notna().all():  # sooner, if even the other's whole training was longer
        bound = paired_median_difference(mine, theirs.fillna(other[BUDGETS[column]]))
        decided = bound.high is not None and bound.high < 0
    elif theirs.notna().all():
        bound = paired_median_difference(mine.fillna(own[BUDGETS[column]]), theirs)
        decided = bound.low is not None and bound.low > 0
    else:
        return UNKNOWN
    return Estimate(None, bound.low, bound.high, bound.repeats) if decided else UNKNOWN


def pairs(trials: pd.DataFrame, evaluations: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each two arms: the later one in the table against the earlier.

    Differences are of medians, arm minus `against`, resampled by seed; the ratio is the other's
    seconds to the target over the arm's, above 1 where the arm is faster. status: "complete"
    where every seed of both reached the target.
    """
    found = averaging_trials(trials, evaluations, runs)
    by_arm = {arm: group.set_index("seed") for arm, group in found.groupby("arm", sort=False)}
    rows = [_pair(arm, by_arm[arm], against, by_arm[against])
            for against, arm in combinations(by_arm, 2)]  # fmt: skip
    return as_table(rows, COLUMNS)


def _pair(arm: Any, own: pd.DataFrame, against: Any, other: pd.DataFrame) -> dict[str, Any]:
    reached = [one["goal"].eq("complete") for one in (own, other)]
    both = bool(reached[0].all() and reached[1].all())
    accuracy = UNKNOWN
    if own["status"].eq("complete").all() and other["status"].eq("complete").all():
        accuracy = paired_median_difference(
            own["final_test_accuracy_frac"], other["final_test_accuracy_frac"]
        )
    ratio = UNKNOWN
    if both:
        ratio = paired_median_ratio(other["seconds_to_target"], own["seconds_to_target"])
    estimates = {
        "epochs_difference": to_target_difference(own, other, "epochs_to_target"),
        "seconds_difference": to_target_difference(own, other, "seconds_to_target"),
        "accuracy_difference_frac": accuracy,
        "seconds_ratio": ratio,
    }
    row: dict[str, Any] = {
        "arm": arm, "against": against, "status": "complete" if both else "incomplete",
        "label": label(own.iloc[0]), "against_label": label(other.iloc[0]),
        "seeds": len(own), "both_reached": int((reached[0] & reached[1]).sum()),
        "runs": " ".join(dict.fromkeys([*own["run"], *other["run"]])),
    }  # fmt: skip
    for name, estimate in estimates.items():
        row |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return row
