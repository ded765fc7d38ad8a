"""Where perfect scaling ends: the fit S = S_min(1 + B_crit/B) to steps against batch sizes.

Also contrasts of two searches, and the gradient noise scale along the repeats of a winner.
"""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import fdtri, stdtrit

from dpscale.derive.cells import first_known
from dpscale.derive.columns import as_table
from dpscale.derive.formulas import gradient_square, gradient_variance, simple_noise_scale
from dpscale.derive.published import judge
from dpscale.derive.statistics import (
    CONFIDENCE,
    TAIL,
    UNKNOWN,
    Estimate,
    estimate_of,
    interval_columns,
    median,
    verdict,
)
from dpscale.records.columns import Columns, columns, intervals
from dpscale.studies.steps_to_goal import NO_BEND, TOO_FEW
from dpscale.studies.steps_to_goal.derive.searches import (
    REGIME_FACTOR,
    batch_medians,
    of_role,
    search_rows,
)
from dpscale.vocabulary import Verdict, words

FEWEST_BATCHES = 3
FEWEST_FOR_INTERVALS = 5
GRID = 4001  # values of B_crit that are tried
END_BATCHES = 4  # whose slope is measured without a fit, at each end of the batch sizes

Side = Verdict | Literal["same"]  # where a ratio lies of 1

FIT_COLUMNS: Columns = (
    columns("model optimizer status fitted_batches smallest_batch largest_batch")
    | intervals("s_min b_crit perfect_end maximal_start small_slope large_slope noise_scale")
    | columns("noise_batch")
    | intervals("noise_over_b_crit")
    | columns("runs")
)
CONTRAST_COLUMNS: Columns = (
    columns("contrast model optimizer other_model other_optimizer status")
    | intervals("b_crit_ratio")
    | columns("small_batch")
    | intervals("small_steps_ratio")
    | words("b_crit_side small_steps_side", Side)
    | columns("equivalent_factor runs")
)
NOISE_COLUMNS: Columns = (
    columns("model optimizer global_batch point seeds progress_frac")
    | intervals("noise_scale")
    | columns("gradient_square gradient_variance status runs")
)


class Fit(NamedTuple):
    """S_min, B_crit and their 95% intervals; null where the data leave them open."""

    status: str
    s_min: Estimate = UNKNOWN
    b_crit: Estimate = UNKNOWN


def saved_by_doubling(batch_ratio: float) -> float:
    """Return the share of the steps that twice the batch saves, by the fit.

    batch_ratio: B over B_crit. From 1 + 1/r steps to 1 + 1/(2r), each times S_min.
    """
    return 1 / (2 * (batch_ratio + 1))


def critical_batch(steps: dict[int, float]) -> Fit:
    """Return the fit to steps by batch size: least squares in log S, since errors are relative.

    B_crit is looked for between the smallest and the largest batch size: of others a fit says
    nothing. An interval holds what an F test at 5% does not tell from the best fit (Bates and
    Watts, Nonlinear Regression Analysis, 1988, chapter 6); an end that the batch sizes do not
    bound is null, and so are both of fewer than FEWEST_FOR_INTERVALS of them. Status: complete;
    TOO_FEW; NO_BEND where a line without one, S proportional to 1/B or constant, is not told from
    the fit, or where the best B_crit lies at an end of the batch sizes.
    """
    count = len(steps)
    if count < FEWEST_BATCHES:
        return Fit(TOO_FEW)
    log_batches = np.log(sorted(steps))
    log_steps = np.log([steps[batch] for batch in sorted(steps)])
    tried = np.linspace(log_batches[0], log_batches[-1], GRID)  # logarithms of B_crit
    # At each B_crit the best log S_min is a mean, so that one unknown remains.
    rest = log_steps - np.log1p(np.exp(tried[:, None] - log_batches))
    log_s_min, loss = rest.mean(axis=1), rest.var(axis=1)
    best = loss.argmin()
    most = loss[best] * (1 + fdtri(1, count - 2, CONFIDENCE) / (count - 2))
    straight = min((log_steps + log_batches).var(), log_steps.var())
    if best in (0, GRID - 1) or straight <= most:
        return Fit(NO_BEND)
    as_good = np.flatnonzero(loss <= most)
    slack = np.sqrt(most - loss[as_good])  # of log S_min, at each of these B_crit
    s_ends = (log_s_min[as_good] - slack).min(), (log_s_min[as_good] + slack).max()
    bounded = np.array([as_good[0] > 0, as_good[-1] < GRID - 1]) & (count >= FEWEST_FOR_INTERVALS)
    # The larger B_crit, the smaller S_min: what leaves one open upwards leaves the other downwards.
    return Fit(
        "complete",
        _estimate(log_s_min[best], s_ends, bounded[::-1], count),
        _estimate(tried[best], tried[as_good[[0, -1]]], bounded, count),
    )


