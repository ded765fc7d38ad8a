"""The published claims on steps against the batch size beside what was measured."""

import math
from typing import Any

import pandas as pd

from dpscale.derive.columns import Columns, as_table, floats, known, texts
from dpscale.derive.published_steps_to_goal import CLAIMS, Claim
from dpscale.derive.verdicts import UNDECIDED, Agreement, direction, no_difference

COLUMNS: Columns = (
    texts("claim model optimizer other_model other_optimizer measure")
    | floats("published")
    | texts("source")
    | floats("measured measured_low measured_high")
    | texts("verdict status runs")
)


def _log(value: float | None) -> float | None:
    return None if value is None or value <= 0 else math.log(value)


def judge(claim: Claim, low: float | None, high: float | None) -> Agreement:
    """Return what a measured interval says of a claim."""
    if claim.rule in ("near", "up to"):
        ends = [None if end is None else end - claim.published for end in (low, high)]
        found = no_difference(ends[0], ends[1], claim.margin)
        short = claim.rule == "up to" and ends[1] is not None and ends[1] < 0
        return UNDECIDED if found == "disagrees" and short else found
    if claim.rule == "magnitude":
        return no_difference(_log(low), _log(high), math.log(claim.margin))
    if claim.rule == "above":
        return direction(_log(low), _log(high), 1.0)
    same = no_difference(_log(low), _log(high), math.log(claim.margin))
    if same == "agrees":
        return "disagrees"
    return UNDECIDED if direction(_log(low), _log(high), 1.0) == UNDECIDED else "agrees"


def scaling_verdicts(scaling_fit: pd.DataFrame, scaling_contrasts: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each (claim, search or pair of searches): measured, published, verdict.

    measured: the column `measure`, with its interval; published: its published value, or the
    value that it was published to be above, or other than. A null interval decides nothing.
    """
    rows: list[dict[str, Any]] = []
    for name, claim in CLAIMS.items():
        if claim.table == "fit":
            source = scaling_fit
        else:
            source = scaling_contrasts[scaling_contrasts["contrast"] == claim.table]
        for row in source.to_dict("records"):
            value, low, high = (known(row[f"{claim.column}{end}"]) for end in ("", "_low", "_high"))
            rows.append({
                "claim": name, **{str(key): row[key] for key in row if str(key) in COLUMNS},
                "measure": claim.column, "published": claim.published, "source": claim.source,
                "measured": value, "measured_low": low, "measured_high": high,
                "verdict": judge(claim, low, high),
            })  # fmt: skip
    return as_table(rows, COLUMNS)
