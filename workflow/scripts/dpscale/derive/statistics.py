"""Medians with 95% intervals that cover as often as they say, and what an interval lets one say.

Repeats are few here: three seeds, five launches. A bootstrap of so few covers too seldom (a median
of three values in 76 of 100), so intervals are Student's t about the mean, which at such numbers
covers the median of skewed and heavy-tailed values too; from ORDERED values on they are two of the
values themselves, whatever their distribution, and those of differences within pairs, which scatter
alike to both sides, two of the means of two of them: Wilcoxon's signed ranks, a quarter to two
fifths narrower (Hettmansperger and McKean, Robust Nonparametric Statistical Methods, 2011, sections
1.3 and 1.5). Where like cells say how values scatter (`contrasts.Prior`)
Student's t has more degrees of freedom, and stands for the least and the largest of a few values
too. tests/unit/test_derive_statistics.py simulates all of them.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import bdtr, ndtri, stdtrit

from dpscale.derive.columns import known
from dpscale.derive.contrasts import NOTHING_LIKE, Prior, contrast, crossed, part_of, prior_of
from dpscale.vocabulary import Verdict

CONFIDENCE = 0.95
TAIL = (1 - CONFIDENCE) / 2
SEED = 20260101  # of what is drawn where a fit is repeated
ORDERED = 6  # [least, largest] of so many values covers their median in 97 of 100
FEWEST_CENSORED = 5  # the same of so many in 94 of 100

Interval = tuple[float | None, float | None]


class Estimate(NamedTuple):
    """A value, its 95% interval (null when unknown) and the repeats behind it."""

    value: float | None
    low: float | None
    high: float | None
    repeats: int


UNKNOWN = Estimate(None, None, None, 0)


def finite(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the finite values as a one-dimensional float array."""
    if isinstance(values, pd.Series):  # which numpy alone reads four times slower
        values = values.to_numpy(float)
    array = np.asarray(values, dtype=float)
    return array[np.isfinite(array)]


def middle(values: np.ndarray) -> float:
    """Return the median of some known values: of a few numpy's own takes ten times longer."""
    ranked, half = np.sort(values), len(values) // 2
    return float(ranked[half] if len(values) % 2 else (ranked[half - 1] + ranked[half]) / 2)


def interval(
    values: np.ndarray,
    confidence: float = CONFIDENCE,
    prior: Prior = NOTHING_LIKE,
    *,
    of_pairs: bool = False,
) -> Interval:
    """Return the interval of the median of some values; none for fewer than two.

    prior: what is known beforehand of how they scatter. of_pairs: they are differences of pairs.
    """
    count, tail = len(values), (1 - confidence) / 2
    if count < 2:
        return None, None
    tails = bdtr(np.arange(count), count, 0.5)  # of so many values or fewer below the median
    outside = int(np.searchsorted(tails, tail)) - 1  # values beyond each end
    if outside > 0 or (outside == 0 and not prior.borrowed(values)):
        if of_pairs:
            values = _walsh_averages(values)
            outside = int(np.searchsorted(_signed_ranks(count), tail)) - 1
        ranked = np.sort(values)
        return float(ranked[outside]), float(ranked[-1 - outside])
    return contrast(float(values.mean()), [part_of(values, prior)]).interval(confidence)


def _walsh_averages(values: np.ndarray) -> np.ndarray:
    """The means of all pairs of values, each with itself too."""
    one, other = np.triu_indices(len(values))
    return (values[one] + values[other]) / 2


@cache
def _signed_ranks(count: int) -> np.ndarray:
    """The chance that so many of the Walsh averages or fewer lie below the middle, by their number.

    It is that of the sum of those of the ranks 1 to count that a coin each time chooses.
    """
    chances = np.ones(1)
    for rank in range(1, count + 1):
        chances = np.convolve(chances, [0.5, *[0.0] * (rank - 1), 0.5])
    return np.cumsum(chances)


def _welch(x: np.ndarray, y: np.ndarray, confidence: float = CONFIDENCE) -> Interval:
    """The interval of a difference of two independent samples (Welch, Biometrika 34, 1947)."""
    if min(len(x), len(y)) < 2:
        return None, None
    difference = float(x.mean() - y.mean())
    return contrast(difference, [part_of(x), part_of(y)]).interval(confidence)


def _estimate(value: float, ends: Interval, repeats: int) -> Estimate:
    """The value and its interval, which holds the value also where that is no mean."""
    low, high = ends
    if low is None or high is None:
        return Estimate(value, None, None, repeats)
    return Estimate(value, min(low, value), max(high, value), repeats)


