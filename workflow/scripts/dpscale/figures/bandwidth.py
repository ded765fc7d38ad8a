"""Bandwidth that communication reached, beside what the buckets alone and the link can do."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import log_axes, style
from dpscale.units import ColumnFormat, column_format, format_value

# column: label, marker, its size, colour, place across the row
MARKS = {
    "lab_bytes_per_s": ("by subtraction, as in the lab", "o", 5.5, style.COLOURS[0], -0.14),
    "busbw_bytes_per_s": ("the same buckets alone", "s", 5, style.COLOURS[1], 0.14),
    "link_bytes_per_s": ("rate of the link", "|", 15, style.COLOURS[2], 0.0),
}
WITH_INTERVAL = ("lab_bytes_per_s", "busbw_bytes_per_s")
CELL = ["workers", "nodes", "per_worker_batch"]


def draw(bandwidth: pd.DataFrame, communication: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of the rates and a frame of what it shows: a row per cell whose
    communication could be subtracted."""
    drawn = _drawn(bandwidth, communication)
    figure, (axes,) = style.panels(1, 1, height_in=max(1.8, 1.0 + 0.34 * len(drawn)))
    rates = drawn[list(MARKS)].stack().dropna().tolist() if len(drawn) else []
    if not rates:
        style.note(axes, "not measured yet, or no communication above zero")
        return figure, drawn
    _axis(axes, drawn)
    for name in MARKS:
        _marks(axes, drawn, name)
    style.categories(axes, drawn.label.tolist(), grid=True)
    form = column_format(drawn.lab_bytes_per_s.tolist(), "bytes/s")
    style.margin_column(axes, [_words(rate, form) for rate in drawn.lab_bytes_per_s])
    style.legend_above(figure, axes)
    return figure, drawn


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Bandwidth: nothing measured yet."
    parts = [
        f"{row.label}: {format_value(row.lab_bytes_per_s, 'bytes/s')}"
        + "".join(
            f", {words} {format_value(rate, 'bytes/s')}"
            for words, rate in (
                ("the same buckets alone", row.busbw_bytes_per_s),
                ("the link", row.link_bytes_per_s),
            )
            if style.known(rate)
        )
        for row in drawn.itertuples()
    ]
    return "Bandwidth by subtraction. " + "; ".join(parts) + "."


def _words(rate: float, form: ColumnFormat) -> str:
    return f"{form.text(rate)} {form.symbol}" if style.known(rate) else "none above zero"


def _axis(axes: Axes, drawn: pd.DataFrame) -> None:
    """Logarithmic: what a small message reaches and what the link can do are far apart."""
    ends = drawn.select_dtypes("float")
    low, high = float(ends.min().min()), float(ends.max().max())
    log_axes.log_ticks(axes.xaxis, low / 1.6, high * 1.6, "bytes/s")
    axes.set_xlabel("bytes per second (log scale); on the right by subtraction")


def _marks(axes: Axes, drawn: pd.DataFrame, name: str) -> None:
    """One rate of every row, with its interval; dotted to the edge without an upper bound."""
    label, marker, size, colour, shift = MARKS[name]
    rows = drawn[drawn[name].notna()]
    if rows.empty:
        return
    for place, row in rows.iterrows() if name in WITH_INTERVAL else ():
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        style.interval(axes, place + shift, low, high, colour)
        if style.known(low) and not style.known(high):
            edge = axes.get_xlim()[1]
            axes.hlines(place + shift, low, edge, color=colour, linewidth=1.2, linestyle=":")
    axes.plot(
        rows[name],
        rows.index + shift,
        marker=marker,
        markersize=size,
        color=colour,
        linestyle="none",
        markeredgewidth=2 if marker == "|" else 0,
        label=label,
    )


def _drawn(bandwidth: pd.DataFrame, communication: pd.DataFrame) -> pd.DataFrame:
    times = communication[communication.subtraction_s.notna() & (communication.workers > 1)]
    rows = bandwidth.merge(times[CELL], on=CELL)
    rows = rows.sort_values(CELL, ignore_index=True)
    rows["label"] = style.cell_labels(rows)
    ends = [f"{name}{end}" for name in WITH_INTERVAL for end in ("_low", "_high")]
    columns = [*MARKS, *ends]
    rows[columns] = rows[columns].apply(pd.to_numeric).astype(float)
    return rows[["label", *CELL, *columns]]
