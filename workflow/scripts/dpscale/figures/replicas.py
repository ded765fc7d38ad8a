"""How far the workers' running statistics drift apart, and what that does to evaluation."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import style
from dpscale.units import format_value

ARMS = {"broadcast": "buffers broadcast", "no_broadcast": "gradients only"}
ALIASES = {"baseline": "broadcast"}
COLUMNS = [
    "arm",
    "seed",
    "epoch",
    "workers",
    "buffer_difference_frac_max",
    "test_accuracy_frac_min",
    "test_accuracy_frac_max",
]


def draw(replicas: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure and a frame of what it shows, a row per arm, seed and epoch."""
    drawn = replicas.assign(arm=replicas.arm.replace(ALIASES))
    drawn = drawn[drawn.arm.isin(list(ARMS)) & drawn.epoch.notna()][COLUMNS]
    drawn = drawn.sort_values(["arm", "seed", "epoch"], ignore_index=True)
    figure, (left, right) = style.panels(1, 2, height_in=3.0)
    left.set_title("Running statistics, largest difference")
    right.set_title("Test accuracy, range over the ranks")
    if drawn.empty:
        style.note(left, "not measured yet")
        style.note(right, "not measured yet")
        return figure, drawn
    for index, arm in enumerate(ARMS):
        rows = drawn[drawn.arm == arm]
        _drift(left, rows, index)
        _accuracy(right, rows, index)
    left.set(xlabel="epoch", ylabel="% of rank 0's norm", ylim=(0, None))
    right.set(xlabel="epoch", ylabel="accuracy (%)")
    for axes in (left, right):
        style.whole_numbers(axes)
    style.legend_above(figure, left)
    return figure, drawn


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Replicas: nothing measured yet."
    last = drawn[drawn.epoch == drawn.epoch.max()]
    parts = []
    for arm, rows in last.groupby("arm"):
        drift, low, high = (
            format_value(float(value), "fraction")
            for value in (
                rows.buffer_difference_frac_max.max(),
                rows.test_accuracy_frac_min.min(),
                rows.test_accuracy_frac_max.max(),
            )
        )
        parts.append(
            f"{ARMS[str(arm)]}: running statistics differ by up to {drift}, test "
            f"accuracy between {low} and {high}"
        )
    return f"After epoch {last.epoch.iloc[0]}, all seeds. " + "; ".join(parts) + "."


def _drift(axes: Axes, rows: pd.DataFrame, index: int) -> None:
    for place, (_, line) in enumerate(rows.groupby("seed")):
        axes.plot(
            line.epoch,
            100 * line.buffer_difference_frac_max,
            color=style.colour_of(index),
            marker=style.marker_of(index),
            linewidth=1.2,
            label=list(ARMS.values())[index] if place == 0 else None,
        )


def _accuracy(axes: Axes, rows: pd.DataFrame, index: int) -> None:
    """A vertical range per seed, the arms side by side at each epoch."""
    seeds = sorted(rows.seed.unique())
    for place, seed in enumerate(seeds):
        line = rows[rows.seed == seed]
        x = line.epoch + (index - 0.5) * 0.36 + (place - (len(seeds) - 1) / 2) * 0.09
        low, high = 100 * line.test_accuracy_frac_min, 100 * line.test_accuracy_frac_max
        axes.vlines(x, low, high, color=style.colour_of(index), linewidth=2)
        for end in (low, high):
            axes.plot(
                x,
                end,
                marker=style.marker_of(index),
                markersize=2.6,
                linestyle="none",
                color=style.colour_of(index),
            )