def _estimate(log_value: float, log_ends: Iterable[float], bounded: Any, count: int) -> Estimate:
    """The value of a logarithm and its interval, of which only bounded ends are known."""
    low, high = (
        float(np.exp(end)) if ends else None for end, ends in zip(log_ends, bounded, strict=True)
    )
    return Estimate(float(np.exp(log_value)), low, high, count)


def ratio(one: Estimate, base: Estimate) -> Estimate:
    """Return the ratio of two independent estimates with its 95% interval.

    Made of both intervals (Zou and Donner, Statistics in Medicine 27, 2008), in logarithms.
    """
    repeats = min(one.repeats, base.repeats)
    if one.value is None or base.value is None:
        return UNKNOWN
    if None in (*one, *base):
        return Estimate(one.value / base.value, None, None, repeats)
    x, x_low, x_high, y, y_low, y_high = np.log(np.array([*one[:3], *base[:3]], dtype=float))
    ends = x - y - np.hypot(x - x_low, y_high - y), x - y + np.hypot(x_high - x, y - y_low)
    return _estimate(x - y, ends, (True, True), repeats)


def slope(steps: Mapping[int, float]) -> Estimate:
    """Return d log S / d log B of a line through the steps at some batch sizes, by least squares.

    The repeats of a batch size share a winner, whose luck in the search they do not show. So the
    medians are what scatters, with Student's t of the degrees of freedom that the line leaves.
    """
    if len(steps) < END_BATCHES:
        return UNKNOWN
    from scipy.stats import linregress  # not above: it takes half a second, of every reader

    line = linregress(np.log(list(steps)), np.log(list(steps.values())))
    half = stdtrit(len(steps) - 2, 1 - TAIL) * line.stderr
    return Estimate(line.slope, line.slope - half, line.slope + half, len(steps))


def _slopes(steps: dict[int, float]) -> dict[str, float | None]:
    """The slopes over the END_BATCHES smallest and as many largest batch sizes.

    Null where both ends would share a batch size, which would then count twice.
    """
    ranked = sorted(steps.items())
    if len(ranked) < 2 * END_BATCHES:
        return {}
    ends = {"small_slope": ranked[:END_BATCHES], "large_slope": ranked[-END_BATCHES:]}
    found: dict[str, float | None] = {}
    for name, end in ends.items():
        found |= interval_columns(name, slope(dict(end)))
    return found


def goal_fit(trials: pd.DataFrame, squares: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each (model, optimiser): the fit S = S_min(1 + B_crit/B).

    S are the medians of the repeats; batch sizes that the goal was not reached with are left out.
    perfect_end and maximal_start: the batch sizes where the fit's slope is PERFECT_SLOPE and
    MAXIMAL_SLOPE, null beyond the measured ones; small_slope and large_slope are measured without
    it. noise_over_b_crit: its ends are of both intervals apart. Status: the run's, or the fit's
    (`critical_batch`). Raises MixedMachinesError for runs of different machines.
    """
    rows = []
    for own in search_rows(runs):
        run = own["runs"]
        if own["status"] == "complete":
            steps = batch_medians(trials, run)
            points = measured_points(squares, trials, run)
            fit = critical_batch(steps)
            own |= {
                "status": fit.status,
                "fitted_batches": len(steps),
                **_slopes(steps),
                "smallest_batch": min(steps, default=None),
                "largest_batch": max(steps, default=None),
                **interval_columns("s_min", fit.s_min),
                **interval_columns("b_crit", fit.b_crit),
                **interval_columns("noise_scale", along_training(points)),
                "noise_batch": points["global_batch"].max(),
            }
        rows.append(own)
    table = as_table(rows, FIT_COLUMNS)
    low, high = (table[f"{end}_batch"].astype("float64") for end in ("smallest", "largest"))
    for end, other in (("", ""), ("_low", "_high"), ("_high", "_low")):
        for name, factor in (("perfect_end", 1 / REGIME_FACTOR), ("maximal_start", REGIME_FACTOR)):
            batch = table[f"b_crit{end}"] * factor
            known_end = batch.between(low, high) & (table[name].notna() | (end == ""))
            table[f"{name}{end}"] = batch.where(known_end)
        table[f"noise_over_b_crit{end}"] = table[f"noise_scale{end}"] / table[f"b_crit{other}"]
    return table


def goal_contrasts(
    trials: pd.DataFrame, goal_fit: pd.DataFrame, goal_margins: pd.DataFrame
) -> pd.DataFrame:
    """Return B_crit of one search over that of another, with its interval.

    contrast `optimizer`: momentum or Nesterov over plain SGD, same model; `model`: another model
    over the first one, same optimiser. Null with a status where either has no fit.
    small_steps_ratio: of steps to the goal, over the smallest batch sizes of both, up to
    small_batch. The sides are where these ratios lie of 1, see `sides`.
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
            "contrast": contrast,
            "model": one["model"],
            "optimizer": one["optimizer"],
            "other_model": base["model"],
            "other_optimizer": base["optimizer"],
            "status": status,
            "equivalent_factor": first_known(goal_margins["equivalent_factor"]),
            "runs": f"{one['runs']} {base['runs']}",
            **_small_steps(trials, one, base),
        }
        b_crits = (estimate_of(search, "b_crit") for search in (one, base))
        row |= interval_columns("b_crit_ratio", ratio(*b_crits))
        rows.append(row | sides(row))
    return as_table(rows, CONTRAST_COLUMNS)


