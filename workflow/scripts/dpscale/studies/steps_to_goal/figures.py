"""Steps to the goal against the batch size, and errors at the same budget."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import log_axes, style
from dpscale.figures.registry import FigureEntry
from dpscale.units import format_value
from dpscale.units.networks import network

NAMES = {"sgd": "plain SGD", "momentum": "momentum", "nesterov": "Nesterov"}
KEY = ["model", "optimizer"]
STEPS = ["steps_to_goal", "steps_to_goal_low", "steps_to_goal_high"]
FIT = ["s_min", "b_crit", "b_crit_low", "b_crit_high"]
BUDGETS = {"epochs": "Equal epochs", "steps": "Equal steps"}
MOST_BUDGETS = 4
MOST_TICKS = 6


def draw_steps(steps_to_goal: pd.DataFrame, goal_fit: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure, a panel for each network, and a frame of what it shows."""
    shown = [*KEY, "global_batch", *STEPS, "perfect_scaling_steps", "regime"]
    known = steps_to_goal.loc[steps_to_goal.steps_to_goal.notna(), shown]
    drawn = known.merge(goal_fit[[*KEY, *FIT]], on=KEY, how="left").astype({"global_batch": int})
    drawn["fitted_steps"] = drawn.s_min * (1 + drawn.b_crit / drawn.global_batch)
    models = list(drawn.groupby("model", sort=False))
    figure, grid = style.panels(1, max(1, len(models)), height_in=2.4)
    if style.nothing(drawn, grid[0]):
        return figure, drawn
    for axes, (model, of_model) in zip(grid, models, strict=True):
        axes.set_title(_named(model))
        for index, (optimizer, own) in enumerate(of_model.groupby("optimizer", sort=False)):
            _steps_of(axes, own, index, NAMES[str(optimizer)])
        span = of_model[STEPS]
        log_axes.log_ticks(axes.yaxis, span.min().min() / 2, span.max().max() * 1.4, "count")
        _batch_axis(axes, sorted(of_model.global_batch.unique()))
    grid[0].set_ylabel("steps to the goal")
    style.legend_above(figure, *grid, columns=4)
    return figure, drawn


def _named(model: object) -> str:
    """What a network is, in two lines where the name is long."""
    name = network(str(model))
    return name[:1].upper() + name[1:]


def _steps_of(axes: Axes, own: pd.DataFrame, index: int, name: str) -> None:
    """Draw an optimiser: its steps, its fit, its critical batch size."""
    batches, first, colour = own.global_batch, own.iloc[0], style.colour_of(index)
    if index == 0:
        scaled = own.perfect_scaling_steps
        axes.plot(
            batches, scaled, color=style.INK, linestyle="--", linewidth=0.9, label="perfect scaling"
        )
    if pd.notna(first.b_crit):
        curve = np.geomspace(batches.min(), batches.max(), 60)
        axes.plot(curve, first.s_min * (1 + first.b_crit / curve), color=colour, linewidth=1.1)
        axes.axvline(first.b_crit, color=colour, linestyle=":", linewidth=1.1)
    axes.plot(
        batches,
        own.steps_to_goal,
        color=colour,
        marker=style.marker_of(index),
        linestyle="none",
        label=name,
    )
    axes.vlines(batches, own.steps_to_goal_low, own.steps_to_goal_high, color=colour, linewidth=1.2)


def draw_budget(budget: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure, a row for each network, and a frame of what it shows."""
    drawn = _telling(budget)
    models = list(drawn.groupby("model", sort=False))
    rows = max(1, len(models))
    figure, grid = style.panels(rows, 2, height_in=0.6 + 1.7 * rows)
    style.nothing(drawn, *grid)
    for row, (model, of_model) in enumerate(models):
        for axes, (kind, title) in zip(grid[2 * row : 2 * row + 2], BUDGETS.items(), strict=True):
            own = of_model[of_model.kind == kind]
            axes.set_title(f"{title}:\n{_named(model)}, {NAMES[of_model.optimizer.iloc[0]]}")
            if own.empty:
                style.note(axes, "no budget that only some batch sizes meet")
            else:
                _budget_panel(axes, own, kind)
        grid[2 * row].set_ylabel("validation error (%), log scale")
    return figure, drawn


def _telling(budget: pd.DataFrame) -> pd.DataFrame:
    """The first optimiser of each network, at budgets that tell its batch sizes apart."""
    shown = [*KEY, "kind", "budget", "global_batch", "validation_error_frac", "goal_error_frac"]
    rows = budget.loc[budget.validation_error_frac.notna(), [*shown, "goal_reached"]]
    rows = rows.astype({"global_batch": int})
    rows = rows[rows.optimizer == rows.groupby("model").optimizer.transform("first")]
    reached = rows.groupby(["model", "kind", "budget"]).goal_reached
    rows = rows[reached.transform("any") & ~reached.transform("all")]
    rank = rows.groupby(["model", "kind"]).budget.rank(method="dense", ascending=False)
    return rows[rank <= MOST_BUDGETS].reset_index(drop=True)


def _budget_panel(axes: Axes, own: pd.DataFrame, kind: str) -> None:
    for index, (size, line) in enumerate(own.groupby("budget")):
        colour, marker = style.colour_of(index), style.marker_of(index)
        errors = 100 * line.validation_error_frac.where(~line.goal_reached, line.goal_error_frac)
        axes.plot(line.global_batch, errors, color=colour, label=_budget_name(size, kind))
        for chosen, face in ((~line.goal_reached, colour), (line.goal_reached, "none")):
            axes.plot(
                line.global_batch[chosen],
                errors[chosen],
                color=colour,
                marker=marker,
                linestyle="none",
                markerfacecolor=face,
            )
    goal = 100 * own.goal_error_frac.iloc[0]
    axes.axhline(goal, color=style.INK, linestyle="--", linewidth=0.9, label="goal")
    axes.set_yscale("log")
    low, high = goal / 1.4, 100.0
    axes.set_ylim(low, high * (high / low) ** 0.35)  # the top is the legend's
    ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100) if low <= tick <= high]
    axes.set_yticks(ticks, [str(tick) for tick in ticks])
    _batch_axis(axes, sorted(own.global_batch.unique()))
    axes.legend(loc="upper left", ncols=2, fontsize=7.5)


def _budget_name(size: float, kind: str) -> str:
    text = format_value(size, "count" if kind == "steps" else "number")
    return f"{text} {kind if size != 1 else kind[:-1]}"


def _batch_axis(axes: Axes, batches: list[int]) -> None:
    """Make the horizontal axis one of batch sizes, each a step to the right."""
    log_axes.log2_ticks(axes, batches[:: -(-len(batches) // MOST_TICKS)], "batch size B")
    axes.set_xlim(batches[0] / 1.5, batches[-1] * 1.5)


FIGURES = {
    "steps_to_goal": FigureEntry(draw_steps, ("steps_to_goal", "goal_fit")),
    "budget": FigureEntry(draw_budget, ("budget",)),
}
