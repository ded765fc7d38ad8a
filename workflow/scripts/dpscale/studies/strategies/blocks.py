"""Ratios of several arms that took turns in the same launches, all pairs judged at once."""

import math
from functools import cache

import numpy as np
import pandas as pd

from dpscale.derive.statistics import CONFIDENCE, UNKNOWN, Estimate


@cache
def _critical(arms: int, freedom: int) -> float:
    from scipy.stats import studentized_range  # not above: it takes half a second, of every reader

    return float(studentized_range.ppf(CONFIDENCE, arms, freedom))


class Blocks:
    """Times of arms, a row a launch in which all took turns and a column an arm.

    Logarithms of times are an arm's plus a launch's plus noise, whose variance all arms share. In
    95 of 100 studies the intervals of all pairs of arms hold together (Tukey's honest significant
    difference in randomised blocks: Kutner et al., Applied Linear Statistical Models, 2005,
    section 21.5), so that picking the fastest afterwards finds no difference too many.
    """

    def __init__(self, times: pd.DataFrame) -> None:
        self._times = times
        logs = np.log(times.dropna().to_numpy(dtype=float))
        launches, arms = logs.shape
        self._reach = math.nan
        if launches > 1 and arms > 1:
            rest = logs - logs.mean(0) - logs.mean(1, keepdims=True) + logs.mean()
            freedom = (launches - 1) * (arms - 1)
            error = math.sqrt(float((rest**2).sum()) / freedom / launches)
            self._reach = _critical(arms, freedom) * error

    def ratio(self, arm: str, other: str) -> Estimate:
        """Return the ratio of the medians of two arms; without an interval of a single launch."""
        x, y = (self._times[name].dropna() for name in (arm, other))
        if x.empty or y.empty:
            return UNKNOWN
        value, repeats = float(x.median() / y.median()), min(len(x), len(y))
        if math.isnan(self._reach):
            return Estimate(value, None, None, repeats)
        both = np.log(self._times.dropna()[[arm, other]]).mean()
        middle = float(both[arm] - both[other])
        low, high = math.exp(middle - self._reach), math.exp(middle + self._reach)
        return Estimate(value, min(low, value), max(high, value), repeats)
