"""The fit S = S_min(1 + B_crit/B) to steps against batch sizes, and its bootstrap."""

from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.optimize import elementwise

from dpscale.derive.statistics import CONFIDENCE, SEED

FEWEST_BATCHES = 3
RESAMPLES = 1999
# B_crit is looked for up to this factor beyond the batch sizes; at its ends the data show no bend.
REACH = 64.0
GRID = 65


class Fit(NamedTuple):
    """S_min, B_crit and their 95% intervals; null where the data leave them open."""

    status: str
    s_min: float | None = None
    s_min_low: float | None = None
    s_min_high: float | None = None
    b_crit: float | None = None
    b_crit_low: float | None = None
    b_crit_high: float | None = None


class Points:
    """Batch sizes with the logarithms of their steps, which a resample replaces."""

    def __init__(self, steps: dict[int, float]) -> None:
        """steps: by batch size, at least FEWEST_BATCHES of them."""
        self.batches = np.array(sorted(steps), dtype=float)
        self.log_steps = np.log([steps[int(batch)] for batch in self.batches])
        self.low, self.high = self.batches[0] / REACH, self.batches[-1] * REACH
        log_b_crit, log_s_min = self.solve(self.log_steps)
        self.log_b_crit, self.log_s_min = float(log_b_crit), float(log_s_min)
        fitted = self.log_s_min + self._shape(np.array(self.log_b_crit))
        # A fit of two parameters leaves residuals smaller than the errors by this factor.
        count = len(self.batches)
        residuals = (self.log_steps - fitted) * np.sqrt(count / (count - 2))
        self.fitted, self.residuals = fitted, residuals - residuals.mean()

    def solve(self, log_steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log B_crit and log S_min of the least squares in log S; log_steps [..., batches].

        At each B_crit the best log S_min is a mean, so that one unknown remains.
        """
        rows = np.atleast_2d(log_steps)
        grid = np.linspace(np.log(self.low), np.log(self.high), GRID)
        losses = self._loss(grid[None, :], *(rows[:, [i]] for i in range(rows.shape[1])))
        middle = losses.argmin(axis=1).clip(1, GRID - 2)
        bracket = tuple(grid[middle + side] for side in (-1, 0, 1))
        found = elementwise.find_minimum(self._loss, bracket, args=tuple(rows.T))
        # Without a valid bracket the least lies at an end of the grid.
        ends = grid[np.array([0, GRID - 1])][(losses.argmin(axis=1) > 0).astype(int)]
        log_b_crit = np.where(found.success, found.x, ends)
        log_s_min = (rows - self._shape(log_b_crit)).mean(axis=1)
        shape = np.shape(log_steps)[:-1]
        return log_b_crit.reshape(shape), log_s_min.reshape(shape)

    def _shape(self, log_b_crit: np.ndarray) -> np.ndarray:
        return np.log1p(np.exp(log_b_crit)[..., None] / self.batches)

    def _loss(self, log_b_crit: np.ndarray, *log_steps: np.ndarray) -> np.ndarray:
        shape = self._shape(log_b_crit)
        differences = np.stack(np.broadcast_arrays(*log_steps), axis=-1) - shape
        return differences.var(axis=-1)

    def open_ended(self, b_crit: float) -> bool:
        """Return whether a B_crit lies at the end of where it was looked for."""
        return not self.low * 1.01 < b_crit < self.high / 1.01


def critical_batch(steps: dict[int, float]) -> Fit:
    """Return the fit to steps by batch size, with intervals by resampled residuals.

    Least squares in log S (errors are relative). The bootstrap resamples the residuals of the
    batch sizes (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section 9.4), so
    that misfit and the luck of each search widen the interval. Status: complete; "too few batch
    sizes"; "no bend" where any B_crit beyond the batch sizes fits as well. An end of an interval
    without a bend is null.
    """
    if len(steps) < FEWEST_BATCHES:
        return Fit("too few batch sizes")
    points = Points(steps)
    b_crit = float(np.exp(points.log_b_crit))
    if points.open_ended(b_crit):
        return Fit("no bend")
    ends = _intervals(points)
    known = [None if points.open_ended(end) else end for end in ends[0]]
    return Fit(
        "complete",
        s_min=float(np.exp(points.log_s_min)), s_min_low=ends[1][0], s_min_high=ends[1][1],
        b_crit=b_crit, b_crit_low=known[0], b_crit_high=known[1],
    )  # fmt: skip


def _intervals(points: Points) -> list[tuple[float, float]]:
    """Return the intervals of B_crit and of S_min, of the same resamples."""
    interval = stats.bootstrap(
        (points.residuals,),
        lambda drawn, axis: np.stack(points.solve(points.fitted + drawn)),
        n_resamples=RESAMPLES, confidence_level=CONFIDENCE, method="percentile",
        vectorized=True, batch=500, rng=np.random.default_rng(SEED),
    ).confidence_interval  # fmt: skip
    ends = np.exp([interval.low, interval.high])
    return [(float(low), float(high)) for low, high in ends.T]


def b_crit_ratio(steps: dict[int, float], base: dict[int, float]) -> tuple[float, float, float]:
    """Return B_crit of one curve over that of another, with its 95% interval.

    Both curves must have a fit; their residuals are resampled apart.
    """
    one, other = Points(steps), Points(base)

    def log_ratio(drawn: np.ndarray, drawn_base: np.ndarray, axis: int) -> np.ndarray:
        """The logarithm of the ratio for drawn residuals of both curves."""
        return one.solve(one.fitted + drawn)[0] - other.solve(other.fitted + drawn_base)[0]

    interval = stats.bootstrap(
        (one.residuals, other.residuals), log_ratio, n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE, method="percentile", vectorized=True, batch=500,
        rng=np.random.default_rng(SEED),
    ).confidence_interval  # fmt: skip
    ratio = np.exp(one.log_b_crit - other.log_b_crit)
    return float(ratio), float(np.exp(interval.low)), float(np.exp(interval.high))
