"""Bandwidth that communication reached, beside what the buckets alone and the link can do."""

import pandas as pd
from matplotlib.figure import Figure

from dpscale.figures import style
from dpscale.units import column_format, format_value

MARKS = {
    "busbw_bytes_per_s": ("the same buckets alone", "|", 16, style.INK),
    "link_bytes_per_s": ("rate of the link", ">", 7, style.COLOURS[2]),
}


def draw(bandwidth: pd.DataFrame, communication: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of bullet bars and a frame of what it shows: a row per bar, for the cells
    whose communication could be subtracted."""
    drawn = _drawn(bandwidth, communication)
    figure, (axes,) = style.panels(1, 1, height_in=max(1.8, 0.9 + 0.34 * len(drawn)))
    rates = drawn[["lab_bytes_per_s", *MARKS]].stack().dropna().tolist() if len(drawn) else []
    if not rates:
        style.note(axes, "not measured yet, or no communication above zero")
        return figure, drawn
    form = column_format(rates, "bytes/s")
    scale = form.scale
    axes.barh(
        range(len(drawn)),
        drawn.lab_bytes_per_s.fillna(0) / scale.factor,
        height=0.5,
        color=style.COLOURS[0],
        label="by subtraction, as in the lab",
    )
    for column, (label, marker, size, colour) in MARKS.items():
        shown = drawn[drawn[column].notna()]
        if len(shown):
            axes.plot(
                shown[column] / scale.factor,
                shown.index,
                marker=marker,
                markersize=size,
                color=colour,
                linestyle="none",
                markeredgewidth=2,
                label=label,
            )
    for place, row in enumerate(drawn.itertuples()):
        rate = row.lab_bytes_per_s
        text = (
            f"{form.text(rate)} {form.symbol}"
            if style.known(rate)
            else "none: communication is not above zero"
        )
        ends = [
            value
            for value in (rate, row.busbw_bytes_per_s, row.link_bytes_per_s)
            if style.known(value)
        ]
        end = max(ends) if style.known(rate) else 0
        axes.annotate(
            text,
            (end / scale.factor, place),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    axes.set_yticks(range(len(drawn)), drawn.label.tolist())
    axes.set(
        ylim=(len(drawn) - 0.4, -0.6),
        xlabel=scale.symbol,
        xlim=(0, max(rates) / scale.factor * 1.3),
    )
    axes.grid(axis="y", visible=False)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=3)
    return figure, drawn


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Bandwidth: nothing measured yet."
    parts = [
        f"{row.label}: {format_value(row.lab_bytes_per_s, 'bytes/s')}"
        + (
            f", the same buckets alone {format_value(row.busbw_bytes_per_s, 'bytes/s')}"
            if style.known(row.busbw_bytes_per_s)
            else ""
        )
        for row in drawn.itertuples()
    ]
    return "Bandwidth by subtraction. " + "; ".join(parts) + "."


def _drawn(bandwidth: pd.DataFrame, communication: pd.DataFrame) -> pd.DataFrame:
    cell = ["workers", "nodes", "per_worker_batch"]
    times = communication[communication.subtraction_s.notna()]
    rows = bandwidth.merge(times[cell], on=cell)
    rows = rows.sort_values(["workers", "per_worker_batch"], ignore_index=True)
    rows["label"] = style.cell_labels(rows)
    columns = ["lab_bytes_per_s", *MARKS]
    rows[columns] = rows[columns].apply(pd.to_numeric)
    return rows[["label", "workers", "nodes", "per_worker_batch", *columns]]