def median(
    values: Sequence[float] | np.ndarray,
    confidence: float = CONFIDENCE,
    prior: Prior = NOTHING_LIKE,
    *,
    share: bool = False,
) -> Estimate:
    """Return the median of the finite values; no interval for fewer than 2 of them.

    Values above zero (times, sizes, losses) scatter by factors: the interval of their logarithms
    lies above zero too. That of a share would leave 1 where it is an error, and hardly where it is
    the accuracy: it is of the values. confidence: of the interval at one of several looks
    (`plan.looks`). prior: `interval`'s.
    """
    known_values = finite(values)
    if not len(known_values):
        return UNKNOWN
    positive = known_values.min() > 0 and not share
    ends = interval(np.log(known_values) if positive else known_values, confidence, prior)
    value = middle(known_values)
    return _estimate(value, _exp(ends) if positive else ends, len(known_values))


def censored_median(values: pd.Series) -> Estimate:
    """Return the median of steps where null means more than could be waited for.

    With less than half of them null the median is known all the same. Its interval then has two
    of the values as its ends, from FEWEST_CENSORED values on; an end that is a null is null.
    """
    steps = np.sort(values.to_numpy(dtype=float, na_value=np.inf))
    if np.isfinite(steps).all():
        return median(steps)
    ends: Interval = None, None
    if len(steps) >= FEWEST_CENSORED:
        ends = interval(steps) if len(steps) >= ORDERED else (steps[0], steps[-1])
    value, low, high = (_known_end(end) for end in (np.median(steps), *ends))
    return Estimate(value, low, high, len(steps))


def _known_end(end: float | None) -> float | None:
    return None if end is None or np.isinf(end) else float(end)


def _exp(ends: Interval) -> Interval:
    """An interval of logarithms as one of what they are of."""
    low, high = (None if end is None else float(np.exp(end)) for end in ends)
    return low, high


