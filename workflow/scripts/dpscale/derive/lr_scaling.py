"""S2: the error of every rule and warm-up against the global batch, beside the reference batch."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpscale.derive.cells import in_study
from dpscale.derive.columns import Columns, as_table, flags, floats, integers, known, texts
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import UNKNOWN, Estimate, median, paired_median_difference

STUDY = "lr_scaling"
SETTINGS = [
    "arm", "role", "rule", "warmup", "zero_gamma", "optimizer", "group_batch", "groups",
    "reference_groups", "global_batch", "workers", "lr", "base_lr", "margin_frac", "epochs",
    "seeds", "train_samples", "message", "expected", "status",
]  # fmt: skip
ERRORS = ["test_error_frac", "validation_error_frac", "train_loss"]
COLUMNS: Columns = (
    texts("arm role rule warmup")
    | flags("zero_gamma")
    | texts("optimizer")
    | integers("global_batch groups")
    | floats("lr")
    | texts("status")
    | floats(" ".join(f"{name} {name}_low {name}_high" for name in ERRORS))
    | floats("difference_frac difference_frac_low difference_frac_high")
    | texts("kept runs")
    | integers("seeds diverged_seeds epochs steps group_batch reference_groups workers")
    | integers("train_samples")
    | floats("base_lr margin_frac")
    | flags("reference large chosen")
    | texts("base_runs message expected")
)


class Ends(NamedTuple):
    """The end of each seed's training in one run: Series by seed, null where it diverged."""

    test_error_frac: pd.Series
    validation_error_frac: pd.Series
    train_loss: pd.Series
    steps: int | None
    diverged: int


def lr_scaling(trials: pd.DataFrame, evaluations: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each planned run of S2: its median errors over seeds, last epoch.

    Errors are fractions, train_loss the mean over the last epoch's samples. difference_frac is
    the test error less that of the reference batch, resampled in pairs of one seed; kept says
    what it means against margin_frac: "kept" where the interval ends at or below the margin,
    "lost" where it begins above it, else "undecided"; null without an interval. chosen marks,
    among the rates tried at one batch, the one of the least median validation error; large marks
    the batch at which most ways to train are compared. A run of
    which a seed diverged has no error: a median of the others would praise it.
    Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, STUDY)
    require_same_machine(planned)
    found = {run["run"]: ends(run["run"], trials, evaluations) for _, run in planned.iterrows()}
    base = _reference(planned)
    rows = [
        _row(run, found[run["run"]], found[base] if base else None) for _, run in planned.iterrows()
    ]
    large = _large_batch(rows)
    for row in rows:
        row |= {"reference": row["runs"] == base, "base_runs": base}
        row["large"] = row["global_batch"] == large
    return as_table(_chosen(rows), COLUMNS)


def ends(run: str, trials: pd.DataFrame, evaluations: pd.DataFrame) -> Ends:
    """Return how the trials of a run ended."""
    own = trials[trials["run"] == run].set_index("trial")
    curves = evaluations[evaluations["run"] == run].sort_values("step")
    last = curves.groupby("trial").last().reindex(own.index)
    whole = own["status"] == "complete"

    def of_seeds(values: pd.Series) -> pd.Series:
        """Values by seed, null where a trial did not complete."""
        kept = values.where(whole).to_numpy(dtype=float, na_value=np.nan)
        return pd.Series(kept, index=own["seed"].to_numpy())

    steps = own["steps"][whole]
    return Ends(
        of_seeds(1 - last["test_accuracy_frac"]),
        of_seeds(1 - last["validation_accuracy_frac"]),
        of_seeds(last["train_loss"]),
        int(steps.max()) if len(steps) else None,
        int((~whole).sum()),
    )


def difference(values: pd.Series, others: pd.Series) -> Estimate:
    """Return the difference of two medians over seeds; unknown where a seed of either diverged."""
    if not (_whole(values) and _whole(others)):
        return UNKNOWN
    return paired_median_difference(values, others)


def standing(low: float | None, high: float | None, margin: float) -> str | None:
    """Return whether an error is kept, lost or undecided against the reference's and a margin."""
    if low is None or high is None:
        return None
    if high <= margin:
        return "kept"
    return "lost" if low > margin else "undecided"


def _whole(values: pd.Series) -> bool:
    return len(values) > 0 and bool(values.notna().all())


def _reference(planned: pd.DataFrame) -> str | None:
    """The run of the reference batch as Goyal et al. train it: zero gamma, no search."""
    at_base = planned["groups"] == planned["reference_groups"]
    chosen = planned[at_base.fillna(False) & (planned["role"] == "arm") & planned["zero_gamma"]]
    return None if chosen.empty else str(chosen["run"].iloc[0])


def _large_batch(rows: list[dict[str, Any]]) -> int | None:
    """The batch of most arms beside the reference batch; the smallest of several."""
    batches = [
        row["global_batch"]
        for row in rows
        if row["role"] == "arm" and row["groups"] != row["reference_groups"]
    ]
    return max(sorted(set(batches)), key=batches.count, default=None)


def _row(run: pd.Series, own: Ends, base: Ends | None) -> dict[str, Any]:
    row = {name: known(run[name]) for name in SETTINGS} | {"runs": run["run"]}
    if row["status"] == "complete" and own.diverged:
        row["status"] = "diverged"
    for name in ERRORS:
        values = getattr(own, name)
        estimate = median(values) if _whole(values) else UNKNOWN
        row |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    apart = UNKNOWN if base is None else difference(own.test_error_frac, base.test_error_frac)
    return row | {
        "difference_frac": apart.value,
        "difference_frac_low": apart.low,
        "difference_frac_high": apart.high,
        "kept": standing(apart.low, apart.high, row["margin_frac"]),
        "steps": own.steps,
        "diverged_seeds": own.diverged,
    }


def _chosen(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, each told whether its rate is the best on validation data of those tried."""
    for row in rows:
        rivals = [other for other in rows if _rival(row, other)]
        searched = any(other["role"] == "search" for other in rivals)
        errors = [other["validation_error_frac"] for other in rivals]
        if not searched or None in errors:
            continue
        row["chosen"] = row is min(rivals, key=lambda other: other["validation_error_frac"])
    return rows


def _rival(row: dict[str, Any], other: dict[str, Any]) -> bool:
    same = ("optimizer", "global_batch", "zero_gamma")
    searched_at_base = other["groups"] == other["reference_groups"] or other["role"] == "search"
    return all(row[name] == other[name] for name in same) and searched_at_base
