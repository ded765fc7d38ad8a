"""Bandwidth that communication reached, and what compressed gradients do to bytes and to a step."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import log_axes, style
from dpscale.units import column_format, format_value

CELL = ["workers", "nodes", "per_worker_batch"]
# column: label, marker, its size, colour, place across the row
MARKS = {
    "lab_bytes_per_s": ("by subtraction, as in the lab", "o", 5.5, style.COLOURS[0], -0.14),
    "busbw_bytes_per_s": ("the same buckets alone", "s", 5, style.COLOURS[1], 0.14),
    "link_bytes_per_s": ("rate of the link", "|", 15, style.COLOURS[2], 0.0),
}
ENDS = [f"{name}_bytes_per_s{end}" for name in ("lab", "busbw") for end in ("_low", "_high")]
HOOKS = {"fp16": "fp16", "bf16": "bf16", "powersgd": "PowerSGD"}
BYTES = ["bytes_ratio", "interface_ratio"]
TIMES = ["step_ratio", "step_ratio_low", "step_ratio_high"]


def draw_bandwidth(
    bandwidth: pd.DataFrame, communication: pd.DataFrame
) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of the rates and a frame of what it shows: a row per cell whose
    communication could be subtracted."""
    drawn = _rates(bandwidth, communication)
    figure, (axes,) = style.panels(1, 1, height_in=max(1.6, 0.9 + 0.2 * len(drawn)))
    if not drawn[list(MARKS)].notna().any(axis=None):
        style.note(axes, "not measured yet, or no communication above zero")
        return figure, drawn
    # Logarithmic: what a small message reaches and what the link can do are far apart.
    rates = drawn[[*MARKS, *ENDS]].astype(float)
    log_axes.log_ticks(axes.xaxis, rates.min().min() / 1.6, rates.max().max() * 1.6, "bytes/s")
    axes.set_xlabel("bytes per second (log scale); on the right by subtraction")
    for name in MARKS:
        _marks(axes, rates[rates[name].notna()], name)
    style.categories(axes, drawn.label.tolist(), grid=True)
    form = column_format(drawn.lab_bytes_per_s.tolist(), "bytes/s")
    style.margin_column(
        axes,
        [
            _rate(row, f"{form.text(row.lab_bytes_per_s)} {form.symbol}")
            for row in drawn.itertuples()
        ],
    )
    style.legend_above(figure, axes)
    return figure, drawn


def _rate(row: Any, text: str) -> str:
    """The lab's rate in words: none without an upper bound, since its time may be zero."""
    if pd.isna(row.lab_bytes_per_s):
        return "none above zero"
    open_ended = pd.notna(row.lab_bytes_per_s_low) and pd.isna(row.lab_bytes_per_s_high)
    return "time may be zero" if open_ended else text


def _marks(axes: Axes, rates: pd.DataFrame, name: str) -> None:
    """One rate of every row, with its interval; dotted to the edge without an upper bound."""
    label, marker, size, colour, shift = MARKS[name]
    for place, row in rates.iterrows() if f"{name}_low" in rates else ():
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        style.interval(axes, place + shift, low, high, colour)
        if pd.notna(low) and pd.isna(high):
            edge = axes.get_xlim()[1]
            axes.hlines(place + shift, low, edge, color=colour, linewidth=1.2, linestyle=":")
    if len(rates):
        axes.plot(
            rates[name],
            rates.index + shift,
            marker=marker,
            markersize=size,
            color=colour,
            linestyle="none",
            markeredgewidth=2 if marker == "|" else 0,
            label=label,
        )


def _rates(bandwidth: pd.DataFrame, communication: pd.DataFrame) -> pd.DataFrame:
    times = communication[communication.subtraction_s.notna() & (communication.workers > 1)]
    rows = bandwidth.merge(times[CELL], on=CELL).sort_values(CELL, ignore_index=True)
    return rows.assign(label=style.cell_labels(rows))[["label", *CELL, *MARKS, *ENDS]]


def draw_compression(compression: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of both ratios and a frame of what it shows, a row per hook."""
    drawn = _ratios(compression)
    height_in = max(1.7, 1.1 + 0.2 * len(drawn))
    figure, (left, right) = style.panels(1, 2, height_in=height_in, sharey=True)
    left.set_title("Bytes of the gradients")
    right.set_title("Time of a step")
    if style.nothing(drawn, left, right):
        return figure, drawn
    _bars(left, drawn[BYTES], style.COLOURS[0], "")
    _bars(right, drawn[TIMES], style.COLOURS[1], "////")
    left.plot(
        drawn.interface_ratio,
        drawn.index,
        marker="D",
        color=style.COLOURS[2],
        linestyle="none",
        label="all bytes at the network interface",
    )
    for row in drawn.itertuples():
        style.interval(right, row.Index, row.step_ratio_low, row.step_ratio_high)
    style.categories(left, drawn.label.tolist())
    style.legend_above(figure, left, right)
    return figure, drawn


def _bars(axes: Axes, ratios: pd.DataFrame, colour: str, hatch: str) -> None:
    """Ratios to plain DDP, in the first column: a bar each and its number in the margin.

    The dashed line is equality.
    """
    shown = ratios.iloc[:, 0]
    ground = "none" if hatch else colour
    axes.barh(
        ratios.index, shown.fillna(0.0), height=0.5, color=ground, edgecolor=colour, hatch=hatch
    )
    axes.axvline(1, color=style.INK, linewidth=0.8, linestyle="--", label="without compression")
    axes.set_xlabel("ratio to DDP without compression")
    axes.set_xlim(0, max(1.0, ratios.max().max()) * 1.05)
    axes.grid(axis="y", visible=False)
    style.margin_column(axes, [format_value(value, "ratio") for value in shown])


def _ratios(compression: pd.DataFrame) -> pd.DataFrame:
    rows = compression[compression.step_ratio.notna() | compression.bytes_ratio.notna()]
    rows = rows.sort_values([*CELL, "hook"], ignore_index=True)
    several = len(rows[CELL].drop_duplicates()) > 1
    cells = [f", {label}" if several else "" for label in style.cell_labels(rows)]
    rows["label"] = [HOOKS[hook] + cell for hook, cell in zip(rows.hook, cells, strict=True)]
    return rows[["label", *CELL, *BYTES, *TIMES]]
