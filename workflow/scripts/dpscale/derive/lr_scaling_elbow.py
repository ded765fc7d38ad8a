"""S2: the elbow, up to which batch a rule keeps the error of the reference batch."""

from typing import Any

import pandas as pd

from dpscale.derive.columns import Columns, as_table, floats, integers, known, texts

COLUMNS: Columns = (
    texts("rule")
    | integers("reference_batch elbow_batch lost_batch largest_batch")
    | floats("elbow_ratio margin_frac")
    | texts("status runs base_runs")
)


def elbow(lr_scaling: pd.DataFrame) -> pd.DataFrame:
    """Return for each rule the elbow of the error against the batch.

    A rule's series are its SGD runs with gradual warm-up and zero gamma, and the reference.
    elbow_batch is the largest batch up to which every one kept the reference's error (the
    reference itself, where the next did not); lost_batch the smallest that lost it, null where
    none did; elbow_ratio is the elbow over the reference batch. Null without the reference.
    status: "complete", else that of the first run of the series that has no error.
    """
    reference = lr_scaling[lr_scaling["reference"].fillna(False).astype(bool)]
    if reference.empty:
        return as_table([], COLUMNS)
    base = reference.iloc[0]
    series = lr_scaling[
        (lr_scaling["role"] == "arm")
        & (lr_scaling["optimizer"] == "sgd")
        & (lr_scaling["warmup"] == "gradual")
        & lr_scaling["zero_gamma"].fillna(False).astype(bool)
        & (lr_scaling["global_batch"] > base["global_batch"])
    ]
    return as_table(
        [_row(str(rule), own, base) for rule, own in series.groupby("rule", sort=False)], COLUMNS
    )


def _row(rule: str, own: pd.DataFrame, base: pd.Series) -> dict[str, Any]:
    own = own.sort_values("global_batch")
    kept, lost, ended = int(base["global_batch"]), None, False
    for _, row in own.iterrows():
        standing = known(row["kept"])
        ended = ended or standing != "kept"
        if not ended:
            kept = int(row["global_batch"])
        if lost is None and (standing == "lost" or row["status"] == "diverged"):
            lost = int(row["global_batch"])
    without = [row for _, row in own.iterrows() if row["status"] not in ("complete", "diverged")]
    measured = known(base["test_error_frac"]) is not None and not without
    return {
        "rule": rule,
        "reference_batch": base["global_batch"],
        "elbow_batch": kept if measured else None,
        "lost_batch": lost if measured else None,
        "largest_batch": int(own["global_batch"].max()),
        "elbow_ratio": kept / base["global_batch"] if measured else None,
        "margin_frac": base["margin_frac"],
        "status": without[0]["status"] if without else base["status"],
        "runs": " ".join(own["runs"]),
        "base_runs": base["runs"],
    }
