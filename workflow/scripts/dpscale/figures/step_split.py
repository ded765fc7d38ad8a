"""Where an epoch goes, arm by arm: computation, contention, overhead, exposed communication."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import style
from dpscale.units import column_format, format_value

# column: label, colour, hatch ("": filled). In the order in which they are stacked.
PARTS: dict[str, tuple[str, str, str]] = {
    "compute_frac": ("computation of one alone", style.COLOURS[0], ""),
    "sharing_frac": ("contention", style.COLOURS[2], "----"),
    "straggler_frac": ("stragglers", style.COLOURS[3], "xxxx"),
    "overhead_frac": ("overhead of DDP", style.INK, "\\\\\\\\"),
    "exposed_frac": ("exposed communication", style.COLOURS[1], "////"),
}
# Communication itself, hidden or not. column: label, marker, colour.
WHOLE: dict[str, tuple[str, str, str]] = {
    "exposed_frac": ("its exposed part", "o", style.COLOURS[1]),
    "buckets_frac": ("the buckets alone", "s", style.COLOURS[2]),
    "span_frac": ("span in DDP's log", "D", style.COLOURS[3]),
}
NOISE = "dotted: may be zero"  # its interval covers zero
CELL = ["workers", "nodes", "per_worker_batch"]
SPLIT = ["compute_s", "exposed_s", "overhead_s", "contention_s"]


def draw(communication: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of stacked bars and a frame of what it shows, a row per bar."""
    drawn = _drawn(communication)
    figure, (bars, marks) = style.panels(
        1, 2, height_in=max(2.2, 1.4 + 0.3 * len(drawn)), sharey=True, widths=[2.1, 1]
    )
    bars.set_title("The epoch, arm by arm")
    marks.set_title("Communication alone")
    if drawn.empty:
        style.note(bars, "not measured yet, or not arm by arm")
        style.note(marks, "not measured yet")
        return figure, drawn
    for place, row in enumerate(drawn.to_dict("records")):
        style.stacked_bar(bars, place, _parts(row))
        _marks(marks, place, row)
    style.categories(bars, drawn.label.tolist())
    form = column_format(drawn.epoch_s.tolist(), "s")
    style.margin_column(bars, [f"{form.text(value)} {form.symbol}" for value in drawn.epoch_s])
    _axes(bars, marks)
    _keys(bars, noise=drawn[["overhead_below_noise", "exposed_below_noise"]].any(axis=None))
    style.legend_above(figure, bars, marks)
    return figure, drawn


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Where an epoch goes: nothing measured yet."
    labels = {name: label for name, (label, *_) in (WHOLE | PARTS).items()}
    parts = [
        f"{row['label']}: {format_value(row['epoch_s'], 's')}, of it "
        + ", ".join(
            f"{label} {format_value(row[name], 'fraction')}"
            for name, label in labels.items()
            if style.known(row[name])
        )
        for row in drawn.to_dict("records")
    ]
    return "Where an epoch goes. " + "; ".join(parts) + "."


def _axes(bars: Axes, marks: Axes) -> None:
    bars.axvline(0, color=style.INK, linewidth=0.8)
    bars.set_xlabel("% of the epoch without data loading")
    low, high = bars.get_xlim()
    bars.set_xlim(min(low, 0.0), max(high, 100.0) if high > 105 else 100.0)
    marks.set_xlabel("% of the epoch")
    marks.axvline(0, color=style.INK, linewidth=0.8)
    marks.margins(x=0.08)
    marks.grid(axis="y", visible=False)
    marks.tick_params(axis="y", left=False)


def _keys(axes: Axes, *, noise: bool) -> None:
    """Entries of the legend: a part may be drawn in two ways, and is named as the usual one."""
    for label, colour, hatch in PARTS.values():
        ground = "none" if hatch else colour
        axes.fill([], [], facecolor=ground, edgecolor=colour, hatch=hatch, label=label)
    if noise:
        axes.fill([], [], facecolor="none", edgecolor=style.INK, linestyle=":", label=NOISE)


def _parts(row: dict[str, Any]) -> list[style.Part]:
    """The parts of a bar; one that is not told from zero is dotted."""
    return [
        style.Part(
            100 * row[name], colour, hatch, row.get(name.replace("_frac", "_below_noise"), False)
        )
        for name, (_, colour, hatch) in PARTS.items()
    ]


def _marks(axes: Axes, place: int, row: dict[str, Any]) -> None:
    """How long communication takes by itself, with intervals, each mark on a line of its own."""
    for shift, (name, (label, marker, colour)) in zip((-0.2, 0.0, 0.2), WHOLE.items(), strict=True):
        if style.known(row[name]) and row["workers"] > 1:
            low, high = 100 * row[f"{name}_low"], 100 * row[f"{name}_high"]
            style.interval(axes, place + shift, low, high, colour)
            axes.plot(
                [100 * row[name]],
                [place + shift],
                marker=marker,
                color=colour,
                linestyle="none",
                label=label,
            )


def _drawn(communication: pd.DataFrame) -> pd.DataFrame:
    """Shares of the epoch; one worker only beside several that were measured arm by arm."""
    rows = communication[
        (communication.status == "complete") & communication[SPLIT].notna().all(axis=1)
    ]
    rows = rows if (rows.workers > 1).any() else rows[:0]
    rows = rows.sort_values(CELL, ignore_index=True)
    # One worker has nobody to talk to: its zeros are no measurement.
    alone = rows.workers == 1
    shares = _shares(rows)
    marks = [column for column in shares if column not in PARTS]
    shares[marks] = shares[marks].mask(alone)
    for name in ("overhead", "exposed"):
        low, high = (
            pd.to_numeric(rows[f"{name}_s_{end}"]).astype(float) for end in ("low", "high")
        )
        shares[f"{name}_below_noise"] = (low <= 0) & (high >= 0) & ~alone
    labels = style.cell_labels(rows)
    return rows[CELL].assign(label=labels, epoch_s=rows.epoch_s.astype(float)).join(shares)


def _shares(rows: pd.DataFrame) -> pd.DataFrame:
    """Every part and its interval as a share of the epoch; contention without its stragglers."""
    straggler_s = pd.to_numeric(rows.straggler_s).fillna(0.0)
    seconds = {"straggler_frac": straggler_s, "sharing_frac": rows.contention_s - straggler_s}
    seconds |= {f"{name}_frac": rows[f"{name}_s"] for name in ("compute", "overhead")}
    for column in WHOLE:
        name = column.removesuffix("_frac")
        seconds |= {f"{column}{end}": rows[f"{name}_s{end}"] for end in ("", "_low", "_high")}
    shares = pd.DataFrame({name: pd.to_numeric(one).astype(float) for name, one in seconds.items()})
    return shares.div(rows.epoch_s.astype(float), axis=0)
