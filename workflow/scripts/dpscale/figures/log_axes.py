"""Logarithmic axes: their ticks, and labels at the ends of their lines."""

import math
from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.ticker import MaxNLocator, NullLocator

from dpscale.figures import style
from dpscale.units import column_format, group_digits

MOST_TICKS = 5
LEADER_FACTOR = 1.35  # from the last point of a line to its label


def log_ticks(axis: Axis, low: float, high: float, unit: str) -> None:
    """Make an axis logarithmic from `low` to `high`, with a few round values and their units."""
    if isinstance(axis, XAxis):
        axis.axes.set(xscale="log", xlim=(low, high))
    else:
        axis.axes.set(yscale="log", ylim=(low, high))
    shown = _round_values(low, high)
    axis.set_ticks(shown, [_round_text(value, unit) for value in shown])
    axis.set_minor_locator(NullLocator())


def _round_values(low: float, high: float) -> list[float]:
    """Return at most MOST_TICKS round values between the limits, and two at least."""
    digits = (1,) if high / low > 100 else (1, 3) if high / low > 10 else (1, 2, 5)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [digit * 10.0**power for power in powers for digit in digits]
    shown = [value for value in values if low <= value <= high]
    if len(shown) < 2:  # the limits are near each other: as on a linear axis
        values = [float(value) for value in MaxNLocator(MOST_TICKS).tick_values(low, high)]
        shown = [value for value in values if low <= value <= high]
    return shown[:: math.ceil(len(shown) / MOST_TICKS)]


def _round_text(value: float, unit: str) -> str:
    scale = column_format([value], unit).scale
    return f"{value / scale.factor:g} {scale.symbol}"


def log2_ticks(axes: Axes, ticks: Sequence[int] | pd.Series, label: str) -> None:
    """Make the horizontal axis one of doublings, with these numbers and a label."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [group_digits(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel(label)


def log2_axes(
    axes: Axes, workers: Sequence[int], low: float, top: float, *, room: float = 0.42
) -> None:
    """Make both axes logarithmic: the ideal is a straight line, and a slowdown as far as a gain.

    room: what is free to the right of the last number of workers, as a share of those before it.
    """
    log2_ratios(axes, low, top)
    log2_ticks(axes, workers, "workers N (log scale)")
    span = max(workers[-1] / workers[0], 2)
    axes.set_xlim(workers[0] / span**0.06, workers[-1] * span**room)


def log2_ratios(axes: Axes, low: float, top: float) -> None:
    """Make the vertical axis one of doublings of a ratio."""
    axes.set_yscale("log", base=2)
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(top))
    powers = [2.0**power for power in range(first, last + 1, 1 + (last - first) // 8)]
    axes.set_yticks(powers, [f"{power:g}" for power in powers])
    axes.set_ylim(low, top)


def end_labels(
    axes: Axes, ends: Sequence[tuple[float, float, str]], *, gap: float, leaders: bool = False
) -> None:
    """Write labels at the ends (x, y, label) of lines on a logarithmic axis, moved apart.

    gap: the smallest distance of two labels as a share of the axis; leaders: all labels beyond
    the longest line, each tied to the end of its own.
    """
    low, top = (math.log(limit) for limit in axes.get_ylim())
    step = gap * (top - low)
    heights = style.spread([math.log(y) for _, y, _ in ends], step)
    heights = _within(heights, low + step / 2, top, step)
    margin = max((x for x, _, _ in ends), default=1.0) * LEADER_FACTOR
    for (x, y, text), moved in zip(ends, heights, strict=True):
        height = math.exp(moved)
        if leaders:
            axes.plot((x, margin), (y, height), color=style.INK, linewidth=0.5, alpha=0.5)
        axes.annotate(
            text,
            (margin if leaders else x, height),
            xytext=(2 if leaders else 7, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )


def _within(positions: Sequence[float], low: float, high: float, gap: float) -> list[float]:
    """Return positions that `spread` gave, moved back between the limits; the upper one counts."""
    moved = list(positions)
    order = sorted(range(len(moved)), key=lambda index: moved[index])
    for place, index in enumerate(order):
        moved[index] = max(moved[index], low + gap * place)
    for place, index in enumerate(reversed(order)):
        moved[index] = min(moved[index], high - gap * place)
    return moved
