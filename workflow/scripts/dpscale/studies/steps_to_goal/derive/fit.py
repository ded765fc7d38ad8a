"""Where perfect scaling ends: the fit S = S_min(1 + B_crit/B) to steps against batch sizes.

Also contrasts of two searches, and the gradient noise scale along the repeats of a winner.
"""

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import elementwise

from dpscale.derive.columns import Columns, as_table, floats, integers, intervals, known, texts
from dpscale.derive.formulas import gradient_square, gradient_variance, simple_noise_scale
from dpscale.derive.statistics import (
    CONFIDENCE,
    SEED,
    UNKNOWN,
    Estimate,
    estimate,
    interval_columns,
    median,
    paired_median_ratio,
)
from dpscale.studies.steps_to_goal.derive.searches import batch_medians, of_role, search_rows

FEWEST_BATCHES = 3
RESAMPLES = 1999
# B_crit is looked for up to this factor beyond the batch sizes; at its ends the data show no bend.
REACH = 64.0
GRID = 65
REGIME_FACTOR = 4.0  # both slopes that part the regimes lie at this factor from B_crit
END_BATCHES = 4  # whose slope is measured without a fit, at each end of the batch sizes

FIT_COLUMNS: Columns = (
    texts("model optimizer status")
    | integers("batch_sizes")
    | intervals("s_min b_crit perfect_end maximal_start small_slope large_slope noise_scale")
    | integers("noise_batch")
    | intervals("noise_over_b_crit")
    | texts("runs")
)
CONTRAST_COLUMNS: Columns = (
    texts("contrast model optimizer other_model other_optimizer status")
    | intervals("b_crit_ratio")
    | integers("small_batch")
    | intervals("small_steps_ratio")
    | texts("runs")
)
NOISE_COLUMNS: Columns = (
    texts("model optimizer")
    | integers("global_batch point seeds")
    | floats("progress_frac")
    | intervals("noise_scale")
    | floats("gradient_square gradient_variance")
    | texts("status runs")
)


class Fit(NamedTuple):
    """S_min, B_crit and their 95% intervals; null where the data leave them open."""

    status: str
    s_min: Estimate = UNKNOWN
    b_crit: Estimate = UNKNOWN


class Curve:
    """Logarithms of steps against batch sizes with their fit, whose residuals are resampled."""

    def __init__(self, steps: dict[int, float]) -> None:
        """steps: by batch size, at least FEWEST_BATCHES of them."""
        self.batches = np.array(sorted(steps), dtype=float)
        self.low, self.high = self.batches[0] / REACH, self.batches[-1] * REACH
        log_steps = np.log([steps[int(batch)] for batch in self.batches])
        self.log_b_crit, self.log_s_min = self.solve(log_steps)
        self.fitted = self.log_s_min + self._shape(self.log_b_crit)
        # A fit of two parameters leaves residuals smaller than the errors by this factor.
        count = len(self.batches)
        residuals = (log_steps - self.fitted) * np.sqrt(count / (count - 2))
        self.residuals = residuals - residuals.mean()

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
        ends = np.where(losses.argmin(axis=1) > 0, grid[-1], grid[0])
        log_b_crit = np.where(found.success, found.x, ends)
        log_s_min = (rows - self._shape(log_b_crit)).mean(axis=1)
        shape = np.shape(log_steps)[:-1]
        return log_b_crit.reshape(shape), log_s_min.reshape(shape)

    def _shape(self, log_b_crit: np.ndarray) -> np.ndarray:
        return np.log1p(np.exp(log_b_crit)[..., None] / self.batches)

    def _loss(self, log_b_crit: np.ndarray, *log_steps: np.ndarray) -> np.ndarray:
        differences = np.stack(np.broadcast_arrays(*log_steps), axis=-1) - self._shape(log_b_crit)
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
    curve = Curve(steps)
    b_crit = float(np.exp(curve.log_b_crit))
    if curve.open_ended(b_crit):
        return Fit("no bend")
    ends = _interval(
        lambda drawn, axis: np.stack(curve.solve(curve.fitted + drawn)), curve.residuals
    )
    low, high = (None if curve.open_ended(end[0]) else float(end[0]) for end in ends)
    s_low, s_high = (float(end[1]) for end in ends)
    s_min = Estimate(float(np.exp(curve.log_s_min)), s_low, s_high, len(steps))
    return Fit("complete", s_min, Estimate(b_crit, low, high, len(steps)))


