"""The gradient noise scale along the repeats of a search's winner."""

from typing import Any

import numpy as np
import pandas as pd

from dpscale.derive.columns import Columns, as_table, floats, integers, texts
from dpscale.derive.formulas import gradient_square, gradient_variance, simple_noise_scale
from dpscale.derive.searches import of_role, search_runs
from dpscale.derive.statistics import Estimate, median

COLUMNS: Columns = (
    texts("model optimizer")
    | integers("global_batch point seeds")
    | floats("progress_frac noise_scale noise_scale_low noise_scale_high")
    | floats("gradient_square gradient_variance")
    | texts("status runs")
)


def measured_points(evaluations: pd.DataFrame, trials: pd.DataFrame, run: str) -> pd.DataFrame:
    """Return the points of a run's repeats at which gradients were measured.

    Columns: trial, global_batch, point (0 at the start), progress_frac (of the steps to the goal),
    gradient_square, gradient_variance and noise_scale in samples, null where the gradient does not
    show above its own noise.
    """
    repeats = of_role(trials, run, "repeat")[["trial", "global_batch", "steps_to_goal"]]
    probes = evaluations[(evaluations["run"] == run) & evaluations["big_batch"].notna()]
    rows = probes.merge(repeats, on="trial").sort_values(["trial", "step"])
    norms = [rows[name].to_numpy(dtype=float)
             for name in ("small_gradient_square", "big_gradient_square",
                          "small_batch", "big_batch")]  # fmt: skip
    square, variance = gradient_square(*norms), gradient_variance(*norms)
    scale = np.where(
        square > 0, simple_noise_scale(variance, np.where(square > 0, square, 1)), np.nan
    )
    return rows[["trial", "global_batch"]].assign(
        point=rows.groupby("trial").cumcount(),
        progress_frac=(rows["step"] / rows["steps_to_goal"]).astype(float),
        gradient_square=square,
        gradient_variance=variance,
        noise_scale=scale,
    )


def along_training(points: pd.DataFrame) -> Estimate:
    """Return the noise scale of whole trainings: of each the geometric mean, then the median.

    Points at the start, where every network is still the same, do not count.
    """
    later = points[(points["point"] > 0) & points["noise_scale"].notna()]
    means = np.exp(np.log(later["noise_scale"]).groupby(later["trial"]).mean())
    return median(means.to_numpy(dtype=float))


def noise_scale(
    evaluations: pd.DataFrame, trials: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return one row for each (model, optimiser, point along the training): medians over seeds.

    noise_scale: B_simple in samples. Runs without such points have one row with their status.
    """
    rows: list[dict[str, Any]] = []
    for key, run in search_runs(runs):
        own = key | {"status": run["status"], "runs": run["run"]}
        points = measured_points(evaluations, trials, run["run"])
        if points.empty:
            rows.append(own)
        for (batch, point), group in points.groupby(["global_batch", "point"]):
            scale = median(group["noise_scale"].to_numpy(dtype=float))
            rows.append(own | {
                "global_batch": batch, "point": point, "seeds": len(group),
                "progress_frac": median(group["progress_frac"].to_numpy(dtype=float)).value,
                "noise_scale": scale.value, "noise_scale_low": scale.low,
                "noise_scale_high": scale.high,
                "gradient_square": group["gradient_square"].median(),
                "gradient_variance": group["gradient_variance"].median(),
            })  # fmt: skip
    return as_table(rows, COLUMNS)
