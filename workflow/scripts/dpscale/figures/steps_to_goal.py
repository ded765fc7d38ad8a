"""Steps to the goal against the batch size, with perfect scaling, the fit and its regimes."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import log_axes, style
from dpscale.units import format_value

NAMES = {"sgd": "plain SGD", "momentum": "momentum", "nesterov": "Nesterov"}
KEY = ["model", "optimizer"]
STEPS = ["steps_to_goal", "steps_to_goal_low", "steps_to_goal_high", "perfect_scaling_steps"]
FIT = ["s_min", "b_crit", "b_crit_low", "b_crit_high", "perfect_end", "maximal_start"]
MOST_COLUMNS = 3
MOST_TICKS = 6


def draw(steps_to_goal: pd.DataFrame, scaling_fit: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure, a panel for each network and optimiser, and a frame of what it shows."""
    drawn = _drawn(steps_to_goal, scaling_fit)
    panels = list(drawn.groupby(KEY, sort=False))
    models = list(dict.fromkeys(drawn.model))
    columns = max([1, *(len(drawn[drawn.model == model].optimizer.unique()) for model in models)])
    columns = min(columns, MOST_COLUMNS)
    rows = max(1, len(models), -(-len(panels) // columns))
    figure, grid = style.panels(rows, columns, height_in=0.6 + 2.3 * rows)
    if drawn.empty:
        style.note(grid[0], "not measured yet")
        return figure, drawn
    free = list(grid)
    for model in models:
        place = -(-(len(grid) - len(free)) // columns) * columns
        free = grid[place:]
        for (_, optimizer), own in drawn[drawn.model == model].groupby(KEY, sort=False):
            axes = free.pop(0)
            axes.set_title(f"{model}, {NAMES.get(str(optimizer), optimizer)}")
            _panel(axes, own, drawn)
            axes.set_ylabel("steps to the goal" if axes in grid[::columns] else "")
    for axes in grid:
        axes.set_visible(bool(axes.get_title(loc="left")))
    style.legend_above(figure, *grid, columns=4)
    return figure, drawn


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Steps to the goal: nothing measured yet."
    parts = []
    for (model, optimizer), own in drawn.groupby(KEY, sort=False):
        first, last = own.iloc[0], own.iloc[-1]
        bend = format_value(first.b_crit, "count") if style.known(first.b_crit) else "unknown"
        parts.append(
            f"{model} with {NAMES.get(str(optimizer), optimizer)}: "
            f"{format_value(first.steps_to_goal, 'count')} steps at B = {first.global_batch}, "
            f"{format_value(last.steps_to_goal, 'count')} at B = {last.global_batch}, "
            f"critical batch size {bend}"
        )
    return "Steps to the goal. " + "; ".join(parts) + "."


def _drawn(steps_to_goal: pd.DataFrame, scaling_fit: pd.DataFrame) -> pd.DataFrame:
    rows = steps_to_goal[steps_to_goal.steps_to_goal.notna()]
    rows = rows[[*KEY, "global_batch", *STEPS, "regime"]]
    rows = rows.merge(scaling_fit[[*KEY, *FIT]], on=KEY, how="left")
    numeric = [*STEPS, *FIT]
    rows[numeric] = rows[numeric].apply(pd.to_numeric).astype(float)
    rows["global_batch"] = rows["global_batch"].astype(int)
    return rows.assign(fitted_steps=rows.s_min * (1 + rows.b_crit / rows.global_batch))


def _panel(axes: Axes, own: pd.DataFrame, drawn: pd.DataFrame) -> None:
    shown = drawn[drawn.model == own.model.iloc[0]]
    colour, batches = style.colour_of(0), own.global_batch
    axes.plot(
        batches, own.perfect_scaling_steps, color=style.INK, linestyle="--", linewidth=0.9,
        label="perfect scaling",
    )  # fmt: skip
    if own.b_crit.notna().all():
        first = own.iloc[0]
        curve = np.geomspace(batches.min(), batches.max(), 60)
        axes.plot(
            curve, first.s_min * (1 + first.b_crit / curve), color=style.colour_of(1),
            linewidth=1.3, label="fit",
        )  # fmt: skip
        for end in (first.perfect_end, first.maximal_start):
            axes.axvline(
                end, color=style.INK, linestyle=":", linewidth=0.9, label="ends of the regimes"
            )
    axes.plot(
        batches, own.steps_to_goal, color=colour, marker=style.marker_of(0), linestyle="none",
        label="measured",
    )  # fmt: skip
    axes.vlines(batches, own.steps_to_goal_low, own.steps_to_goal_high, color=colour, linewidth=1.2)
    low, high = float(shown[STEPS[:3]].min().min()), float(shown[STEPS[:3]].max().max())
    log_axes.log_ticks(axes.yaxis, low / 2, high * 1.4, "count")
    batch_axis(axes, sorted(shown.global_batch.unique()))


def batch_axis(axes: Axes, batches: list[int]) -> None:
    """Make the horizontal axis one of batch sizes, each a step to the right."""
    axes.set_xscale("log", base=2)
    every = -(-len(batches) // MOST_TICKS)
    ticks = batches[::every]
    axes.set_xticks(ticks, [str(batch) for batch in ticks])
    axes.minorticks_off()
    axes.set(xlim=(batches[0] / 1.5, batches[-1] * 1.5), xlabel="batch size B")
