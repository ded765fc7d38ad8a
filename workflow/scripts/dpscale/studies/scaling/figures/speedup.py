"""Speed-up of an epoch against the number of workers, weak and strong scaling."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import log_axes, style
from dpscale.units import group_digits

KINDS = {
    "weak": ("Batch per worker fixed", "per_worker_batch", "b"),
    "strong": ("Global batch fixed", "global_batch", "B"),
}


def draw(scaling: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of the speed-ups and a frame of what it shows, a row per point."""
    drawn = _drawn(scaling)
    figure, grid = style.panels(1, 2, height_in=2.3, sharey=True)
    for axes, (kind, (title, _, letter)) in zip(grid, KINDS.items(), strict=True):
        axes.set_title(title)
        points = drawn[drawn.kind == kind]
        if points.empty:
            style.note(axes, shared_y=len(drawn) > 0)
            continue
        _panel(axes, points, letter, low=_bottom(drawn), top=_top(drawn))
    grid[0].set_ylabel("speed-up (log scale)")
    return figure, drawn


def _drawn(scaling: pd.DataFrame) -> pd.DataFrame:
    rows = scaling[(scaling.status == "complete") & scaling.speedup_ratio.notna()].copy()
    rows["batch"] = [
        row.per_worker_batch if row.kind == "weak" else row.global_batch
        for row in rows.itertuples()
    ]
    columns = [
        "kind",
        "batch",
        "workers",
        "nodes",
        "speedup_ratio",
        "speedup_ratio_low",
        "speedup_ratio_high",
        "oversubscribed",
    ]
    return rows[columns].sort_values(
        ["kind", "batch", "workers"], ascending=[False, True, True], ignore_index=True
    )


def _top(drawn: pd.DataFrame) -> float:
    highest = drawn[["speedup_ratio", "speedup_ratio_high"]].max().max()
    return 1.15 * max(float(drawn.workers.max()), float(highest))


def _bottom(drawn: pd.DataFrame) -> float:
    lowest = drawn[["speedup_ratio", "speedup_ratio_low"]].min().min()
    return min(0.8, 0.85 * float(lowest))


def _panel(axes: Axes, points: pd.DataFrame, letter: str, *, low: float, top: float) -> None:
    workers = sorted(points.workers.unique())
    axes.plot(workers, workers, color=style.INK, linestyle="--", linewidth=1)
    ends: list[tuple[float, float, str]] = [(workers[-1], float(workers[-1]), "ideal")]
    for index, (batch, line) in enumerate(points.groupby("batch")):
        _line(axes, line, index)
        last = line.iloc[-1]
        ends.append((last.workers, last.speedup_ratio, f"{letter} = {group_digits(int(batch))}"))
    log_axes.log2_axes(axes, workers, low, top)
    log_axes.end_labels(axes, ends, gap=0.07)


def _line(axes: Axes, line: pd.DataFrame, index: int) -> None:
    colour, marker = style.colour_of(index), style.marker_of(index)
    axes.plot(line.workers, line.speedup_ratio, color=colour, linestyle=style.dash_of(index))
    for row in line.itertuples():
        axes.plot(
            [row.workers],
            [row.speedup_ratio],
            marker=marker,
            color=colour,
            fillstyle="none" if row.oversubscribed else "full",
            linestyle="none",
            markersize=6 if row.oversubscribed else 4.5,
            clip_on=False,
        )
        if pd.notna(row.speedup_ratio_low) and pd.notna(row.speedup_ratio_high):
            axes.vlines(
                row.workers,
                row.speedup_ratio_low,
                row.speedup_ratio_high,
                color=colour,
                linewidth=1,
            )
