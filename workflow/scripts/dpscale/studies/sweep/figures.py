"""Time of an epoch, throughput and peak memory of one device against the batch size."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import log_axes, style
from dpscale.figures.registry import FigureEntry
from dpscale.units import column_format, status_text

RATES = ["samples_per_s", "samples_per_s_low", "samples_per_s_high"]


def draw(
    sweep: pd.DataFrame, boundary: pd.DataFrame, trend: pd.DataFrame
) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of the batch sweep and a frame of what it shows, a row per batch size."""
    drawn = _drawn(sweep, boundary)
    levels = trend[trend["shape"] == "falls then flat"]["knee_batch"]
    drawn["levels_off"] = drawn.per_worker_batch.isin(levels)
    figure, (left, right) = style.panels(1, 2, height_in=1.95)
    complete = drawn[drawn.status == "complete"]
    for axes in (left, right):
        _batch_axis(axes, drawn.per_worker_batch.tolist())
    if style.nothing(complete, left, right, text="no batch size measured yet"):
        return figure, drawn
    times = complete[["epoch_s", "epoch_s_low", "epoch_s_high"]].astype(float)
    scale = column_format(times.epoch_s.tolist(), "s").scale
    left.set(title="Time of an epoch", ylabel=scale.symbol)
    _curve(left, complete, times / scale.factor)
    right.set(title="Throughput", ylabel="samples/s")
    _curve(right, complete, complete[RATES].astype(float))
    for batch in complete[complete.levels_off].per_worker_batch:
        left.axvline(batch, color=style.INK, linestyle=":", linewidth=1)
        _label(left, "levels off", (batch, left.get_ylim()[1] * 0.975), (4, 0), va="top")
    _limits(left, drawn)
    return figure, drawn


def draw_memory(sweep: pd.DataFrame, boundary: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of peak memory and a frame of what it shows, a row per batch size."""
    drawn = _drawn(sweep, boundary)
    figure, (axes,) = style.panels(1, 1, height_in=1.8)
    _batch_axis(axes, drawn.per_worker_batch.tolist())
    complete = drawn[drawn.status == "complete"]
    if not style.nothing(complete, axes, text="no peak memory measured yet"):
        _memory(axes, complete)
    return figure, drawn


def _drawn(sweep: pd.DataFrame, boundary: pd.DataFrame) -> pd.DataFrame:
    columns = ["epoch_s", "epoch_s_low", "epoch_s_high", "samples_per_s", "peak_memory_bytes"]
    drawn = sweep[["per_worker_batch", "status", *columns]].copy()
    # Throughput is D / epoch_s: the interval of the time gives that of the rate, turned round.
    drawn["samples_per_s_low"] = sweep.samples_per_s * sweep.epoch_s / sweep.epoch_s_high
    drawn["samples_per_s_high"] = sweep.samples_per_s * sweep.epoch_s / sweep.epoch_s_low
    budget = boundary.memory_budget_bytes.dropna()
    drawn["memory_budget_bytes"] = float(budget.iloc[0]) if len(budget) else None
    return drawn.sort_values("per_worker_batch", ignore_index=True)


def _batch_axis(axes: Axes, batches: list[int]) -> None:
    log_axes.log2_ticks(axes, batches, "batch size (samples, log scale)")
    if batches:
        axes.set_xlim(min(batches) / 1.6, max(batches) * 1.6)


def _curve(axes: Axes, complete: pd.DataFrame, values: pd.DataFrame) -> None:
    x, colour = complete.per_worker_batch, style.COLOURS[0]
    style.curve(axes, x, values, colour, opacity=0.22, marker="o")
    axes.set_ylim(0, values.max().max() * 1.25)


def _limits(axes: Axes, drawn: pd.DataFrame) -> None:
    for row in drawn[drawn.status != "complete"].itertuples():
        axes.plot(
            [row.per_worker_batch],
            [0],
            marker="x",
            markersize=8,
            markeredgewidth=2,
            color=style.COLOURS[1],
            linestyle="none",
            clip_on=False,
        )
        place = (row.per_worker_batch, 0)
        _label(axes, status_text(row.status), place, (0, 8), ha="center", va="bottom", rotation=90)


def _label(
    axes: Axes, text: str, place: tuple[float, float], beside: tuple[int, int], **look: Any
) -> None:
    axes.annotate(text, place, xytext=beside, textcoords="offset points", **look)


def _memory(axes: Axes, complete: pd.DataFrame) -> None:
    axes.set_title("Peak memory")
    budget = complete.memory_budget_bytes.iloc[0]
    values = [*complete.peak_memory_bytes.dropna(), *([budget] if pd.notna(budget) else [])]
    if complete.peak_memory_bytes.isna().all():
        return style.note(axes, "peak memory not known")
    scale = column_format(values, "bytes_binary").scale
    axes.plot(
        complete.per_worker_batch,
        complete.peak_memory_bytes / scale.factor,
        color=style.COLOURS[2],
        marker="s",
    )
    if pd.notna(budget):
        axes.axhline(budget / scale.factor, color=style.INK, linestyle="--", linewidth=1)
        axes.annotate(
            "budget",
            (0.01, budget / scale.factor),
            xytext=(0, 3),
            va="bottom",
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
        )
    axes.set_ylim(0, max(values) / scale.factor * 1.2)
    axes.set_ylabel(scale.symbol)


FIGURES = {
    "batch_sweep": FigureEntry(draw, ("sweep", "boundary", "sweep_trend")),
    "batch_memory": FigureEntry(draw_memory, ("sweep", "boundary")),
}
