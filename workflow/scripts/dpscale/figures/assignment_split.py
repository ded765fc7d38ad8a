"""Where an epoch with loading goes on N workers: computation, and what is lost beside it."""

import pandas as pd
from matplotlib.figure import Figure

from dpscale.figures import assignment_marks, style
from dpscale.units import column_format, format_value

# part: label, colour, hatch ("": filled). In the order in which they are stacked.
PARTS: dict[str, tuple[str, str, str]] = {
    "computation": ("computation", style.COLOURS[0], ""),
    "load": ("loading", style.COLOURS[1], ""),
    "copy": ("copy to the device", style.INK, "||||"),
    "sharing": ("sharing the machine", style.COLOURS[2], "----"),
    "stragglers": ("stragglers", style.COLOURS[3], "xxxx"),
    "overhead": ("overhead of DDP", style.INK, "\\\\\\\\"),
    "exposed": ("exposed communication", style.COLOURS[1], "////"),
}
SHARES = [f"{part}_frac" for part in PARTS]


def draw(split: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of stacked bars and a frame of what it shows, a row per bar."""
    drawn = _drawn(split)
    figure, (axes,) = style.panels(1, 1, height_in=max(1.9, 1.35 + 0.34 * len(drawn)))
    if drawn.empty:
        style.note(axes, "not measured yet")
        return figure, drawn
    for place, row in enumerate(drawn.to_dict("records")):
        style.stacked_bar(
            axes,
            place,
            [style.Part(100 * row[f"{part}_frac"], colour, hatch)
             for part, (_, colour, hatch) in PARTS.items()],
        )  # fmt: skip
    for label, colour, hatch in PARTS.values():
        axes.fill([], [], facecolor="none" if hatch else colour, edgecolor=colour, hatch=hatch,
                  label=label)  # fmt: skip
    axes.axvline(0, color=style.INK, linewidth=0.8)
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, 0.0), max(high, 100.0) if high > 105 else 100.0)
    axes.set_xlabel("% of an epoch with loading")
    style.categories(axes, drawn.label.tolist())
    form = column_format(drawn.epoch_s.tolist(), "s")
    style.margin_column(axes, [f"{form.text(value)} {form.symbol}" for value in drawn.epoch_s])
    style.legend_above(figure, axes, columns=4)
    return figure, drawn


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Where an epoch with loading goes: nothing measured yet."
    parts = [
        f"{row['label']}: {format_value(row['epoch_s'], 's')}, of it "
        + ", ".join(
            f"{label} {format_value(row[f'{part}_frac'], 'fraction')}"
            for part, (label, *_) in PARTS.items()
        )
        for row in drawn.to_dict("records")
    ]
    return "Where an epoch with loading goes. " + "; ".join(parts) + "."


def _drawn(split: pd.DataFrame) -> pd.DataFrame:
    rows = split[(split.status == "complete") & split[SHARES].notna().all(axis=1)]
    rows = rows.sort_values(["nodes", "workers"], ignore_index=True)
    labels = assignment_marks.place_labels(rows)
    shares = rows[SHARES].astype(float)
    return rows[["workers", "nodes"]].assign(label=labels, epoch_s=rows.epoch_s).join(shares)