def sides(row: Mapping[str, Any]) -> dict[str, str | None]:
    """Return where the ratios of a contrast lie of 1; null for none.

    `same`: within the equivalent_factor, of critical batch sizes of two networks and of steps with
    two optimisers.
    """
    found: dict[str, str | None] = {}
    for name, contrast in (("b_crit", "model"), ("small_steps", "optimizer")):
        value, low, high, _ = estimate_of(row, f"{name}_ratio")
        side: Side | None = None if value is None else verdict(low, high, 1.0)
        factor = row["equivalent_factor"]
        if factor and side != "unknown" and low and high and row["contrast"] == contrast:
            within = judge("magnitude", low, high, (1.0, 1.0), factor) == "agrees"
            side = "same" if within else side
        found[f"{name}_side"] = side
    return found


def _small_steps(
    trials: pd.DataFrame, one: dict[str, Any], base: dict[str, Any]
) -> dict[str, float | None]:
    """The ratio of steps at the END_BATCHES smallest batch sizes that both reached the goal with.

    Each batch size is a search of its own, so that the interval holds the luck of searches.
    """
    steps, others = (batch_medians(trials, search["runs"]) for search in (one, base))
    shared = sorted(steps.keys() & others.keys())[:END_BATCHES]
    ratios = median([steps[batch] / others[batch] for batch in shared])
    return {"small_batch": max(shared, default=None)} | interval_columns(
        "small_steps_ratio", ratios
    )


def measured_points(squares: pd.DataFrame, trials: pd.DataFrame, run: str) -> pd.DataFrame:
    """Return the points of a run's repeats at which gradients were measured.

    Columns: trial, global_batch, point (0 at the start), progress_frac (of the steps to the goal),
    gradient_square, gradient_variance and noise_scale in samples, null where the gradient does not
    show above its own noise.
    """
    repeats = of_role(trials, run, "repeat")[["trial", "global_batch", "steps_to_goal"]]
    probes = squares[squares["run"] == run]
    rows = probes.merge(repeats, on="trial").sort_values(["trial", "step"])
    norms = [
        rows[f"{size}_{what}"].astype(float)
        for what in ("gradient_square", "batch")
        for size in ("small", "big")
    ]
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


def noise_scale(squares: pd.DataFrame, trials: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each (model, optimiser, point along the training): medians over seeds.

    noise_scale: B_simple in samples. Runs without such points have one row with their status.
    """
    rows = []
    for own in search_rows(runs):
        points = measured_points(squares, trials, own["runs"])
        if points.empty:
            rows.append(own)
        for (batch, point), at in points.groupby(["global_batch", "point"]):
            rows.append(
                own
                | {
                    "global_batch": batch,
                    "point": point,
                    "seeds": len(at),
                    **at[["progress_frac", "gradient_square", "gradient_variance"]].median(),
                    **interval_columns("noise_scale", median(at["noise_scale"].to_numpy())),
                }
            )
    return as_table(rows, NOISE_COLUMNS)
