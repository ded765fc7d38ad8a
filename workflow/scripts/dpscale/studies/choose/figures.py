"""E2: the time to the goal as a map of workers and global batches."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from dpscale.figures import style
from dpscale.figures.registry import FigureEntry
from dpscale.units import format_value, group_digits

SHOWN = ["workers", "global_batch", "predicted", "time_to_goal_s", "to_fastest"]
CELL = ["workers", "global_batch"]
LIGHTEST, DARKEST = 0.04, 0.62  # of the ink, so that text can be read on every shade


def _cells(time_to_goal: pd.DataFrame, advice: pd.DataFrame) -> pd.DataFrame:
    """The cells with a time, and whether they are the recommended one."""
    drawn = time_to_goal.loc[time_to_goal.time_to_goal_s.notna(), SHOWN]
    take = advice.loc[advice.role == "recommended", CELL].assign(recommended=True)
    drawn = drawn.merge(take, on=CELL, how="left")
    flag = drawn["recommended"].fillna(False).astype(bool)
    return drawn.assign(recommended=flag).astype(dict.fromkeys(CELL, int))


def draw_map(time_to_goal: pd.DataFrame, advice: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the map and a frame of what it shows: a row for each N and global batch."""
    drawn = _cells(time_to_goal, advice)
    workers, batches = (sorted(drawn[name].unique()) for name in CELL)
    figure, (axes,) = style.panels(1, 1, height_in=0.75 + 0.26 * max(3, len(workers)))
    if style.nothing(drawn, axes):
        return figure, drawn
    logs = np.log(drawn.time_to_goal_s)
    span = float(logs.max() - logs.min()) or 1.0
    for row, log in zip(drawn.itertuples(), logs, strict=True):
        corner = (batches.index(row.global_batch) - 0.5, workers.index(row.workers) - 0.5)
        shade = DARKEST - (DARKEST - LIGHTEST) * (log - logs.min()) / span
        axes.add_patch(Rectangle(corner, 1, 1, facecolor=style.colour_of(0), alpha=shade))
        if row.predicted:
            axes.add_patch(
                Rectangle(corner, 1, 1, fill=False, hatch="////", alpha=0.25, linewidth=0)
            )
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


FIGURES = {"choice_map": FigureEntry(draw_map, ("time_to_goal", "advice"))}
