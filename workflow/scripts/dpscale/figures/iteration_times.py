"""Seconds of one iteration and of one epoch against workers, each with a batch of its own."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import log_axes, style
from dpscale.units import format_value

TIMES = {"iteration_s": "One iteration", "epoch_s": "One epoch"}


def draw(iteration_times: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure and a frame of what it shows, a row per number of workers and batch."""
    drawn = _drawn(iteration_times)
    figure, grid = style.panels(1, 2, height_in=3.3)
    for axes, (time, title) in zip(grid, TIMES.items(), strict=True):
        axes.set_title(title)
        if drawn.empty:
            style.note(axes, "not measured yet")
        else:
            _panel(axes, drawn, time)
    style.legend_above(figure, grid[0], columns=4)
    return figure, drawn


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Times of an iteration and an epoch: nothing measured yet."
    parts = [
        f"N = {row.workers}, b = {row.per_worker_batch}: "
        f"{format_value(row.iteration_s, 's')} an iteration, "
        f"{format_value(row.epoch_s, 's')} an epoch"
        + (" (oversubscribed)" if row.oversubscribed else "")
        for row in drawn.itertuples()
    ]
    return "Times against workers. " + "; ".join(parts) + "."


def _drawn(times: pd.DataFrame) -> pd.DataFrame:
    rows = times[times.iteration_s.notna() & (times.status == "complete")].copy()
    rows["oversubscribed"] = [style.known(flag) and bool(flag) for flag in rows.oversubscribed]
    names = [f"{time}{end}" for time in TIMES for end in ("", "_low", "_high")]
    rows[names] = rows[names].apply(pd.to_numeric).astype(float)
    columns = ["per_worker_batch", "workers", "nodes", *names, "oversubscribed"]
    return rows[columns].sort_values(["per_worker_batch", "workers"], ignore_index=True)


def _panel(axes: Axes, drawn: pd.DataFrame, time: str) -> None:
    workers = sorted(int(count) for count in drawn.workers.unique())
    for index, (batch, own) in enumerate(drawn.groupby("per_worker_batch")):
        colour = style.colour_of(index)
        axes.plot(own.workers, own[time], color=colour, linestyle=style.dash_of(index),
                  label=f"b = {batch}")  # fmt: skip
        for over, part in own.groupby("oversubscribed"):
            axes.plot(part.workers, part[time], color=colour, marker=style.marker_of(index),
                      linestyle="none", fillstyle="none" if over else "full")  # fmt: skip
        axes.vlines(own.workers, own[f"{time}_low"], own[f"{time}_high"], color=colour, linewidth=1)
    values = drawn[[time, f"{time}_low", f"{time}_high"]]
    log_axes.log_ticks(
        axes.yaxis, float(values.min().min()) / 1.4, float(values.max().max()) * 1.4, "s"
    )
    axes.set_xscale("log", base=2)
    axes.set_xticks(workers, [str(count) for count in workers])
    axes.minorticks_off()
    axes.set(xlabel="workers N (log scale)", ylabel="time (log scale)")
