"""E1: the seconds of a step, and the memory of a worker, by way of sharing."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import style
from dpscale.figures.registry import FigureEntry
from dpscale.plan.ways import WAYS
from dpscale.units import column_format

LABELS = {"ddp": "DDP"} | {name: way.label for name, way in WAYS.items()}
STEP = ["step_s", "step_s_low", "step_s_high"]
PARTS = {  # part: its label, hatch
    "parameter_bytes": ("parameters", "////"),
    "gradient_bytes": ("gradients", "\\\\\\\\"),
    "state_bytes": ("optimiser's state", "xxxx"),
    "activation_bytes": ("activations", "----"),  # dots take 250 kB of the page
}


def draw_steps(strategies: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the steps and a frame of what they show: a row per N and way."""
    known = strategies[strategies.step_s.notna()]
    drawn = known[["workers", "way", *STEP, "oversubscribed"]].reset_index(drop=True)
    figure, grid = _panels(drawn)
    form = column_format(list(drawn.step_s), "s")
    for axes, (workers, rows) in zip(grid, drawn.groupby("workers"), strict=False):
        axes.set(title=f"N = {workers}", xlabel=f"step ({form.symbol})")
        for place, row in enumerate(rows.itertuples()):
            middle, low, high = (getattr(row, name) / form.scale.factor for name in STEP)
            colour = style.colour_of(place)
            axes.plot(
                middle,
                place,
                marker=style.marker_of(place),
                markersize=5.5,
                color=colour,
                linestyle="none",
            )
            style.interval(axes, place, low, high, colour)
        axes.set_xlim(left=0)
        style.categories(axes, [LABELS[way] for way in rows.way], grid=True)
    return figure, drawn


def _panels(drawn: pd.DataFrame) -> tuple[Figure, list[Axes]]:
    """A panel for each N; one with a remark where nothing was measured."""
    count = max(1, drawn.workers.nunique())
    height_in = max(1.5, 0.85 + 0.3 * drawn.way.nunique())  # labels of two lines
    figure, grid = style.panels(1, count, height_in=height_in)
    if drawn.empty:
        style.note(grid[0])
    return figure, grid


def draw_memory(strategy_needs: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the memory and a frame of what it shows: a row per N and way."""
    known = strategy_needs[strategy_needs.peak_bytes.notna()]
    drawn = known[["workers", "way", "peak_bytes", *PARTS]].reset_index(drop=True)
    figure, grid = _panels(drawn)
    form = column_format(list(drawn.peak_bytes), "bytes_binary")
    for axes, (workers, rows) in zip(grid, drawn.groupby("workers"), strict=False):
        axes.set(title=f"N = {workers}", xlabel=f"{form.symbol} of a worker")
        for place, (_, row) in enumerate(rows.iterrows()):
            _bar(axes, place, row, form.scale.factor)
        style.categories(axes, [LABELS[way] for way in rows.way])
    style.legend_above(figure, *grid[:1], columns=5)
    return figure, drawn


def _bar(axes: Axes, place: int, row: pd.Series, factor: float) -> None:
    """The peak as a frame, in it the parts one after another."""
    start = 0.0
    for index, (part, (label, hatch)) in enumerate(PARTS.items()):
        size = float(row[part]) / factor
        axes.barh(
            place,
            size,
            left=start,
            height=0.56,
            color="none",
            hatch=hatch,
            edgecolor=style.colour_of(index),
            label=label,
        )
        start += size
    axes.barh(
        place,
        row.peak_bytes / factor,
        height=0.72,
        color="none",
        edgecolor=style.INK,
        linewidth=0.8,
        label="peak",
    )


FIGURES = {
    "strategies": FigureEntry(draw_steps, ("strategies",)),
    "strategy_memory": FigureEntry(draw_memory, ("strategy_needs",)),
}
