"""S2: the published results beside what was measured here, each with a verdict.

Model, data and size are others than the published ones, so that directions are compared, never
sizes.
"""

from typing import Any

import pandas as pd

from dpscale.derive.columns import Columns, as_table, floats, integers, known, texts
from dpscale.derive.lr_scaling import difference, ends
from dpscale.derive.published_lr_scaling import (
    CLAIMS,
    CURVE_PERCENT,
    EFFICIENCY_FRAC,
    FLAT_UP_TO,
    REFERENCE_BATCH,
    Claim,
    Way,
)
from dpscale.derive.verdicts import UNDECIDED, Agreement, at_least, direction, no_difference

COLUMNS: Columns = (
    texts("kind claim source")
    | integers("published_batch global_batch")
    | floats("batch_ratio published_frac published_other_frac published_difference_frac")
    | floats("difference_frac difference_frac_low difference_frac_high")
    | floats("measured_frac measured_frac_low measured_frac_high margin_frac")
    | texts("verdict runs base_runs")
)


def published_lr_scaling(
    lr_scaling: pd.DataFrame,
    iteration_times: pd.DataFrame,
    trials: pd.DataFrame,
    evaluations: pd.DataFrame,
) -> pd.DataFrame:
    """Return a row for each published result, what was measured of it here, and the verdict.

    kind "claim": errors of two arms and their difference. kind "curve": the error of a batch
    less that of the reference, set beside the batch here that is as many times its reference;
    up to FLAT_UP_TO the publication says "no difference", beyond it "more". kind "efficiency":
    throughput against workers. Fractions; the verdict is "not decidable" without an interval.
    No rows where the study is not planned.
    """
    if lr_scaling.empty:
        return as_table([], COLUMNS)
    reference = lr_scaling[lr_scaling["reference"].fillna(False).astype(bool)]
    base = None if reference.empty else reference.iloc[0]
    rows = [_claim(claim, lr_scaling, base, trials, evaluations) for claim in CLAIMS]
    rows += [_point(batch, lr_scaling, base) for batch in CURVE_PERCENT]
    return as_table([*rows, _efficiency(iteration_times)], COLUMNS)


def _claim(
    claim: Claim,
    lr_scaling: pd.DataFrame,
    base: pd.Series | None,
    trials: pd.DataFrame,
    evaluations: pd.DataFrame,
) -> dict[str, Any]:
    arm, other = (_found(lr_scaling, way) for way in (claim.arm, claim.other))
    published = (claim.percent - claim.other_percent) / 100
    row: dict[str, Any] = {
        "kind": "claim", "claim": claim.words, "source": claim.source,
        "published_frac": claim.percent / 100, "published_other_frac": claim.other_percent / 100,
        "published_difference_frac": published, "verdict": UNDECIDED,
    }  # fmt: skip
    if arm is None or other is None or base is None:
        return row
    names = (str(arm["runs"]), str(other["runs"]))
    values = [ends(name, trials, evaluations).test_error_frac for name in names]
    apart = difference(*values)
    verdict = (
        no_difference(apart.low, apart.high, base["margin_frac"])
        if claim.same
        else direction(apart.low, apart.high, published)
    )
    return row | _measured(apart, verdict) | {
        "global_batch": arm["global_batch"], "runs": names[0], "base_runs": names[1],
        "margin_frac": base["margin_frac"] if claim.same else None,
    }  # fmt: skip


def _point(batch: int, lr_scaling: pd.DataFrame, base: pd.Series | None) -> dict[str, Any]:
    ratio = batch / REFERENCE_BATCH
    percent, base_percent = CURVE_PERCENT[batch], CURVE_PERCENT[REFERENCE_BATCH]
    row: dict[str, Any] = {
        "kind": "curve", "claim": f"error at {ratio:g} times the reference batch",
        "source": "Figure 1", "published_batch": batch, "batch_ratio": ratio,
        "published_frac": percent / 100, "published_other_frac": base_percent / 100,
        "published_difference_frac": (percent - base_percent) / 100, "verdict": UNDECIDED,
    }  # fmt: skip
    own = None if base is None else _of_ratio(lr_scaling, base, ratio)
    if own is None or base is None or batch == REFERENCE_BATCH:
        return row
    low, high = known(own["difference_frac_low"]), known(own["difference_frac_high"])
    verdict = (
        no_difference(low, high, base["margin_frac"])
        if batch <= FLAT_UP_TO
        else direction(low, high, percent - base_percent)
    )
    names = ("difference_frac", "difference_frac_low", "difference_frac_high")
    return row | {name: known(own[name]) for name in names} | {
        "verdict": verdict, "global_batch": own["global_batch"], "runs": own["runs"],
        "base_runs": base["runs"], "margin_frac": base["margin_frac"],
    }  # fmt: skip


def _found(lr_scaling: pd.DataFrame, way: Way) -> pd.Series | None:
    """The row of a way to train, or None where it is not planned."""
    at_base = lr_scaling["groups"] == lr_scaling["reference_groups"]
    batch = at_base if way.at_reference else lr_scaling["large"]
    rows = lr_scaling[
        batch.fillna(False).astype(bool)
        & (lr_scaling["role"] == "arm")
        & (lr_scaling["optimizer"] == "sgd")
        & (lr_scaling["rule"] == way.rule)
        & (lr_scaling["warmup"] == way.warmup)
        & (lr_scaling["zero_gamma"] == way.zero_gamma).fillna(False).astype(bool)
    ]
    return None if rows.empty else rows.iloc[0]


def _of_ratio(lr_scaling: pd.DataFrame, base: pd.Series, ratio: float) -> pd.Series | None:
    """The row of the linear rule whose batch is so many times the reference batch."""
    batch = ratio * base["global_batch"]
    rows = lr_scaling[
        (lr_scaling["global_batch"] == batch).fillna(False).astype(bool)
        & (lr_scaling["role"] == "arm")
        & (lr_scaling["rule"] == "linear")
        & (lr_scaling["warmup"] == "gradual")
        & lr_scaling["zero_gamma"].fillna(False).astype(bool)
    ]
    return None if rows.empty else rows.iloc[0]


def _efficiency(iteration_times: pd.DataFrame) -> dict[str, Any]:
    """The most workers that had a device each, at the smallest batch per worker."""
    row: dict[str, Any] = {
        "kind": "efficiency", "claim": "throughput per worker kept with many workers",
        "source": "Section 5.5", "published_frac": EFFICIENCY_FRAC, "verdict": UNDECIDED,
    }  # fmt: skip
    alone = ~iteration_times["oversubscribed"].fillna(True).astype(bool)
    known_cells = alone & iteration_times["efficiency_frac"].notna()
    cells = iteration_times[known_cells & (iteration_times["workers"] > 1)]
    if cells.empty:
        return row
    most = cells[cells["workers"] == cells["workers"].max()]
    cell = most.loc[most["per_worker_batch"].astype(int).idxmin()]
    low, high = known(cell["efficiency_frac_low"]), known(cell["efficiency_frac_high"])
    return row | {
        "measured_frac": cell["efficiency_frac"], "measured_frac_low": low,
        "measured_frac_high": high, "verdict": at_least(low, high, EFFICIENCY_FRAC),
        "global_batch": cell["global_batch"], "runs": cell["runs"],
        "base_runs": cell["base_runs"],
    }  # fmt: skip


def _measured(apart: Any, verdict: Agreement) -> dict[str, Any]:
    return {
        "difference_frac": apart.value,
        "difference_frac_low": apart.low,
        "difference_frac_high": apart.high,
        "verdict": verdict,
    }
