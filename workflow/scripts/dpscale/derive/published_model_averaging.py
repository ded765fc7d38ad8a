"""What is published on S3, and what the measured intervals say of it.

Koliousis et al., CROSSBOW: Scaling Deep Learning with Small Batch Sizes on Multi-GPU Servers,
VLDB 2019, doi:10.14778/3342263.3342276: time to accuracy 1.3 to 4 times shorter than
TensorFlow's synchronous SGD on 8 GPUs (abstract), and throughput that rises with learners on a
GPU until it is saturated (section 5).
"""

from typing import Any

import pandas as pd

from dpscale.derive.columns import Columns, as_table, floats, known, texts
from dpscale.derive.verdicts import direction

SOURCE = "Koliousis et al. 2019, doi:10.14778/3342263.3342276"
SPEEDUP_RATIO = (1.3, 4.0)
MORE = 1.0  # more learners give more throughput: the sign alone is published for these models
# One learner of the same stack, and what one would train without a stack.
BASES = {"against_one_ratio": "one", "against_plain_ratio": "the network by itself"}
COLUMNS: Columns = (
    texts("claim arm subject against")
    | floats("published_low published_high")
    | floats("measured measured_low measured_high")
    | texts("verdict status source runs")
)
AGAINST = ("sgd_large", "sgd_large_linear")


def published(averaging_pairs: pd.DataFrame, learners: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each published claim and arm or cell that it can be set beside.

    claim "time_to_accuracy": model averaging reaches the target sooner than SGD with the large
    batch; measured is the ratio of seconds, the verdict that of their difference, which unlike
    the ratio is bounded where a seed never reached the target. claim "throughput": the most
    learners against one of the stack, and against the network trained without a stack.
    """
    return as_table([*_times(averaging_pairs), *_throughputs(learners)], COLUMNS)


def _times(averaging_pairs: pd.DataFrame) -> list[dict[str, Any]]:
    rows = averaging_pairs[
        averaging_pairs["against"].isin(AGAINST)
        & averaging_pairs["arm"].str.startswith("sma")
    ]  # fmt: skip
    return [
        {
            "claim": "time_to_accuracy",
            "arm": row["arm"],
            "subject": row["label"],
            "against": row["against_label"],
            "published_low": SPEEDUP_RATIO[0],
            "published_high": SPEEDUP_RATIO[1],
            "measured": row["seconds_ratio"],
            "measured_low": row["seconds_ratio_low"],
            "measured_high": row["seconds_ratio_high"],
            "verdict": direction(
                known(row["seconds_difference_low"]), known(row["seconds_difference_high"]), -1.0
            ),
            "status": row["status"],
            "source": SOURCE,
            "runs": row["runs"],
        }
        for _, row in rows.iterrows()
    ]


def _throughputs(learners: pd.DataFrame) -> list[dict[str, Any]]:
    rows = []
    timed = learners[learners["stacked"].fillna(False).astype(bool)]
    for (model, batch), cell in timed.groupby(["model", "per_learner_batch"], sort=False):
        row = cell.loc[cell["learners"].idxmax()]
        for column, base in BASES.items():
            if known(row[column]) is None:
                continue
            low, high = (known(row[f"{column}_{end}"]) for end in ("low", "high"))
            above = [None if end is None else end - 1 for end in (low, high)]
            rows.append({
                "claim": "throughput", "subject": f"{model}, b = {batch}",
                "against": f"{row['learners']} learners against {base}",
                "measured": row[column], "measured_low": low, "measured_high": high,
                "verdict": direction(above[0], above[1], MORE),
                "status": row["status"], "source": SOURCE, "runs": row["runs"],
            })  # fmt: skip
    return rows
