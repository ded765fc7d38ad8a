"""Where perfect scaling ends: fits to the steps against the batch size, and their contrasts."""

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from dpscale.derive.columns import Columns, as_table, floats, integers, known, texts
from dpscale.derive.critical_batch import Fit, critical_batch
from dpscale.derive.noise_scale import along_training, measured_points
from dpscale.derive.searches import batch_medians, of_role, search_runs
from dpscale.derive.statistics import CONFIDENCE, RESAMPLES, SEED, UNKNOWN, Estimate

# Regimes by the slope d log S / d log B of the fit, which is -B_crit/(B + B_crit): perfect where
# doubling the batch cuts the steps nearly in half, maximal where it hardly helps.
PERFECT_SLOPE, MAXIMAL_SLOPE = -0.8, -0.2
REGIME_FACTOR = 4.0  # both slopes lie at this factor from B_crit
END_BATCHES = 4  # whose slope is measured without a fit, at each end of the batch sizes
COLUMNS: Columns = (
    texts("model optimizer status")
    | integers("batch_sizes")
    | floats("s_min s_min_low s_min_high b_crit b_crit_low b_crit_high")
    | floats("perfect_end perfect_end_low perfect_end_high")
    | floats("maximal_start maximal_start_low maximal_start_high")
    | floats("small_slope small_slope_low small_slope_high")
    | floats("large_slope large_slope_low large_slope_high")
    | floats("noise_scale noise_scale_low noise_scale_high")
    | integers("noise_batch")
    | floats("noise_over_b_crit noise_over_b_crit_low noise_over_b_crit_high")
    | texts("runs")
)


def _ends(fit: Fit) -> dict[str, float | None]:
    """The ends of the two outer regimes: the perfect one's last B, the maximal one's first."""
    ends = {}
    for suffix in ("", "_low", "_high"):
        b_crit = getattr(fit, f"b_crit{suffix}")
        ends[f"perfect_end{suffix}"] = b_crit and b_crit / REGIME_FACTOR
        ends[f"maximal_start{suffix}"] = b_crit and b_crit * REGIME_FACTOR
    return ends


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

    samples = tuple(steps.values())
    interval = stats.bootstrap(
        samples, slope, n_resamples=RESAMPLES, confidence_level=CONFIDENCE, method="percentile",
        vectorized=True, rng=np.random.default_rng(SEED),
    ).confidence_interval  # fmt: skip
    value = float(slope(*samples, axis=-1))
    return Estimate(value, float(interval.low), float(interval.high), min(map(len, samples)))


def _slopes(trials: pd.DataFrame, run: str) -> dict[str, float | None]:
    """The slopes over the four smallest and the four largest batch sizes of a run.

    Of the repeats that reached the goal; the others have no steps to it.
    """
    reached = of_role(trials, run, "repeat").dropna(subset="steps_to_goal")
    steps = {int(known(batch)): group["steps_to_goal"].to_numpy(dtype=float)
             for batch, group in reached.groupby("global_batch")}  # fmt: skip
    sizes = sorted(steps)
    row: dict[str, float | None] = {}
    for name, ends in (("small", sizes[:END_BATCHES]), ("large", sizes[-END_BATCHES:])):
        found = _slope({size: steps[size] for size in ends})
        row |= {f"{name}_slope": found.value, f"{name}_slope_low": found.low,
                f"{name}_slope_high": found.high}  # fmt: skip
    return row


def _noise(points: pd.DataFrame, fit: Fit) -> dict[str, Any]:
    """The noise scale of the trainings, and over B_crit: the ends of both intervals apart."""
    found = along_training(points)
    row: dict[str, Any] = {
        "noise_scale": found.value, "noise_scale_low": found.low, "noise_scale_high": found.high,
        "noise_batch": None if points.empty else points["global_batch"].iloc[0],
    }  # fmt: skip
    if found.value is not None and fit.b_crit is not None:
        row["noise_over_b_crit"] = found.value / fit.b_crit
    if found.low is not None and fit.b_crit_high is not None:
        row["noise_over_b_crit_low"] = found.low / fit.b_crit_high
    if found.high is not None and fit.b_crit_low is not None:
        row["noise_over_b_crit_high"] = found.high / fit.b_crit_low
    return row


def scaling_fit(
    trials: pd.DataFrame, evaluations: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return one row for each (model, optimiser): the fit S = S_min(1 + B_crit/B).

    S are the medians of the repeats; batch sizes that the goal was not reached with are left out.
    perfect_end and maximal_start: the batch sizes where the fit's slope is PERFECT_SLOPE and
    MAXIMAL_SLOPE; small_slope and large_slope are measured without it. Status: the run's, or the
    fit's (`critical_batch`). Raises MixedMachinesError for runs of different machines.
    """
    rows = []
    for key, run in search_runs(runs):
        name = run["run"]
        row = key | {"status": run["status"], "runs": name}
        if run["status"] == "complete":
            steps = batch_medians(trials, name)
            fit = critical_batch(steps)
            row |= fit._asdict() | {"batch_sizes": len(steps)} | _ends(fit)
            row |= _slopes(trials, name)
            row |= _noise(measured_points(evaluations, trials, name), fit)
        rows.append(row)
    return as_table(rows, COLUMNS)
