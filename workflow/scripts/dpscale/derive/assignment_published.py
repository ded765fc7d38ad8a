"""The cluster-training assignment beside published figures: what can be compared, and how."""

from typing import Any

import pandas as pd

from dpscale.derive import published
from dpscale.derive.columns import Columns, as_table, floats, integers, known, texts
from dpscale.derive.formulas import efficiency, share_margin, speedup
from dpscale.derive.published import TRAININGS, Published
from dpscale.plan.assignment import LINEAR, STUDY

COLUMNS: Columns = (
    texts("quantity")
    | integers("workers nodes epochs")
    | floats("published published_low published_high measured measured_low measured_high")
    | texts("verdict reason runs")
)
AGREES, DISAGREES, UNDECIDED = "agrees", "disagrees", "not decidable"


def _judged(row: dict[str, Any], reason: str | None) -> dict[str, Any]:
    """Return the row with its verdict: whether the two intervals meet, unless a reason forbids."""
    ends = (row.get("measured_low"), row.get("measured_high"))
    if reason is None and any(known(end) is None for end in ends):
        reason = "no interval of this machine's value"
    if reason:
        return row | {"verdict": UNDECIDED, "reason": reason}
    low, high = ends
    meet = row["published_low"] <= high and low <= row["published_high"]
    return row | {"verdict": AGREES if meet else DISAGREES}


def _of(table: pd.DataFrame, quoted: Published, **more: Any) -> dict[str, Any] | None:
    """Return the complete linear training of this placement (and epoch), or None."""
    chosen = (table["workers"] == quoted.workers) & (table["nodes"] == quoted.nodes)
    for column, value in more.items():
        chosen &= table[column] == value
    found = table[chosen.fillna(False) & (table["status"] == "complete")]
    return found.iloc[0].to_dict() if len(found) else None


def _measured(row: dict[str, Any] | None, column: str) -> dict[str, Any]:
    if row is None:
        return {}
    ends = {"measured": "", "measured_low": "_low", "measured_high": "_high"}
    return {name: row[column + end] for name, end in ends.items()} | {"runs": row["runs"]}


def _efficiency(quoted: Published, own: dict[str, Any] | None) -> dict[str, Any]:
    base = next(one for one in TRAININGS if one.workers == 1 and one.train_s)
    assert base.train_s is not None
    assert quoted.train_s is not None
    value = efficiency(speedup(base.train_s, quoted.train_s), quoted.workers)
    row = {"quantity": "efficiency_frac", **quoted._asdict(), "published": value,
           "published_low": value, "published_high": value}  # fmt: skip
    reason = None
    if own is None:
        reason = "not measured here"
    elif known(own["oversubscribed"]):
        reason = "these workers share devices"
    elif own["per_worker_batch"] != published.PER_WORKER_BATCH:
        reason = f"another batch, b = {own['per_worker_batch']}"
    return _judged(row | _measured(own, "efficiency_frac"), reason)


def _accuracy(
    quoted: Published, own: dict[str, Any] | None, curve: pd.DataFrame
) -> dict[str, Any]:  # fmt: skip
    value = quoted.test_accuracy_frac
    margin = share_margin(value, published.TEST_SAMPLES)
    row = {"quantity": "test_accuracy_frac", **quoted._asdict(), "published": value,
           "published_low": value - margin, "published_high": value + margin}  # fmt: skip
    reason, at = None, None
    if own is None:
        reason = "not measured here"
    elif own["dataset"] != published.DATASET:
        reason = f"other data, {own['dataset']}"
    else:
        at = _of(curve, quoted, epoch=quoted.epochs)
        reason = None if at else f"{own['epochs']} epochs here"
    return _judged(row | _measured(at, "test_accuracy_frac"), reason)


def beside_published(assignment: pd.DataFrame, accuracy: pd.DataFrame) -> pd.DataFrame:
    """Return one row a published figure that another machine's can be compared with.

    Scaling efficiencies, from the published times, and test accuracies with the 95% interval of a
    share counted on its test images. The verdict agrees when the intervals meet; not decidable,
    with the reason, where data, epochs or devices differ or nothing was measured. Seconds of
    other hardware are not compared. No row where the assignment is not planned.
    """
    linear = assignment[assignment["rule"] == LINEAR]
    if linear.empty:
        return as_table([], COLUMNS)
    curve = accuracy[(accuracy["study"] == STUDY) & (accuracy["arm"] == LINEAR)]
    rows = []
    for quoted in TRAININGS:
        own = _of(linear, quoted)
        if quoted.train_s and quoted.workers > 1:
            rows.append(_efficiency(quoted, own))
        rows.append(_accuracy(quoted, own, curve))
    return as_table(sorted(rows, key=lambda row: row["quantity"]), COLUMNS)
