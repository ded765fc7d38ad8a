"""One epoch: computation and communication by subtraction, and arm by arm."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dpscale.figures import style
from dpscale.units import column_format

CELL = ["workers", "nodes", "per_worker_batch"]
SUBTRACTED = [
    *CELL,
    "compute_s",
    "subtraction_s",
    "subtraction_s_low",
    "subtraction_s_high",
    "exposed_s",
    "below_noise",
]
# By column, in the order in which they are stacked.
PARTS: dict[str, style.Look] = {
    "compute_frac": ("computation of one alone", style.COLOURS[0], ""),
    "contention_frac": ("contention", style.COLOURS[2], "----"),
    "overhead_frac": ("overhead of DDP", style.INK, "\\\\\\\\"),
    "exposed_frac": ("waiting for communication", style.COLOURS[1], "////"),
}
NOISE = "dotted: may be zero"  # its interval covers zero


def draw_communication(communication: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of stacked bars and a frame of what it shows, a row per bar."""
    drawn = _subtracted(communication)
    figure, (axes,) = style.panels(1, 1, height_in=max(1.6, 0.95 + 0.21 * len(drawn)))
    if style.nothing(drawn, axes):
        return figure, drawn
    form = column_format([*drawn.compute_s, *drawn.subtraction_s], "s")
    times = drawn.filter(regex="_s(_low|_high)?$").astype(float) / form.scale.factor
    compute, rest = times.compute_s, times.subtraction_s
    # A negative difference is shown as what it is: left of zero, not as a shorter bar.
    start = compute.where(rest >= 0, 0.0)
    low, high = start + times.subtraction_s_low, start + times.subtraction_s_high
    axes.barh(
        times.index, compute, height=0.56, color=style.COLOURS[0], label="computation $T_1/N$"
    )
    axes.barh(
        times.index,
        rest,
        left=start,
        height=0.56,
        color="none",
        edgecolor=style.COLOURS[1],
        hatch="////",
        label="communication, by subtraction",
    )
    for place in times.index:
        style.interval(axes, place, low[place], high[place])
    if times.exposed_s.notna().any():
        axes.plot(
            compute + times.exposed_s,
            times.index,
            marker="D",
            color=style.COLOURS[3],
            linestyle="none",
            label="exposed, measured directly",
        )
    style.categories(axes, drawn.label.tolist())
    axes.axvline(0, color=style.INK, linewidth=0.8)
    axes.set_xlabel(f"{form.symbol} per epoch, without data loading")
    ends = np.fmax(compute + rest.clip(lower=0), high)
    texts = column_format(drawn.subtraction_s.tolist(), "s", scale=form.scale)
    for row in drawn.itertuples():
        noise = ", below noise" if row.below_noise else ""
        text = f"{texts.text(row.subtraction_s)} {texts.symbol}{noise}"
        style.right_of(axes, text, ends[row.Index], row.Index)
    axes.set_xlim(1.08 * min(0.0, rest.min(), *low[rest < 0].dropna()), 1.3 * ends.max())
    style.legend_above(figure, axes)
    return figure, drawn


def _subtracted(communication: pd.DataFrame) -> pd.DataFrame:
    several = (communication.status == "complete") & (communication.workers > 1)
    rows = communication[several & communication.subtraction_s.notna()]
    rows = rows[SUBTRACTED].sort_values(["workers", "per_worker_batch"], ignore_index=True)
    rows.insert(0, "label", style.cell_labels(rows))
    return rows


def draw_step_split(communication: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of stacked bars and a frame of what it shows, a row per bar."""
    drawn = _split(communication)
    figure, (bars,) = style.panels(1, 1, height_in=max(1.6, 1.0 + 0.21 * len(drawn)))
    if style.nothing(drawn, bars, text="not measured yet, or not arm by arm"):
        return figure, drawn
    style.stacked_shares(bars, drawn, PARTS, "the epoch without data loading")
    style.margin_column(bars, style.seconds(drawn.epoch_s))
    bars.axvline(0, color=style.INK, linewidth=0.8)
    style.keys(bars, PARTS.values())
    if drawn.filter(like="_below_noise").any(axis=None):
        bars.fill([], [], facecolor="none", edgecolor=style.INK, linestyle=":", label=NOISE)
    style.legend_above(figure, bars)
    return figure, drawn


def _split(communication: pd.DataFrame) -> pd.DataFrame:
    """Every part as a share of the epoch, of several workers that were measured arm by arm."""
    seconds = [name.replace("_frac", "_s") for name in PARTS]
    chosen = (communication.status == "complete") & (communication.workers > 1)
    rows = communication[chosen & communication[seconds].notna().all(axis=1)]
    rows = rows.sort_values(CELL, ignore_index=True)
    shares = rows[seconds].div(rows.epoch_s.astype(float), axis=0).set_axis(list(PARTS), axis=1)
    for name in ("contention", "overhead", "exposed"):
        low, high = (rows[f"{name}_s_{end}"] for end in ("low", "high"))
        shares[f"{name}_below_noise"] = (low <= 0) & (high >= 0)
    labels = style.cell_labels(rows)
    return rows[CELL].assign(label=labels, epoch_s=rows.epoch_s.astype(float)).join(shares)