def b_crit_ratio(steps: dict[int, float], base: dict[int, float]) -> Estimate:
    """Return B_crit of one curve over that of another, with its 95% interval.

    Both curves must have a fit; their residuals are resampled apart.
    """
    one, other = Curve(steps), Curve(base)

    def log_ratio(drawn: np.ndarray, drawn_base: np.ndarray, axis: int) -> np.ndarray:
        """The logarithm of the ratio for drawn residuals of both curves."""
        return one.solve(one.fitted + drawn)[0] - other.solve(other.fitted + drawn_base)[0]

    low, high = _interval(log_ratio, one.residuals, other.residuals)
    ratio = np.exp(one.log_b_crit - other.log_b_crit)
    return Estimate(float(ratio), float(low), float(high), min(len(steps), len(base)))


def _interval(
    log_statistic: Callable[..., np.ndarray], *residuals: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the 95% interval of a statistic of resampled residuals."""
    found = stats.bootstrap(
        residuals, log_statistic, n_resamples=RESAMPLES, confidence_level=CONFIDENCE,
        method="percentile", vectorized=True, batch=500, rng=np.random.default_rng(SEED),
    ).confidence_interval  # fmt: skip
    return np.exp(found.low), np.exp(found.high)


def _slope(steps: dict[int, np.ndarray]) -> Estimate:
    """d log S / d log B of a line through the medians of some batch sizes, repeats resampled."""
    if len(steps) < END_BATCHES or min(map(len, steps.values())) < 2:
        return UNKNOWN
    logs = np.log(list(steps))
    weights = (logs - logs.mean()) / ((logs - logs.mean()) ** 2).sum()

    def slope(*samples: np.ndarray, axis: int) -> np.ndarray:
        """The least-squares slope through the medians of these samples."""
        medians = [np.log(np.median(sample, axis=axis)) for sample in samples]
        return np.tensordot(weights, np.stack(medians), axes=1)

    return estimate(slope, *steps.values())


def _slopes(trials: pd.DataFrame, run: str) -> dict[str, float | None]:
    """The slopes over the four smallest and the four largest batch sizes of a run.

    Of the repeats that reached the goal; the others have no steps to it.
    """
    reached = of_role(trials, run, "repeat").dropna(subset="steps_to_goal")
    steps = [(int(known(batch)), own.to_numpy(dtype=float))
             for batch, own in reached.groupby("global_batch")["steps_to_goal"]]  # fmt: skip
    small, large = (_slope(dict(end)) for end in (steps[:END_BATCHES], steps[-END_BATCHES:]))
    return interval_columns("small_slope", small) | interval_columns("large_slope", large)


def goal_fit(trials: pd.DataFrame, evaluations: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each (model, optimiser): the fit S = S_min(1 + B_crit/B).

    S are the medians of the repeats; batch sizes that the goal was not reached with are left out.
    perfect_end and maximal_start: the batch sizes where the fit's slope is -0.8 and -0.2;
    small_slope and large_slope are measured without it. noise_over_b_crit: its ends are of both
    intervals apart. Status: the run's, or the fit's (`critical_batch`). Raises MixedMachinesError
    for runs of different machines.
    """
    rows = []
    for own in search_rows(runs):
        run = own["runs"]
        if own["status"] == "complete":
            steps = batch_medians(trials, run)
            points = measured_points(evaluations, trials, run)
            fit = critical_batch(steps)
            own |= {
                "status": fit.status, "batch_sizes": len(steps), **_slopes(trials, run),
                **interval_columns("s_min", fit.s_min), **interval_columns("b_crit", fit.b_crit),
                **interval_columns("noise_scale", along_training(points)),
                "noise_batch": points["global_batch"].max(),
            }  # fmt: skip
        rows.append(own)
    table = as_table(rows, FIT_COLUMNS)
    for end, other in (("", ""), ("_low", "_high"), ("_high", "_low")):
        table[f"perfect_end{end}"] = table[f"b_crit{end}"] / REGIME_FACTOR
        table[f"maximal_start{end}"] = table[f"b_crit{end}"] * REGIME_FACTOR
        table[f"noise_over_b_crit{end}"] = table[f"noise_scale{end}"] / table[f"b_crit{other}"]
    return table


def goal_contrasts(trials: pd.DataFrame, goal_fit: pd.DataFrame) -> pd.DataFrame:
    """Return B_crit of one search over that of another, with its interval.

    contrast `optimizer`: momentum or Nesterov over plain SGD, same model; `model`: another model
    over the first one, same optimiser. Null with a status where either has no fit.
    small_steps_ratio: median steps to the goal of the repeats at the smallest batch of both.
    """
    fits = goal_fit.to_dict("records")
    first = {row["optimizer"]: row["model"] for row in reversed(fits)}
    rows = []
    for one, base in product(fits, fits):
        same_model, same_optimizer = (one[key] == base[key] for key in ("model", "optimizer"))
        if same_model and not same_optimizer and base["optimizer"] == "sgd":
            contrast = "optimizer"
        elif same_optimizer and not same_model and base["model"] == first[base["optimizer"]]:
            contrast = "model"
        else:
            continue
        status = one["status"] if one["status"] != "complete" else base["status"]
        row = {
            "contrast": contrast, "model": one["model"], "optimizer": one["optimizer"],
            "other_model": base["model"], "other_optimizer": base["optimizer"], "status": status,
            "runs": f"{one['runs']} {base['runs']}", **_small_steps(trials, one, base),
        }  # fmt: skip
        if status == "complete":
            steps = (batch_medians(trials, search["runs"]) for search in (one, base))
            row |= interval_columns("b_crit_ratio", b_crit_ratio(*steps))
        rows.append(row)
    return as_table(rows, CONTRAST_COLUMNS)


def _small_steps(
    trials: pd.DataFrame, one: dict[str, Any], base: dict[str, Any]
) -> dict[str, float | None]:
    """The ratio of median steps at the smallest batch of both; null if any did not reach it."""
    repeats = [of_role(trials, search["runs"], "repeat") for search in (one, base)]
    shared = set(repeats[0]["global_batch"]) & set(repeats[1]["global_batch"])
    if not shared:
        return {}
    batch = min(shared)
    steps = [own[own["global_batch"] == batch].set_index("seed")["steps_to_goal"]
             for own in repeats]  # fmt: skip
    reached = not any(own.isna().any() for own in steps)
    ratio = paired_median_ratio(*(own.astype(float) for own in steps)) if reached else UNKNOWN
    return {"small_batch": batch} | interval_columns("small_steps_ratio", ratio)


def measured_points(evaluations: pd.DataFrame, trials: pd.DataFrame, run: str) -> pd.DataFrame:
    """Return the points of a run's repeats at which gradients were measured.

    Columns: trial, global_batch, point (0 at the start), progress_frac (of the steps to the goal),
    gradient_square, gradient_variance and noise_scale in samples, null where the gradient does not
    show above its own noise.
    """
    repeats = of_role(trials, run, "repeat")[["trial", "global_batch", "steps_to_goal"]]
    probes = evaluations[(evaluations["run"] == run) & evaluations["big_batch"].notna()]
    rows = probes.merge(repeats, on="trial").sort_values(["trial", "step"])
    norms = [rows[f"{size}_{what}"].astype(float) for what in ("gradient_square", "batch")
             for size in ("small", "big")]  # fmt: skip
    square, variance = gradient_square(*norms), gradient_variance(*norms)
    return rows[["trial", "global_batch"]].assign(
        point=rows.groupby("trial").cumcount(),
        progress_frac=(rows["step"] / rows["steps_to_goal"]).astype(float),
        gradient_square=square,
        gradient_variance=variance,
        noise_scale=simple_noise_scale(variance, square.where(square > 0)),
    )


def along_training(points: pd.DataFrame) -> Estimate:
    """Return the noise scale of whole trainings: of each the geometric mean, then the median.

    Points at the start, where every network is still the same, do not count.
    """
    later = points[(points["point"] > 0) & points["noise_scale"].notna()]
    return median(np.exp(np.log(later["noise_scale"]).groupby(later["trial"]).mean()).to_numpy())


def noise_scale(
    evaluations: pd.DataFrame, trials: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return one row for each (model, optimiser, point along the training): medians over seeds.

    noise_scale: B_simple in samples. Runs without such points have one row with their status.
    """
    rows = []
    for own in search_rows(runs):
        points = measured_points(evaluations, trials, own["runs"])
        if points.empty:
            rows.append(own)
        for (batch, point), at in points.groupby(["global_batch", "point"]):
            rows.append(own | {
                "global_batch": batch, "point": point, "seeds": len(at),
                **at[["progress_frac", "gradient_square", "gradient_variance"]].median(),
                **interval_columns("noise_scale", median(at["noise_scale"].to_numpy())),
            })  # fmt: skip
    return as_table(rows, NOISE_COLUMNS)
