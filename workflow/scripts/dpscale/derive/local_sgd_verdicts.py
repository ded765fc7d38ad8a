"""S4 beside the published results: differences of arms, paired by seed, and their verdicts."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from dpscale.derive.columns import Columns, as_table, floats, integers, texts
from dpscale.derive.local_sgd import accuracy_difference, last_evaluations, results
from dpscale.derive.published_local_sgd import PUBLISHED
from dpscale.derive.statistics import interval_columns
from dpscale.derive.verdicts import direction

COLUMNS: Columns = (
    floats("label_noise_frac")
    | texts("comparison minuend subtrahend dataset")
    | floats("published_frac published_difference_frac")
    | floats("difference_frac difference_frac_low difference_frac_high")
    | integers("seeds")
    | texts("verdict runs")
)
# comparison: published names of what is compared
COMPARISONS = {
    "post-local against large": ("post-local H=16", "large"),
    "post-local against small": ("post-local H=16", "small"),
    "small against large": ("small", "large"),
    "more local steps": ("post-local H=32", "post-local H=16"),
}


def local_steps_of(arm: str) -> int:
    """Return H of an arm named as `A5 H=16`; 1 for one without."""
    found = re.search(r"H=(\d+)$", arm)
    return int(found[1]) if found else 1


def measured_arms(comparison: str, arms: Sequence[str]) -> tuple[str, str] | None:
    """Return the arms that stand for what a comparison compares; None where one is lacking.

    Post-local SGD is the arm with the H of the publication, else that of the fewest local steps;
    "more local steps" compares the arms of most and of fewest.
    """
    post = sorted((arm for arm in arms if arm.startswith("A5")), key=local_steps_of)
    if not post:
        return ("A1", "A2") if comparison == "small against large" else None
    usual = next((arm for arm in post if local_steps_of(arm) == 16), post[0])
    pairs = {
        "post-local against large": (usual, "A2"),
        "post-local against small": (usual, "A1"),
        "small against large": ("A1", "A2"),
        "more local steps": (post[-1], post[0]),
    }
    one, other = pairs[comparison]
    return (one, other) if one != other and {one, other} <= set(arms) else None


def _rows(last: pd.DataFrame, chosen: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for noise, trained in chosen.groupby("label_noise_frac"):
        arms = list(trained["arm"].unique())
        of_regime = last[last["label_noise_frac"] == noise]
        for comparison, (first, second) in COMPARISONS.items():
            pair = measured_arms(comparison, arms)
            if pair is None:
                continue
            found = accuracy_difference(of_regime, trained, *pair)
            for dataset, accuracies in PUBLISHED.items():
                published = accuracies[first].mean_frac - accuracies[second].mean_frac
                yield {
                    "label_noise_frac": noise, "comparison": comparison, "minuend": pair[0],
                    "subtrahend": pair[1], "dataset": dataset,
                    "published_frac": accuracies[first].mean_frac,
                    "published_difference_frac": published,
                    **interval_columns("difference_frac", found), "seeds": found.repeats,
                    "verdict": direction(found.low, found.high, published),
                    "runs": " ".join(trained.loc[trained["arm"].isin(pair), "run"].unique()),
                }  # fmt: skip


def published_local_sgd(
    trials: pd.DataFrame, evaluations: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return measured differences of test accuracy beside the published ones, with verdicts.

    Differences of medians paired by seed; a verdict concerns the direction alone, since network
    and data differ. Published figures: `published_local_sgd.py`.
    """
    chosen = results(trials, runs)
    return as_table(_rows(last_evaluations(chosen, evaluations), chosen), COLUMNS)
