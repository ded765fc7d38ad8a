"""Sums of what several arms took, and which part of a sum is most of it.

Arms of one launch are paired by it, and so is what one worker took in the launch of the same name's
end; what other launches measured is independent of them. The same sum of like cells scatters alike,
as a share of what is summed: the few launches of one borrow from the others (`contrasts.Prior`).
"""

import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpscale.derive.cells import launch_ends
from dpscale.derive.columns import known
from dpscale.derive.contrasts import Prior, contrast, part_of, prior_of
from dpscale.derive.statistics import (
    CONFIDENCE,
    UNKNOWN,
    Estimate,
    interval,
    interval_columns,
    middle,
)

Sides = Sequence[pd.DataFrame]  # a row a launch, a column an arm; no arm is in two of them
Weights = Mapping[str, float]  # by arm
_Arrays = Sequence[Mapping[str, np.ndarray]]  # of each side the launches of its arms


class _Sum(NamedTuple):
    """A sum of medians, and of each side that is in it the sum of each launch; both in units."""

    value: float
    samples: list[np.ndarray]
    unit: float
    of_pairs: bool  # arms of one launch are subtracted from each other


def weighted_sums(
    cells: Sequence[Sides], weights: Weights, confidence: float = CONFIDENCE
) -> list[Estimate]:
    """Return for each of some like cells the sum of the arms' medians, each times its weight.

    A median is of all launches of its arm, so that sums of sums agree; the interval is of those
    launches in which all arms of a side were timed. Two sides at the most.
    """
    return _sums(list(map(_as_arrays, cells)), weights, confidence)


def _sums(cells: Sequence[_Arrays], weights: Weights, confidence: float) -> list[Estimate]:
    sums = [_summed(sides, weights) for sides in cells]
    found = zip(sums, _estimates(sums, confidence), strict=True)
    return [_in_seconds(estimate, one.unit) for one, estimate in found]


def _in_seconds(estimate: Estimate, unit: float) -> Estimate:
    value, low, high = (None if end is None else end * unit for end in estimate[:3])
    return Estimate(value, low, high, estimate.repeats)


def _summed(sides: _Arrays, weights: Weights) -> _Sum:
    """The sum of one cell, in units of all that is added or subtracted."""
    value, unit, samples, of_pairs = 0.0, 0.0, list[np.ndarray](), False
    for side in sides:
        arms = [arm for arm in weights if arm in side]
        used = np.array([weights[arm] for arm in arms])
        if used.any():
            seconds = np.column_stack([side[arm] for arm in arms])
            medians = _medians(seconds)
            value += float((medians * used).sum())
            unit += float((medians * abs(used)).sum())
            sums = (seconds * used).sum(axis=1)
            samples.append(sums[~np.isnan(sums)])
            of_pairs |= bool(used.min() < 0 < used.max())
    unit = unit or 1.0
    return _Sum(value / unit, [sums / unit for sums in samples], unit, of_pairs)


def _as_arrays(sides: Sides) -> _Arrays:
    """The sides that are summed, made once: thousands of cells ask for a dozen sums each.

    Two are one where each launch of the first has its like in the second, which was made soon
    before or after it (`launch_ends`): what disturbed both leaves the interval.
    """
    arms = [dict(zip(side, side.to_numpy(float).T, strict=True)) for side in sides]
    if len(sides) == 2 and (places := _places_of_like(*sides)) is not None:
        one, other = arms
        return [one | {arm: seconds[places] for arm, seconds in other.items()}]
    return arms


def _places_of_like(one: pd.DataFrame, other: pd.DataFrame) -> list[int] | None:
    """Where the like of each launch of one stands in the other; None where any has none."""
    ends, others = launch_ends(one), launch_ends(other)
    if ends is None or others is None or not set(ends) <= set(others):
        return None
    return [others.index(end) for end in ends]


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
    ends = interval(one.samples[0], confidence, priors[0], of_pairs=one.of_pairs)
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
    if unknown.any():
        return np.asarray(np.nanmedian(seconds, axis=0))
    return np.array([middle(column) for column in seconds.T])


def with_leads(parts: Mapping[str, Weights], whole: str) -> dict[str, Weights]:
    """Return the weights of parts, of all together, and of what a part leads all others by.

    By column: NAME_s, whole_s and NAME_lead_s.
    """
    every: dict[str, float] = {}
    for weights in parts.values():
        for arm, weight in weights.items():
            every[arm] = every.get(arm, 0) + weight
    # An arm that cancels out need not have been timed.
    found: dict[str, Weights] = {f"{whole}_s": {arm: one for arm, one in every.items() if one}}
    for name, weights in parts.items():
        lead = {arm: 2 * weights.get(arm, 0) - weight for arm, weight in every.items()}
        found |= {f"{name}_s": weights, f"{name}_lead_s": lead}
    return found


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


def cause_of(row: Mapping[str, Any], names: Sequence[str], whole: str) -> str | None:
    """Return the part that is at least half of the whole, by its interval.

    So it is where it is no less than all others together, which depends on no order of the parts.
    None where none is, where two are, as the others then undo one of them, or where the whole may
    be nothing. row: with columns of `with_leads`.
    """

    def low(name: str) -> float:
        """The lower end of a column; that of no interval is below nothing."""
        end = known(row[f"{name}_s_low"])
        return -math.inf if end is None else end

    leading = [name for name in names if low(f"{name}_lead") >= 0]
    return leading[0] if low(whole) > 0 and len(leading) == 1 else None
