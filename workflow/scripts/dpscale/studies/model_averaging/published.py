"""What is published on S3, and what the measured intervals say of it.

Koliousis et al., CROSSBOW: Scaling Deep Learning with Small Batch Sizes on Multi-GPU Servers,
VLDB 2019: time to accuracy 1.3 to 4 times shorter than TensorFlow's synchronous SGD on 8 GPUs
(abstract), and throughput that rises with learners on a GPU until it is saturated (section 5).
"""

from typing import Any

import pandas as pd

from dpscale.derive.columns import Columns, as_table, texts
from dpscale.derive.published import CLAIM_COLUMNS, claim_row
from dpscale.derive.statistics import Estimate, interval_columns

SOURCE = "Koliousis et al. 2019, doi:10.14778/3342263.3342276"
SPEEDUP_RATIO = (1.3, 4.0)
# One learner of the same stack, and what one would train without a stack.
BASES = {"against_one_ratio": "one", "against_plain_ratio": "the network by itself"}
COLUMNS: Columns = CLAIM_COLUMNS | texts("arm subject against status")


def published(averaging_pairs: pd.DataFrame, learners: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each published claim and arm or cell that it can be set beside.

    claim "time_to_accuracy": model averaging reaches the target sooner than SGD with the large
    batch; measured is the ratio of seconds. claim "throughput": the most learners against one of
    the stack, and against the network trained without a stack.
    """
    pairs = averaging_pairs[
        averaging_pairs["against"].isin(["sgd_large", "sgd_large_linear"])
        & averaging_pairs["arm"].str.startswith("sma")
    ]
    stacked = learners[learners["stacked"].fillna(False)]
    most = stacked.groupby(["model", "per_learner_batch"], sort=False)["learners"].idxmax()
    cells = [row for _, row in stacked.loc[most].iterrows()]
    rows = [_sooner(pair) for _, pair in pairs.iterrows()]
    rows += [_faster(row, base) for row in cells for base in BASES if pd.notna(row[base])]
    return as_table(rows, COLUMNS)


def _measured(row: pd.Series, column: str) -> Estimate:
    return Estimate(row[column], row[f"{column}_low"], row[f"{column}_high"], 0)


def _sooner(pair: pd.Series) -> dict[str, Any]:
    """The claim of two arms, judged by seconds saved: where a seed never reached the target, the
    ratio is unknown, and they are bounded."""
    low, high = SPEEDUP_RATIO
    saved = Estimate(None, -pair["seconds_difference_high"], -pair["seconds_difference_low"], 0)
    row = claim_row(
        "time_to_accuracy", "sign", published=(low + high) / 2, source=SOURCE, measured=saved,
        arm=pair["arm"], subject=pair["label"], against=pair["against_label"],
        status=pair["status"], runs=pair["runs"],
    )  # fmt: skip
    shown = interval_columns("measured", _measured(pair, "seconds_ratio"))
    return row | {"published_low": low, "published_high": high} | shown


def _faster(row: pd.Series, base: str) -> dict[str, Any]:
    """The claim of the most learners: for these models the sign alone is published."""
    return claim_row(
        "throughput", "above", published=1.0, source=SOURCE, measured=_measured(row, base),
        subject=f"{row['model']}, b = {row['per_learner_batch']}", status=row["status"],
        against=f"{row['learners']} learners against {BASES[base]}", runs=row["runs"],
    )  # fmt: skip
