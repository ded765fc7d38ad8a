"""Sums and products of what several arms took, and which factor of a product is most of it.

Arms of one launch are paired by it, and so is what one worker took in the launch of the same name's
end; what other launches measured is independent of them. The same sum of like cells scatters alike,
as a share of what is summed: the few launches of one borrow from the others (`contrasts.Prior`).
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from operator import mul
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpscale.derive.cells import by_launch_end
from dpscale.derive.columns import known
from dpscale.derive.contrasts import Prior, contrast, part_of, prior_of
from dpscale.derive.statistics import CONFIDENCE, UNKNOWN, Estimate, interval, interval_columns

Sides = Sequence[pd.DataFrame]  # a row a launch, a column an arm; no arm is in two of them
Weights = Mapping[str, float]  # by arm
_Arrays = Sequence[Mapping[str, np.ndarray]]  # of each side the launches of its arms


class _Sum(NamedTuple):
    """A sum of medians, and of each side that is in it the sum of each launch; both in units."""

    value: float
    samples: list[np.ndarray]
    unit: float


def weighted_sums(
    cells: Sequence[Sides], weights: Weights, confidence: float = CONFIDENCE
) -> list[Estimate]:
    """Return for each of some like cells the sum of the arms' medians, each times its weight.

    A median is of all launches of its arm, so that sums of sums agree; the interval is of those
    launches in which all arms of a side were timed. Two sides at the most.
    """
    return _sums(list(map(_as_arrays, cells)), weights, confidence)


def _sums(cells: Sequence[_Arrays], weights: Weights, confidence: float) -> list[Estimate]:
    sums = [_summed(sides, weights, logs=False) for sides in cells]
    found = zip(sums, _estimates(sums, confidence), strict=True)
    return [_changed(estimate, partial(mul, one.unit)) for one, estimate in found]


def _products(cells: Sequence[_Arrays], powers: Weights, confidence: float) -> list[Estimate]:
    sums = [_summed(sides, powers, logs=True) for sides in cells]
    return [_changed(estimate, math.exp) for estimate in _estimates(sums, confidence)]


def _changed(estimate: Estimate, scale: Callable[[float], float]) -> Estimate:
    """The estimate on another scale, that goes up with its own."""
    value, low, high = (None if end is None else scale(end) for end in estimate[:3])
    return Estimate(value, low, high, estimate.repeats)


def _summed(sides: _Arrays, weights: Weights, *, logs: bool) -> _Sum:
    """The sum of one cell: of logarithms, or in units of all that is added or subtracted."""
    value, unit, samples = 0.0, 0.0, list[np.ndarray]()
    for side in sides:
        arms = [arm for arm in weights if arm in side]
        used = np.array([weights[arm] for arm in arms])
        if used.any():
            seconds = np.column_stack([side[arm] for arm in arms])
            medians = _medians(seconds)
            value += float(((np.log(medians) if logs else medians) * used).sum())
            unit += float((medians * abs(used)).sum())
            sums = ((np.log(seconds) if logs else seconds) * used).sum(axis=1)
            samples.append(sums[~np.isnan(sums)])
    unit = 1.0 if logs or not unit else unit
    return _Sum(value / unit, [sums / unit for sums in samples], unit)


def _as_arrays(sides: Sides) -> _Arrays:
    """The sides that are summed, made once: thousands of cells ask for a dozen sums each."""
    return [
        {arm: seconds for side in one for arm, seconds in _arms_of(side)} for one in _paired(sides)
    ]


def _arms_of(side: pd.DataFrame) -> Iterator[tuple[str, np.ndarray]]:
    return zip(side, side.to_numpy(float).T, strict=True)


def _paired(sides: Sides) -> Sequence[Sides]:
    """Two sides as one where each launch of the first has its like in the second, which was made
    soon before or after it (`by_launch_end`): what disturbed both leaves the interval."""
    if len(sides) == 2:
        one, other = map(by_launch_end, sides)
        if one is not None and other is not None and one.index.isin(other.index).all():
            same = one.index.equals(other.index)
            return [[one, other if same else other.reindex(one.index)]]
    return [[side] for side in sides]


def _estimates(sums: Sequence[_Sum], confidence: float) -> list[Estimate]:
    """The sums with intervals; what a side scatters is steadied by that side of the other cells."""
    by_side = zip_longest(*(one.samples for one in sums), fillvalue=np.empty(0))
    priors = [prior_of(samples) for samples in by_side]
    return [_estimate(one, priors, confidence) for one in sums]


def _estimate(one: _Sum, priors: Sequence[Prior], confidence: float) -> Estimate:
    if not np.isfinite(one.value):
        return UNKNOWN
    repeats = min(map(len, one.samples))
    if repeats < 2:
        return Estimate(one.value, None, None, repeats)
    ends = interval(one.samples[0], confidence, priors[0])
    if len(one.samples) > 1:
        mean = float(sum(sample.mean() for sample in one.samples))
        parts = [part_of(*of_side) for of_side in zip(one.samples, priors, strict=False)]
        ends = contrast(mean, parts).interval(confidence)
    low, high = (one.value if end is None else end for end in ends)
    return Estimate(one.value, min(low, one.value), max(high, one.value), repeats)


def _medians(seconds: np.ndarray) -> np.ndarray:
    """The median of what is known of each column; NaN where that is nothing."""
    unknown = np.isnan(seconds)
    if unknown.all(axis=0).any():
        return np.full(seconds.shape[1], np.nan)
    return (np.nanmedian if unknown.any() else np.median)(seconds, axis=0)


def factor_columns(cells: Sequence[Sides], factors: Mapping[str, Weights]) -> list[dict[str, Any]]:
    """Return for each of some like cells factors as columns with intervals, for `cause_of`.

    factors: each the arms' powers. loss_ratio is their product; NAME_lead_ratio is a factor over
    the product of all others.
    """
    loss: dict[str, float] = {}
    for powers in factors.values():
        for arm, power in powers.items():
            loss[arm] = loss.get(arm, 0) + power
    products: dict[str, Weights] = {"loss_ratio": loss}
    for name, powers in factors.items():
        lead = {arm: 2 * powers.get(arm, 0) - power for arm, power in loss.items()}
        products |= {f"{name}_ratio": powers, f"{name}_lead_ratio": lead}
    arrays = list(map(_as_arrays, cells))
    return columns_of({name: _products(arrays, own, CONFIDENCE) for name, own in products.items()})


def sum_columns(
    cells: Sequence[Sides], sums: Mapping[str, Weights], confidence: float = CONFIDENCE
) -> list[dict[str, Any]]:
    """Return for each of some like cells sums as columns with intervals, as `weighted_sums`.

    sums: each the arms' weights.
    """
    arrays = list(map(_as_arrays, cells))
    return columns_of({name: _sums(arrays, own, confidence) for name, own in sums.items()})


def columns_of(found: Mapping[str, Sequence[Estimate]]) -> list[dict[str, Any]]:
    """Return the columns of each cell, of the estimates of all cells by name."""
    rows = [dict[str, Any]() for _ in next(iter(found.values()))]
    for name, estimates in found.items():
        for row, estimate in zip(rows, estimates, strict=True):
            row |= interval_columns(name, estimate)
    return rows


def cause_of(row: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """Return the factor that is at least half of the logarithm of the loss, by its interval.

    So it is where it is no less than the product of the others. None where none is, or where all
    together may be no loss. row: with the columns of `factor_columns`.
    """
    if (known(row["loss_ratio_low"]) or 0) <= 1:
        return None
    leads = (name for name in names if (known(row[f"{name}_lead_ratio_low"]) or 0) >= 1)
    return next(leads, None)
