"""What several workers gain over the step of one, a line a network whose batch alone grows."""

import pandas as pd
from matplotlib.figure import Figure

from dpscale.figures import log_axes, style
from dpscale.figures.registry import FigureEntry

RATIO = ["speedup_ratio", "speedup_ratio_low", "speedup_ratio_high"]


def draw(gains: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of what as many workers gain, and a frame of it, a row per point."""
    known = gains[gains.speedup_ratio.notna() & gains.step_s.notna()]
    drawn = known[["question", "workers", "per_worker_batch", "step_s", *RATIO]].reset_index(
        drop=True
    )
    figure, (axes,) = style.panels(1, 1, height_in=1.3)
    if style.nothing(drawn, axes):
        return figure, drawn
    axes.axhline(1.0, color=style.INK, linestyle="--", linewidth=1)
    for index, (question, line) in enumerate(drawn.groupby("question", sort=False)):
        colour = style.colour_of(index)
        axes.plot(
            line.step_s,
            line.speedup_ratio,
            color=colour,
            linestyle=style.dash_of(index),
            marker=style.marker_of(index),
            markersize=4.5,
            label=str(question),
        )
        held = line.dropna(subset=RATIO)
        axes.vlines(held.step_s, held.speedup_ratio_low, held.speedup_ratio_high, color=colour)
    low, high = drawn[RATIO].min().min(), drawn[RATIO].max().max()
    log_axes.log_ticks(axes.xaxis, 0.8 * drawn.step_s.min(), 1.3 * drawn.step_s.max(), "s")
    log_axes.log2_ratios(axes, 0.8 * min(low, 0.8), 1.25 * max(high, 1.25))
    axes.set_xlabel("step of one worker")
    axes.set_ylabel("speed-up")
    style.legend_above(figure, axes)
    return figure, drawn


FIGURES = {"worker_gains": FigureEntry(draw, ("worker_gains",))}
