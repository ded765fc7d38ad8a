"""Medians with 95% bootstrap intervals, and what an interval lets one say."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from dpscale.derive.columns import known

RESAMPLES = 9999
CONFIDENCE = 0.95
SEED = 20260101

Verdict = Literal["above", "below", "indistinct", "unknown"]


class Estimate(NamedTuple):
    """A value, its 95% interval (null when unknown) and the repeats behind it."""

    value: float | None
    low: float | None
    high: float | None
    repeats: int


UNKNOWN = Estimate(None, None, None, 0)


def finite(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the finite values as a one-dimensional float array."""
    array = np.asarray(values, dtype=float)
    return array[np.isfinite(array)]


def _ratio(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    return np.median(x, axis=axis) / np.median(y, axis=axis)


def _difference(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    return np.median(x, axis=axis) - np.median(y, axis=axis)


def estimate(
    statistic: Callable[..., np.ndarray], *samples: np.ndarray, paired: bool = False
) -> Estimate:
    """Return the statistic of the samples and its percentile bootstrap interval.

    paired: value i of one sample belongs to value i of the other, and both are drawn together.
    """
    return _of_values(statistic, paired, *(tuple(map(float, sample)) for sample in samples))


@cache  # the seed is fixed, and many tables ask for the same median
def _of_values(
    statistic: Callable[..., np.ndarray], paired: bool, *values: tuple[float, ...]
) -> Estimate:
    count = min(map(len, values))
    if count == 0:
        return UNKNOWN
    samples = [np.array(sample) for sample in values]
    value = float(statistic(*samples, axis=-1))
    if count < 2:
        return Estimate(value, None, None, count)
    interval = stats.bootstrap(
        samples, statistic, n_resamples=RESAMPLES, confidence_level=CONFIDENCE,
        method="percentile", vectorized=True, paired=paired, rng=np.random.default_rng(SEED),
    ).confidence_interval  # fmt: skip
    return Estimate(value, float(interval.low), float(interval.high), count)


def median(values: Sequence[float] | np.ndarray) -> Estimate:
    """Return the median of the finite values; no interval for fewer than 2 of them.

    The interval is the 95% percentile bootstrap (Efron and Tibshirani, An Introduction to the
    Bootstrap, 1993, chapter 13) with a fixed seed.
    """
    return estimate(np.median, finite(values))


def median_ratio(
    numerator: Sequence[float] | np.ndarray, denominator: Sequence[float] | np.ndarray
) -> Estimate:
    """Return the ratio of two independent samples' medians, each resampled on its own.

    No interval when either sample has fewer than 2 values; `repeats` is that of the smaller one.
    """
    return estimate(_ratio, finite(numerator), finite(denominator))


def median_difference(
    minuend: Sequence[float] | np.ndarray, subtrahend: Sequence[float] | np.ndarray
) -> Estimate:
    """Return the difference of two independent samples' medians, as `median_ratio` its ratio."""
    return estimate(_difference, finite(minuend), finite(subtrahend))


def paired_median_difference(minuend: pd.Series, subtrahend: pd.Series) -> Estimate:
    """Return the difference of the medians of two series whose equal labels belong together.

    Values of one label (a round of interleaved repeats) are resampled together, so that what
    disturbed both leaves the interval; samples whose labels differ are resampled on their own.
    """
    return _of_rounds(_difference, minuend, subtrahend)


def paired_median_ratio(numerator: pd.Series, denominator: pd.Series) -> Estimate:
    """Return the ratio of the medians of two series, as `paired_median_difference` theirs."""
    return _of_rounds(_ratio, numerator, denominator)


def _of_rounds(statistic: Callable[..., np.ndarray], x: pd.Series, y: pd.Series) -> Estimate:
    x, y = x.dropna().sort_index(), y.dropna().sort_index()
    paired = x.index.equals(y.index)
    return estimate(statistic, x.to_numpy(float), y.to_numpy(float), paired=paired)


def verdict(low: float | None, high: float | None, reference: float) -> Verdict:
    """Return where an interval lies: above or below the reference, or indistinct from it.

    "indistinct" when the interval covers the reference, "unknown" when a bound is null.
    """
    if low is None or high is None or not (np.isfinite(low) and np.isfinite(high)):
        return "unknown"
    if low > reference:
        return "above"
    return "below" if high < reference else "indistinct"


def interval_columns(name: str, estimate: Estimate) -> dict[str, float | None]:
    """Return a value and its interval as the columns NAME, NAME_low and NAME_high."""
    value, low, high, _ = estimate
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def estimate_of(row: Mapping[str, Any] | pd.Series, name: str) -> Estimate:
    """Return what `interval_columns` made of an estimate, nulls as None; its repeats are not kept.

    row: of a derived table.
    """
    value, low, high = (known(row[f"{name}{end}"]) for end in ("", "_low", "_high"))
    return Estimate(value, low, high, 0)
