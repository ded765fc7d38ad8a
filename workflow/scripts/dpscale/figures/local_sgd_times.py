"""S4: predicted time of an epoch against the local steps between averages, on named links."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import log_axes, style
from dpscale.units import format_value, group_digits

COLUMNS = ["link", "workers", "per_worker_batch", "local_steps", "epoch_s"]


def draw(local_sgd_times: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure and a frame of what it shows: a row per link, batch and H."""
    drawn = _drawn(local_sgd_times)
    batches = sorted(drawn.per_worker_batch.unique())
    figure, grid = style.panels(1, max(len(batches), 1), height_in=2.8 if len(batches) else 1.8)
    if not batches:
        reasons = local_sgd_times.note.dropna().unique()
        style.note(grid[0], f"refused: {reasons[0]}" if len(reasons) else "not measured yet")
        return figure, drawn
    low, high = drawn.epoch_s.min() / 1.3, drawn.epoch_s.max() * 1.3
    for axes, batch in zip(grid, batches, strict=True):
        rows = drawn[drawn.per_worker_batch == batch]
        axes.set_title(f"N = {int(rows.workers.iloc[0])}, b = {group_digits(int(batch))}")
        _panel(axes, rows, low, high)
    grid[0].set_ylabel("epoch, predicted (log scale)")
    style.legend_above(figure, *grid)
    return figure, drawn


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Time of an epoch against local steps: nothing measured yet."
    parts = [
        f"{row.link}, b = {row.per_worker_batch:g}, H = {row.local_steps:g}: "
        f"{format_value(row.epoch_s, 's')}"
        for row in drawn.itertuples()
    ]
    return "Predicted time of an epoch. " + "; ".join(parts) + "."


def _drawn(times: pd.DataFrame) -> pd.DataFrame:
    rows = times[times.epoch_s.notna()][COLUMNS].copy()
    numeric = [name for name in COLUMNS if name != "link"]
    rows[numeric] = rows[numeric].apply(pd.to_numeric).astype(float)
    return rows.reset_index(drop=True)


def _panel(axes: Axes, rows: pd.DataFrame, low: float, high: float) -> None:
    for index, (link, line) in enumerate(rows.groupby("link", sort=False)):
        axes.plot(
            line.local_steps, line.epoch_s, color=style.colour_of(index),
            marker=style.marker_of(index), linestyle=style.dash_of(index), label=str(link),
        )  # fmt: skip
    axes.set_xscale("log", base=2)
    steps = sorted({int(every) for every in rows.local_steps})
    axes.set_xticks(steps, [str(every) for every in steps])
    axes.minorticks_off()
    log_axes.log_ticks(axes.yaxis, low, high, "s")
    axes.set_xlabel("local steps H between averages")
