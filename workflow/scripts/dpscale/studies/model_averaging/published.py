"""What is published on S3, and what the measured intervals say of it.

Koliousis et al., CROSSBOW: Scaling Deep Learning with Small Batch Sizes on Multi-GPU Servers,
VLDB 2019: time to accuracy 1.3 to 4 times shorter than TensorFlow's synchronous SGD on 8 GPUs
(abstract), and throughput that rises with learners on a GPU until it is saturated (section 5).
"""

from typing import Any

import pandas as pd

from dpscale.derive.columns import as_table
from dpscale.derive.published import CLAIM_COLUMNS, claim_row, other_devices
from dpscale.derive.statistics import estimate_of
from dpscale.records.columns import Columns, columns

SOURCE = "Koliousis et al. 2019, doi:10.14778/3342263.3342276"
SPEEDUP_RATIO = (1.3, 4.0)
COLUMNS: Columns = CLAIM_COLUMNS | columns("arm subject against status")


def published(
    averaging_pairs: pd.DataFrame, learners: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return one row for each published claim and arm or cell that it can be set beside.

    claim "time_to_accuracy": how many times sooner model averaging at a rate of its own (where it
    has one) reaches the target than SGD with the large batch. claim "throughput": the most
    learners on a device against one of the stack. Speeds of other devices are not judged.
    """
    pairs = averaging_pairs[
        averaging_pairs["against"].isin(["sgd_large", "sgd_large_linear"])
        & averaging_pairs["arm"].str.startswith("sma")
    ]
    own_rate = pairs["arm"].str.startswith("sma_tuned")
    stacked = learners[learners["stacked"].fillna(False)]
    most = stacked.groupby(["model", "per_learner_batch"], sort=False)["learners"].idxmax()
    rows = [
        _sooner(pair, _why_not(runs, pair["runs"], several=True))
        for _, pair in (pairs[own_rate] if own_rate.any() else pairs).iterrows()
    ]
    rows += [
        _faster(row, _why_not(runs, row["runs"], several=False))
        for _, row in stacked.loc[most].iterrows()
    ]
    return as_table(rows, COLUMNS)


def _why_not(runs: pd.DataFrame, names: str, *, several: bool) -> str | None:
    """Return why the speeds of some runs are not of the kind published: GPUs, or `several`."""
    run = runs[runs["run"] == names.split()[0]].iloc[0]
    if (reason := other_devices(run["device"], run["oversubscribed"])) is not None:
        return reason
    return "published for 8 GPUs, measured on one" if several and run["workers"] < 2 else None


def _sooner(pair: pd.Series, reason: str | None) -> dict[str, Any]:
    """The claim of two arms; undecided where a seed never reached the target."""
    return claim_row(
        "time_to_accuracy",
        "range",
        published=sum(SPEEDUP_RATIO) / 2,
        ends=SPEEDUP_RATIO,
        source=SOURCE,
        measured=estimate_of(pair, "seconds_ratio"),
        reason=reason,
        arm=pair["arm"],
        subject=pair["label"],
        against=pair["against_label"],
        status=pair["status"],
        runs=pair["runs"],
    )


def _faster(row: pd.Series, reason: str | None) -> dict[str, Any]:
    """The claim of the most learners: for these models the sign alone is published."""
    return claim_row(
        "throughput",
        "above",
        published=1.0,
        source=SOURCE,
        reason=reason,
        measured=estimate_of(row, "against_one_ratio"),
        status=row["status"],
        subject=f"{row['model']}, b = {row['per_learner_batch']}",
        against=f"{row['learners']} learners against one",
        runs=row["runs"],
    )
