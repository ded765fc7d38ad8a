"""Computation and communication in one epoch, a bar for each number of workers and batch."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import style
from dpscale.units import ColumnFormat, column_format, format_value


def draw(communication: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of stacked bars and a frame of what it shows, a row per bar."""
    drawn = _drawn(communication)
    figure, (axes,) = style.panels(1, 1, height_in=max(1.9, 0.95 + 0.36 * len(drawn)))
    if drawn.empty:
        style.note(axes, "not measured yet")
        return figure, drawn
    form = column_format([*drawn.compute_s, *drawn.subtraction_s], "s")
    for place, row in enumerate(_scaled(drawn, form.scale.factor).itertuples()):
        _bar(axes, place, row)
    style.categories(axes, drawn.label.tolist())
    axes.axvline(0, color=style.INK, linewidth=0.8)
    axes.set_xlabel(f"{form.symbol} per epoch, without data loading")
    _room_for_text(
        axes,
        _scaled(drawn, form.scale.factor),
        column_format(drawn.subtraction_s.tolist(), "s", scale=form.scale),
    )
    style.legend_above(figure, axes)
    return figure, drawn


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Computation and communication: nothing measured yet."
    parts = [
        f"{row.label}: computation {format_value(row.compute_s, 's')}, communication "
        f"{format_value(row.subtraction_s, 's')}"
        for row in drawn.itertuples()
    ]
    return "Time of one epoch. " + "; ".join(parts) + "."


def _drawn(communication: pd.DataFrame) -> pd.DataFrame:
    rows = communication[
        (communication.status == "complete")
        & communication.subtraction_s.notna()
        & (communication.workers > 1)
    ].copy()
    rows["label"] = style.cell_labels(rows)
    columns = [
        "label",
        "workers",
        "nodes",
        "per_worker_batch",
        "compute_s",
        "subtraction_s",
        "subtraction_s_low",
        "subtraction_s_high",
        "exposed_s",
        "below_noise",
    ]
    return rows[columns].sort_values(["workers", "per_worker_batch"], ignore_index=True)


def _scaled(drawn: pd.DataFrame, factor: float) -> pd.DataFrame:
    """The times in the axis's unit instead of seconds."""
    times = [column for column in drawn if str(column).endswith(("_s", "_s_low", "_s_high"))]
    return drawn.assign(**{str(column): pd.to_numeric(drawn[column]) / factor for column in times})


def _bar(axes: Axes, place: int, row: object) -> None:
    compute, rest = row.compute_s, row.subtraction_s  # type: ignore[attr-defined]
    # A negative difference is shown as what it is: left of zero, not as a shorter bar.
    start = compute if rest >= 0 else 0.0
    axes.barh(place, compute, height=0.56, color=style.COLOURS[0], label="computation $T_1/N$")
    axes.barh(
        place,
        rest,
        left=start,
        height=0.56,
        color="none",
        edgecolor=style.COLOURS[1],
        hatch="////",
        label="communication, by subtraction",
    )
    low, high = row.subtraction_s_low, row.subtraction_s_high  # type: ignore[attr-defined]
    style.interval(axes, place, start + low, start + high)
    if style.known(row.exposed_s):  # type: ignore[attr-defined]
        axes.plot(
            [compute + row.exposed_s],  # type: ignore[attr-defined]
            [place],
            marker="D",
            color=style.COLOURS[3],
            linestyle="none",
            label="exposed, measured directly",
        )


def _room_for_text(axes: Axes, drawn: pd.DataFrame, form: ColumnFormat) -> None:
    """Write each bar's communication to its right, with room for the longest text."""
    ends = [
        max(
            row.compute_s + max(row.subtraction_s, 0),
            row.compute_s * (row.subtraction_s >= 0) + row.subtraction_s_high
            if style.known(row.subtraction_s_high)
            else 0,
        )
        for row in drawn.itertuples()
    ]
    for place, (row, end) in enumerate(zip(drawn.itertuples(), ends, strict=True)):
        text = f"{form.text(row.subtraction_s * form.scale.factor)} {form.symbol}"
        if style.known(row.below_noise) and row.below_noise:
            text += ", below noise"
        style.right_of(axes, text, end, place)
    leftmost = min(
        0.0,
        drawn.subtraction_s.min(),
        *[
            low
            for low, rest in zip(drawn.subtraction_s_low, drawn.subtraction_s, strict=True)
            if style.known(low) and rest < 0
        ],
    )
    axes.set_xlim(leftmost * 1.08, max(ends) * 1.3)
