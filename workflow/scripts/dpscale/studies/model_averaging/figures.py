"""S3: when each seed of each arm reached the target, and throughput against the learners."""

from textwrap import fill
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import style
from dpscale.figures.registry import FigureEntry
from dpscale.units.networks import network

REACHED = {"epochs_to_target": "epochs", "seconds_to_target": "wall_s"}  # and where it gave up
TIME_COLUMNS = ["arm", "optimizer", "label", "seed", "goal", *REACHED, *REACHED.values()]
IN_A_ROW = 3
ARROW = "$\u2192$"
CELL = ["model", "per_learner_batch"]
LEARNER_COLUMNS = [
    *CELL,
    "learners",
    "stacked",
    "samples_per_s",
    "samples_per_s_low",
    "samples_per_s_high",
    "chosen",
]


def draw_times(
    averaging_times: pd.DataFrame, model_averaging: pd.DataFrame
) -> tuple[Figure, pd.DataFrame]:
    """Return when each seed of each arm reached the target, and a frame of it: a row a training.

    One that did not has an arrow at the end of its training. Of averaged learners at one rate the
    first pull is shown.
    """
    again = model_averaging.duplicated(["optimizer", "lr"]) & (model_averaging.optimizer == "sma")
    shown = averaging_times.arm.isin(model_averaging.arm[~again])
    drawn = averaging_times.loc[shown, TIME_COLUMNS].reset_index(drop=True)
    labels = list(drawn.label.unique())
    height_in = max(1.7, 0.85 + 0.21 * len(labels))
    figure, (left, right) = style.panels(1, 2, height_in=height_in, sharey=True)
    if drawn.empty:
        style.note(left)
        style.note(right, shared_y=True)
        return figure, drawn
    for axes, reached, unit in zip((left, right), REACHED, ("epochs", "seconds"), strict=True):
        _arrivals(axes, drawn, labels, reached)
        axes.set(xlabel=f"{unit} of training to the target", xlim=(0, None))
    style.categories(left, labels, grid=True)
    style.legend_above(figure, left)
    return figure, drawn


def _arrivals(axes: Axes, drawn: pd.DataFrame, labels: list[str], reached: str) -> None:
    """A dot a seed where it reached the target, an arrow where its training ended without.

    Arrows have the colours of their arms' dots, and one entry of the legend.
    """
    places = drawn.label.map(labels.index) + _jitter(drawn)
    missed = drawn[reached].isna() & (drawn.goal == "incomplete")
    colours = {"sgd": style.COLOURS[0], "sma": style.COLOURS[1]}
    for optimizer, colour in colours.items():
        arrived = drawn[reached].notna() & (drawn.optimizer == optimizer)
        name = "SGD" if optimizer == "sgd" else "averaged learners"
        look: dict[str, Any] = {"color": colour, "linestyle": "none", "markersize": 5}
        axes.plot(drawn[reached][arrived], places[arrived], marker="o", label=name, **look)
        own = missed & (drawn.optimizer == optimizer)
        if own.any():
            ends = drawn[REACHED[reached]][own]
            axes.plot(ends, places[own], marker=ARROW, **look | {"markersize": 7})
    if missed.any():
        look = {"color": style.INK, "linestyle": "none", "markersize": 7}
        axes.plot([], [], marker=ARROW, label="not by the end", **look)


def _jitter(drawn: pd.DataFrame) -> pd.Series:
    """Seeds of an arm above each other, so that equal times are all seen."""
    rank = drawn.groupby("label").cumcount()
    count = drawn.groupby("label")["seed"].transform("size")
    return 0.5 * ((rank + 0.5) / count - 0.5)


def draw_learners(learners: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of the throughputs and a frame of it: a row per model, batch and number."""
    drawn = learners.loc[learners.samples_per_s.notna(), LEARNER_COLUMNS].reset_index(drop=True)
    cells = list(drawn.groupby(CELL, sort=False))
    rows = max(1, -(-len(cells) // IN_A_ROW))
    width = min(IN_A_ROW, max(1, len(cells)))
    figure, grid = style.panels(rows, width, height_in=0.5 + 1.6 * rows)
    if not cells:
        style.note(grid[0])
        return figure, drawn
    for axes, ((model, batch), own) in zip(grid, cells, strict=False):
        axes.set_title(
            fill(f"{network(str(model)).capitalize()}, b\u00a0=\u00a0{batch}", 78 // width)
        )
        _throughputs(axes, own)
    for axes in grid[len(cells) :]:
        axes.set_visible(False)
    grid[0].set_ylabel("thousand samples/s")
    style.legend_above(figure, *grid)
    return figure, drawn


def _throughputs(axes: Axes, own: pd.DataFrame) -> None:
    stacked, plain, chosen = own[own.stacked], own[~own.stacked], own[own.chosen]
    x, low, high = stacked.learners, stacked.samples_per_s_low, stacked.samples_per_s_high
    colour, ring = style.COLOURS[:2]
    axes.plot(x, stacked.samples_per_s / 1e3, color=colour, marker="o", label="stacked learners")
    axes.vlines(x, low / 1e3, high / 1e3, color=colour, linewidth=1.2)
    for value in plain.samples_per_s / 1e3:
        axes.axhline(
            value, color=style.INK, linestyle="--", linewidth=1, label="one network, plain"
        )
    axes.plot(
        chosen.learners,
        chosen.samples_per_s / 1e3,
        marker="o",
        markersize=11,
        markerfacecolor="none",
        markeredgecolor=ring,
        markeredgewidth=1.8,
        linestyle="none",
        label="chosen",
    )
    top = own[["samples_per_s", "samples_per_s_high"]].max().max() / 1e3
    axes.set_ylim(0, 1.15 * top)
    axes.set_xlabel("learners on the device")
    style.whole_numbers(axes)


FIGURES = {
    "model_averaging": FigureEntry(draw_times, ("averaging_times", "model_averaging")),
    "learners": FigureEntry(draw_learners, ("learners",)),
}
