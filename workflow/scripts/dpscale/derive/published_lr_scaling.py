"""What Goyal et al. published on rate scaling and warm-up, beside what was measured here.

Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour (2017, arXiv:1706.02677): top-1
validation error of ResNet-50 on ImageNet after 90 epochs, n = 32 a worker, reference kn = 256.
Their model, data and size are others than here, so that directions are compared, never sizes.
"""

from typing import Any, NamedTuple

import pandas as pd

from dpscale.derive.columns import Columns, as_table, floats, integers, known, texts
from dpscale.derive.lr_scaling import difference, ends
from dpscale.derive.verdicts import Agreement, at_least, direction, no_difference

REFERENCE_BATCH = 256
# Figure 1: error in percent against the minibatch.
CURVE_PERCENT = {
    128: 23.49, 256: 23.60, 512: 23.48, 1024: 23.53, 2048: 23.49, 4096: 23.56, 8192: 23.74,
    16384: 24.79, 32768: 27.55, 65536: 33.96,
}  # fmt: skip
FLAT_UP_TO = 8192  # section 5.2: "no loss of accuracy up to 8k"
EFFICIENCY_FRAC = 0.90  # section 5.5: 352 GPUs against 8


class Way(NamedTuple):
    """How one side of a comparison was trained, at the large batch unless told otherwise."""

    rule: str = "linear"
    warmup: str = "gradual"
    zero_gamma: bool = True
    at_reference: bool = False


class Claim(NamedTuple):
    """A published comparison of two errors in percent; same: published as no difference."""

    words: str
    arm: Way
    other: Way
    percent: float
    other_percent: float
    source: str
    same: bool = False


_REFERENCE = Way(warmup="none", at_reference=True)
# Table 1: warm-up at 8k, zero gamma. Table 2: (a) rules at 8k, (b) zero gamma at 256 and 8k.
CLAIMS = (
    Claim("gradual warm-up against none", Way(), Way(warmup="none"), 23.74, 24.84, "Table 1"),
    Claim("constant warm-up against none", Way(warmup="constant"), Way(warmup="none"),
          25.88, 24.84, "Table 1"),
    Claim("gradual warm-up against none, gains of one here", Way(zero_gamma=False),
          Way(warmup="none", zero_gamma=False), 23.74, 24.84, "Table 1"),
    Claim("constant warm-up against none, gains of one here",
          Way(warmup="constant", zero_gamma=False), Way(warmup="none", zero_gamma=False),
          25.88, 24.84, "Table 1"),
    Claim("gradual warm-up against the reference batch", Way(), _REFERENCE,
          23.74, 23.60, "Table 1", same=True),
    Claim("square-root rule against linear", Way("sqrt"), Way(), 26.22, 23.74, "Table 2a"),
    Claim("fixed rate against linear rule", Way("fixed"), Way(), 41.67, 23.74, "Table 2a"),
    Claim("zero gamma against unit gamma, reference batch", _REFERENCE,
          _REFERENCE._replace(zero_gamma=False), 23.60, 23.84, "Table 2b"),
    Claim("zero gamma against unit gamma, large batch", Way(), Way(zero_gamma=False),
          23.74, 24.11, "Table 2b"),
)  # fmt: skip
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
        "published_difference_frac": published, "verdict": "not decidable",
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
        "published_difference_frac": (percent - base_percent) / 100, "verdict": "not decidable",
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
        "source": "Section 5.5", "published_frac": EFFICIENCY_FRAC, "verdict": "not decidable",
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