def median_ratio(
    numerator: Sequence[float] | np.ndarray,
    denominator: Sequence[float] | np.ndarray,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Return the ratio of two independent samples' medians, of values above zero.

    The interval is that of the difference of their logarithms. None when either sample has fewer
    than 2 values; `repeats` is that of the smaller one. confidence: as of `median`.
    """
    of_difference = partial(_welch, confidence=confidence)
    return _ratio(finite(numerator), finite(denominator), of_difference)


def _ratio(
    x: np.ndarray, y: np.ndarray, of_difference: Callable[[np.ndarray, np.ndarray], Interval]
) -> Estimate:
    repeats = min(len(x), len(y))
    if not repeats or not (divisor := middle(y)):
        return UNKNOWN
    value = middle(x) / divisor
    if min(x.min(), y.min()) <= 0:
        return Estimate(value, None, None, repeats)
    return _estimate(value, _exp(of_difference(np.log(x), np.log(y))), repeats)


def _paired(
    x: np.ndarray, y: np.ndarray, prior: Prior = NOTHING_LIKE, confidence: float = CONFIDENCE
) -> Interval:
    return interval(x - y, confidence, prior, of_pairs=True)


def paired_median_difference(
    minuend: pd.Series, subtrahend: pd.Series, prior: Prior = NOTHING_LIKE
) -> Estimate:
    """Return the difference of the medians of two series whose equal labels belong together.

    The interval is that of the differences of values of one label (a launch in which both were
    measured, a seed), so that what disturbed both leaves it; samples whose labels differ are
    independent. prior: of like pairs (`like_pairs`).
    """
    x, y = _labelled(minuend), _labelled(subtrahend)
    if x.empty or y.empty:
        return UNKNOWN
    ends = _of(x, y, prior)(x.to_numpy(float), y.to_numpy(float))
    return _estimate(float(x.median() - y.median()), ends, min(len(x), len(y)))


def paired_median_ratio(
    numerator: pd.Series,
    denominator: pd.Series,
    prior: Prior = NOTHING_LIKE,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Return the ratio of the medians of two series, as `paired_median_difference` theirs.

    prior: of like pairs of logarithms. confidence: of the interval, beside others (`among`).
    """
    x, y = _labelled(numerator), _labelled(denominator)
    return _ratio(x.to_numpy(float), y.to_numpy(float), _of(x, y, prior, confidence))


def median_of_ratios(
    logs: tuple[pd.Series, pd.Series], prior: Prior = NOTHING_LIKE, confidence: float = CONFIDENCE
) -> Estimate:
    """Return the median of the ratios of values with one label, given the logarithms of both.

    Where values are taken at one of two paces the medians of two series may be of different ones.
    prior: of like pairs.
    """
    one, other = logs
    alike = one.index.equals(other.index)  # then pandas need not lay one beside the other
    differences = finite(one.to_numpy(float) - other.to_numpy(float) if alike else one - other)
    if not len(differences):
        return UNKNOWN
    ends = _exp(interval(differences, confidence, prior, of_pairs=True))
    return _estimate(float(np.exp(middle(differences))), ends, len(differences))


def among(family: int) -> float:
    """Return the confidence of each of so many intervals that hold together (Bonferroni)."""
    return 1 - 2 * TAIL / max(family, 1)


def like_pairs(pairs: Iterable[tuple[pd.Series, pd.Series]]) -> Prior:
    """Return what pairs of series with equal labels say of how the differences of one scatter."""
    known_values = [(_labelled(one), _labelled(other)) for one, other in pairs]
    alike = [(x, y) for x, y in known_values if x.index.equals(y.index)]
    return prior_of(x.to_numpy(float) - y.to_numpy(float) for x, y in alike)


def product(*factors: Estimate) -> Estimate:
    """Return the product of independent estimates above zero; unknown where one of them is.

    On the scale of logarithms, where it is a sum, the distances of the factors' ends from their
    values are added in squares (Zou and Donner, Statistics in Medicine 27, 2008, section 2).
    An end that a factor lacks the product lacks. `repeats` is the least of the factors'.
    """
    repeats = min(one.repeats for one in factors)
    known_values = [one.value for one in factors if one.value is not None and one.value > 0]
    if len(known_values) < len(factors):
        return UNKNOWN
    value = float(np.prod(known_values))
    low, high = (
        np.hypot.reduce([np.log((one[end] or np.nan) / (one.value or np.nan)) for one in factors])
        for end in (1, 2)
    )
    return Estimate(
        value,
        value * float(np.exp(-low)) if np.isfinite(low) else None,
        value * float(np.exp(high)) if np.isfinite(high) else None,
        repeats,
    )


def about_neighbours(places: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Return the standard deviation of values about a smooth curve, and its degrees of freedom.

    From how far each value lies from the line between its neighbours, places ascending (Gasser,
    Sroka and Jennen-Steinmetz, Biometrika 73, 1986; the degrees of freedom are Satterthwaite's of
    the quadratic form). A bend of the curve makes it rather too large. NaN for fewer than 3 values.
    """
    if len(values) < 3:
        return np.nan, np.nan
    ahead = (places[1:-1] - places[:-2]) / (places[2:] - places[:-2])
    weights = np.zeros((len(values) - 2, len(values)))
    rows = np.arange(len(ahead))
    weights[rows, rows], weights[rows, rows + 1], weights[rows, rows + 2] = 1 - ahead, -1, ahead
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    form = weights.T @ weights
    freedom = np.trace(form) ** 2 / np.trace(form @ form)
    return float(np.linalg.norm(weights @ values) / np.sqrt(len(weights))), float(freedom)


def together(ratio: Estimate, family: int, confidence: float = CONFIDENCE) -> Estimate:
    """Return a ratio with an interval that holds as often with so many others at once.

    confidence: of the interval that it has. Bonferroni's, on the scale of logarithms, as if
    Student's t had one degree of freedom less than `repeats`: rather too wide for what rests on
    more.
    """
    value, low, high, repeats = ratio
    if value is None or low is None or high is None or family < 2 or repeats < 2:
        return ratio
    tail = (1 - confidence) / 2
    wider = stdtrit(repeats - 1, 1 - tail / family) / stdtrit(repeats - 1, 1 - tail)
    return Estimate(value, value * (low / value) ** wider, value * (high / value) ** wider, repeats)


def difference_together(difference: Estimate, family: int) -> Estimate:
    """Return a difference with an interval that holds in 95 of 100 with so many others at once.

    Bonferroni's, its sides as much wider as those of a normal distribution.
    """
    value, low, high, repeats = difference
    if value is None or low is None or high is None:
        return difference
    wider = float(ndtri(1 - TAIL / max(family, 1)) / ndtri(1 - TAIL))
    return Estimate(value, value - (value - low) * wider, value + (high - value) * wider, repeats)


def inverse(estimate: Estimate) -> Estimate:
    """Return 1 over an estimate above zero: its ends change places."""
    value, low, high, repeats = estimate
    value, low, high = (1 / end if end else None for end in (value, high, low))
    return Estimate(value, low, high, repeats)


def exactly(number: float) -> Estimate:
    """Return a number that is known as an estimate of itself."""
    return Estimate(float(number), float(number), float(number), 1)


def over_seeds(values: pd.Series, images: float | None = None, *, share: bool = True) -> Estimate:
    """Return the median over seeds; unknown unless every seed has a finite value.

    A median of the seeds that did not diverge would praise an arm for its luckiest ones. share: an
    accuracy or an error; images: on so many test images, whose sampling its interval then holds.
    """
    found = median(values.to_numpy(float), share=share) if _finite(values) else UNKNOWN
    return on_images(found, images, found.value)


def seeds_apart(values: pd.Series, others: pd.Series, images: float | None = None) -> Estimate:
    """Return the difference of two medians over seeds, paired by seed, as `over_seeds` theirs."""
    if not (_finite(values) and _finite(others)):
        return UNKNOWN
    found = paired_median_difference(values.astype(float), others.astype(float))
    return on_images(found, images, values.median(), others.median())


def on_same_images(value: float, differences: np.ndarray) -> Estimate:
    """Return a difference of two accuracies with the interval of those of single images.

    value: of medians over seeds; differences: 1, 0 or -1 of each seed [seeds, images]. Images on
    which both arms are right, or both wrong, leave the interval: it is narrower than `on_images`.
    """
    low, high = crossed(differences).interval(CONFIDENCE)
    return _estimate(value, (max(low, -1.0), min(high, 1.0)), len(differences))


def _finite(values: pd.Series) -> bool:
    return bool(np.isfinite(values.to_numpy(float, na_value=np.nan)).all())


def on_images(
    estimate: Estimate, images: float | None, share: float | None, other: float | None = None
) -> Estimate:
    """Return an estimate of an accuracy, or of its difference to another, on so many test images.

    Its interval then holds the sampling of the test set beside what it held before: Wilson's of an
    accuracy, Newcombe's of a difference (Statistics in Medicine 17, 1998, method 10). share, other:
    the accuracies, as fractions. Arms that err on the same images differ by less than that: the
    interval of a difference is rather too wide (`on_same_images`). An unknown one stays unknown.
    """
    value, low, high, repeats = estimate
    if value is None or low is None or high is None or not images or share is None:
        return estimate
    below, above = _wilson(share, images)
    if other is not None:
        other_below, other_above = _wilson(other, images)
        below, above = np.hypot(below, other_above), np.hypot(above, other_below)
    least, most = (0.0, 1.0) if other is None else (-1.0, 1.0)
    low = max(least, value - float(np.hypot(value - low, below)))
    high = min(most, value + float(np.hypot(high - value, above)))
    return Estimate(value, min(low, value), max(high, value), repeats)


def _wilson(share: float, images: float) -> tuple[float, float]:
    """How far the 95% interval of a share of so many images reaches below and above it."""
    z = float(ndtri(1 - TAIL))
    centre = (share + z**2 / (2 * images)) / (1 + z**2 / images)
    half = z * np.sqrt(share * (1 - share) / images + (z / (2 * images)) ** 2)
    half /= 1 + z**2 / images
    return max(0.0, share - centre + half), max(0.0, centre + half - share)


def _labelled(values: pd.Series) -> pd.Series:
    whole = values.dtype == float and not np.isnan(values.to_numpy()).any()
    known_values = values if whole else values.dropna()
    return known_values if values.index.is_monotonic_increasing else known_values.sort_index()


def _of(
    x: pd.Series, y: pd.Series, prior: Prior, confidence: float = CONFIDENCE
) -> Callable[[np.ndarray, np.ndarray], Interval]:
    """How the interval of a difference is made: of pairs where the labels are the same."""
    pairs = partial(_paired, prior=prior) if x.index.equals(y.index) else _welch
    return partial(pairs, confidence=confidence)


def verdict(low: float | None, high: float | None, reference: float) -> Verdict:
    """Return where an interval lies: above or below the reference, or indistinct from it.

    "indistinct" when the interval covers the reference. An end that is null beside a known one, of
    what was waited for in vain, is beyond all; "unknown" where the known ends do not decide.
    """
    least = -math.inf if low is None or math.isnan(low) else low
    most = math.inf if high is None or math.isnan(high) else high
    if least > reference:
        return "above"
    if most < reference:
        return "below"
    return "indistinct" if math.isfinite(most - least) else "unknown"


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
