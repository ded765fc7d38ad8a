"""Sums and products of what several arms took, and which factor of a product is most of it.

Arms of one launch are paired by it; what other launches measured is independent of them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpscale.derive.columns import known
from dpscale.derive.contrasts import contrast, part_of
from dpscale.derive.statistics import CONFIDENCE, UNKNOWN, Estimate, interval, interval_columns

Sides = Sequence[pd.DataFrame]  # a row a launch, a column an arm; no arm is in two of them
Weights = Mapping[str, float]  # by arm


def weighted_sum(
    sides: Sides,
    weights: Weights,
    confidence: float = CONFIDENCE,
    scale: Callable[[Any], Any] = lambda seconds: seconds,
) -> Estimate:
    """Return the sum of the arms' medians, on a scale, each times its weight.

    A median is of all launches of its arm, so that sums of sums agree; the interval is of those
    launches in which all arms of a side were timed. Two sides at the most.
    """
    value, samples = 0.0, list[np.ndarray]()
    for side in sides:
        arms = [arm for arm in weights if arm in side]
        used = np.array([weights[arm] for arm in arms])
        if used.any():
            # As an array: thousands of cells ask for a dozen sums each.
            seconds = np.column_stack([side[arm].to_numpy(float) for arm in arms])
            value += float((scale(_medians(seconds)) * used).sum())
            sums = (scale(seconds) * used).sum(axis=1)
            samples.append(sums[~np.isnan(sums)])
    if not np.isfinite(value):
        return UNKNOWN
    repeats = min(map(len, samples))
    if repeats < 2:
        return Estimate(value, None, None, repeats)
    ends = interval(samples[0], confidence)
    if len(samples) > 1:
        mean = float(sum(sample.mean() for sample in samples))
        ends = contrast(mean, [part_of(sample) for sample in samples]).interval(confidence)
    low, high = (value if end is None else end for end in ends)
    return Estimate(value, min(low, value), max(high, value), repeats)


def _medians(seconds: np.ndarray) -> np.ndarray:
    """The median of what is known of each column; NaN where that is nothing."""
    unknown = np.isnan(seconds)
    if unknown.all(axis=0).any():
        return np.full(seconds.shape[1], np.nan)
    return (np.nanmedian if unknown.any() else np.median)(seconds, axis=0)


def weighted_product(sides: Sides, powers: Weights, confidence: float = CONFIDENCE) -> Estimate:
    """Return the product of the arms' medians to these powers, as `weighted_sum` theirs."""
    value, low, high, repeats = weighted_sum(sides, powers, confidence, np.log)
    value, low, high = (None if end is None else float(np.exp(end)) for end in (value, low, high))
    return Estimate(value, low, high, repeats)


def factor_columns(sides: Sides, factors: Mapping[str, Weights]) -> dict[str, Any]:
    """Return factors, each the arms' powers, as columns with intervals: what `cause_of` judges.

    loss_ratio is their product; NAME_lead_ratio is a factor over the product of all others.
    """
    loss: dict[str, float] = {}
    for powers in factors.values():
        for arm, power in powers.items():
            loss[arm] = loss.get(arm, 0) + power
    row = interval_columns("loss_ratio", weighted_product(sides, loss))
    for name, powers in factors.items():
        lead = {arm: 2 * powers.get(arm, 0) - power for arm, power in loss.items()}
        row |= interval_columns(f"{name}_ratio", weighted_product(sides, powers))
        row |= interval_columns(f"{name}_lead_ratio", weighted_product(sides, lead))
    return row


def cause_of(row: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """Return the factor that is at least half of the logarithm of the loss, by its interval.

    So it is where it is no less than the product of the others. None where none is, or where all
    together may be no loss. row: with the columns of `factor_columns`.
    """
    if (known(row["loss_ratio_low"]) or 0) <= 1:
        return None
    leads = (name for name in names if (known(row[f"{name}_lead_ratio_low"]) or 0) >= 1)
    return next(leads, None)
