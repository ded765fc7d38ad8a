"""Throughput against the number of learners on a device, the chosen number marked."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import style
from dpscale.units import format_value

IN_A_ROW = 3
COLUMNS = [
    "model", "per_learner_batch", "learners", "stacked", "samples_per_s", "samples_per_s_low",
    "samples_per_s_high", "chosen",
]  # fmt: skip


def draw(learners: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure and a frame of what it shows: a row per model, batch and number."""
    drawn = learners.loc[learners.samples_per_s.notna(), COLUMNS].reset_index(drop=True)
    drawn[["stacked", "chosen"]] = drawn[["stacked", "chosen"]].fillna(False).astype(bool)
    cells = list(drawn.groupby(["model", "per_learner_batch"], sort=False))
    rows = max(1, -(-len(cells) // IN_A_ROW))
    width = min(IN_A_ROW, max(1, len(cells)))
    figure, grid = style.panels(rows, width, height_in=0.6 + 2.2 * rows)
    if not cells:
        style.note(grid[0], "not measured yet")
        return figure, drawn
    for axes, ((model, batch), own) in zip(grid, cells, strict=False):
        axes.set_title(f"{model}, b = {batch}")
        _panel(axes, own)
    for axes in grid[len(cells) :]:
        axes.set_visible(False)
    grid[0].set_ylabel("thousand samples/s")
    style.legend_above(figure, *grid)
    return figure, drawn


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Learners on a device: nothing measured yet."
    parts = []
    for (model, batch), own in drawn[drawn.stacked].groupby(
        ["model", "per_learner_batch"], sort=False
    ):
        speeds = ", ".join(
            f"{row.learners}: {format_value(row.samples_per_s, 'samples/s')}"
            for row in own.itertuples()
        )
        chosen = ", ".join(str(count) for count in own.learners[own.chosen])
        parts.append(f"{model}, b = {batch}: {speeds}; chosen {chosen or 'none'}")
    return "Throughput by number of learners. " + ". ".join(parts) + "."


def _panel(axes: Axes, own: pd.DataFrame) -> None:
    stacked, plain = own[own.stacked], own[~own.stacked]
    x, speed = stacked.learners, stacked.samples_per_s / 1e3
    axes.plot(x, speed, color=style.COLOURS[0], marker="o", label="stacked learners")
    axes.vlines(
        x,
        stacked.samples_per_s_low.astype(float) / 1e3,
        stacked.samples_per_s_high.astype(float) / 1e3,
        color=style.COLOURS[0],
        linewidth=1.2,
    )
    for value in plain.samples_per_s:
        axes.axhline(
            value / 1e3, color=style.INK, linestyle="--", linewidth=1, label="one network, plain"
        )
    chosen = stacked[stacked.chosen]
    axes.plot(
        chosen.learners,
        chosen.samples_per_s / 1e3,
        marker="o",
        markersize=11,
        markerfacecolor="none",
        markeredgecolor=style.COLOURS[1],
        markeredgewidth=1.8,
        linestyle="none",
        label="chosen",
    )
    tops = own[["samples_per_s", "samples_per_s_high"]].max().max() / 1e3
    axes.set_ylim(0, 1.15 * float(tops))
    axes.set_xlabel("learners on the device")
    style.whole_numbers(axes)
