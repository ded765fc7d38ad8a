"""E2: the time to the goal over workers, a line a global batch, and as a map of the grid."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from dpscale.figures import log_axes, style
from dpscale.figures.registry import FigureEntry
from dpscale.units import format_value, group_digits

SHOWN = [
    "workers",
    "global_batch",
    "predicted",
    "time_to_goal_s",
    "time_to_goal_s_low",
    "time_to_goal_s_high",
    "on_front",
    "to_fastest",
]
CELL = ["workers", "global_batch"]
LIGHTEST, DARKEST = 0.04, 0.62  # of the ink, so that text can be read on every shade


def _cells(time_to_goal: pd.DataFrame, advice: pd.DataFrame) -> pd.DataFrame:
    """The cells with a time, and whether they are the recommended one."""
    drawn = time_to_goal.loc[time_to_goal.time_to_goal_s.notna(), SHOWN]
    take = advice.loc[advice.role == "recommended", CELL].assign(recommended=True)
    drawn = drawn.merge(take, on=CELL, how="left")
    flags = {name: drawn[name].fillna(False).astype(bool) for name in ("recommended", "on_front")}
    return drawn.assign(**flags).astype(dict.fromkeys(CELL, int))


def draw_times(time_to_goal: pd.DataFrame, advice: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the lines and a frame of what they show: a row for each N and global batch."""
    drawn = _cells(time_to_goal, advice)
    figure, (axes,) = style.panels(1, 1, height_in=2.8)
    if style.nothing(drawn, axes):
        return figure, drawn
    workers = sorted(drawn.workers.unique())
    low, high = drawn.time_to_goal_s.min() / 1.6, drawn.time_to_goal_s.max() * 1.6
    log_axes.log2_axes(axes, workers, low, high, room=0.3)
    log_axes.log_ticks(axes.yaxis, low, high, "s")
    ends = []
    for place, (batch, own) in enumerate(drawn.groupby("global_batch")):
        line = own.sort_values("workers")
        _line(axes, line, place)
        last = line.iloc[-1]
        ends.append((last.workers, last.time_to_goal_s, f"B = {group_digits(batch)}"))
    for row in drawn[drawn.recommended].itertuples():
        axes.plot(
            row.workers, row.time_to_goal_s, marker="*", markersize=15, color=style.INK, zorder=5
        )
    log_axes.end_labels(axes, ends, gap=0.055, leaders=True)
    axes.set_ylabel("time to the goal")
    return figure, drawn


def _line(axes: Axes, line: pd.DataFrame, place: int) -> None:
    """The cells of a global batch: measured ones filled, those on the front ringed."""
    colour, marker = style.colour_of(place), style.marker_of(place)
    axes.plot(
        line.workers,
        line.time_to_goal_s,
        color=colour,
        linewidth=1.0,
        linestyle=style.dash_of(place),
    )
    for row in line.itertuples():
        axes.plot(
            row.workers,
            row.time_to_goal_s,
            marker=marker,
            markersize=4.5,
            color=colour,
            markerfacecolor="none" if row.predicted else colour,
        )
        if row.on_front:
            axes.plot(
                row.workers,
                row.time_to_goal_s,
                marker="o",
                markersize=11,
                color=style.INK,
                markerfacecolor="none",
                markeredgewidth=1.1,
            )


def draw_map(time_to_goal: pd.DataFrame, advice: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the map and a frame of what it shows: a row for each N and global batch."""
    drawn = _cells(time_to_goal, advice)
    workers, batches = (sorted(drawn[name].unique()) for name in CELL)
    figure, (axes,) = style.panels(1, 1, height_in=1.2 + 0.3 * max(3, len(workers)))
    if style.nothing(drawn, axes):
        return figure, drawn
    logs = np.log(drawn.time_to_goal_s)
    span = float(logs.max() - logs.min()) or 1.0
    for row, log in zip(drawn.itertuples(), logs, strict=True):
        corner = (batches.index(row.global_batch) - 0.5, workers.index(row.workers) - 0.5)
        shade = DARKEST - (DARKEST - LIGHTEST) * (log - logs.min()) / span
        axes.add_patch(Rectangle(corner, 1, 1, facecolor=style.colour_of(0), alpha=shade))
        if row.recommended:
            axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=style.INK, linewidth=2))
        text = format_value(row.time_to_goal_s, "s")
        mark = "≈ " if row.to_fastest == "indistinct" else ""
        centre = (corner[0] + 0.5, corner[1] + 0.5)
        axes.annotate(mark + text, centre, ha="center", va="center", fontsize=7)
    axes.set(xlim=(-0.5, len(batches) - 0.5), ylim=(len(workers) - 0.5, -0.5))
    axes.set_xticks(range(len(batches)), [group_digits(batch) for batch in batches])
    axes.set_yticks(range(len(workers)), [str(count) for count in workers])
    axes.set(xlabel="global batch B", ylabel="workers N")
    axes.tick_params(length=0)
    axes.grid(False)
    return figure, drawn


FIGURES = {
    "time_to_goal": FigureEntry(draw_times, ("time_to_goal", "advice")),
    "choice_map": FigureEntry(draw_map, ("time_to_goal", "advice")),
}
