"""What compressed gradients do to the bytes and to the step, as measured."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import style
from dpscale.units import format_value

NAMES = {"fp16": "fp16", "bf16": "bf16", "powersgd": "PowerSGD"}
CELL = ["workers", "nodes", "per_worker_batch"]
RATIOS = ["bytes_ratio", "interface_ratio", "step_ratio", "step_ratio_low", "step_ratio_high"]


def draw(compression: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of both ratios and a frame of what it shows, a row per hook."""
    drawn = _drawn(compression)
    figure, (left, right) = style.panels(
        1, 2, height_in=max(1.9, 1.2 + 0.32 * len(drawn)), sharey=True
    )
    left.set_title("Bytes of the gradients")
    right.set_title("Time of a step")
    if drawn.empty:
        for axes in (left, right):
            style.note(axes, "not measured yet")
        return figure, drawn
    _bars(left, drawn, "bytes_ratio", style.COLOURS[0], "")
    _bars(right, drawn, "step_ratio", style.COLOURS[1], "////")
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


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Compressed gradients: nothing measured yet."
    parts = [
        f"{row.label}: {format_value(row.bytes_ratio, 'ratio')} of the bytes, "
        f"{format_value(row.step_ratio, 'ratio')} of the step's time"
        for row in drawn.itertuples()
    ]
    return "Compressed gradients against plain ones. " + "; ".join(parts) + "."


def _bars(axes: Axes, drawn: pd.DataFrame, column: str, colour: str, hatch: str) -> None:
    """Ratios to plain DDP, a bar each and its number in the margin; the dashed line is equality."""
    axes.barh(
        drawn.index,
        drawn[column].fillna(0.0),
        height=0.5,
        color="none" if hatch else colour,
        edgecolor=colour,
        hatch=hatch,
    )
    axes.axvline(1, color=style.INK, linewidth=0.8, linestyle="--", label="without compression")
    axes.set_xlabel("ratio to DDP without compression")
    shown = [name for name in RATIOS if name.split("_")[0] in (column.split("_")[0], "interface")]
    axes.set_xlim(0, max(1.0, drawn[shown].max().max()) * 1.05)
    axes.grid(axis="y", visible=False)
    style.margin_column(axes, [format_value(value, "ratio") for value in drawn[column]])


def _drawn(compression: pd.DataFrame) -> pd.DataFrame:
    rows = compression[compression.step_ratio.notna() | compression.bytes_ratio.notna()]
    rows = rows.sort_values([*CELL, "hook"], ignore_index=True)
    hooks = [NAMES.get(str(hook), str(hook)) for hook in rows.hook]
    several = len(rows[CELL].drop_duplicates()) > 1
    cells = [f", {label}" if several else "" for label in style.cell_labels(rows)]
    rows["label"] = [hook + cell for hook, cell in zip(hooks, cells, strict=True)]
    rows[RATIOS] = rows[RATIOS].apply(pd.to_numeric).astype(float)
    return rows[["label", *CELL, *RATIOS]]
