"""What the sampler's epoch number does, and how far the workers' running statistics drift."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import style
from dpscale.figures.registry import FigureEntry

SAMPLERS = {"with_set_epoch": "with set_epoch", "without_set_epoch": "without set_epoch"}
BASELINE = "with_set_epoch"  # what the baseline is here
EPOCHS_SHOWN = 3
COLUMNS = ["panel", "arm", "epoch", "position", "value", "low", "high"]


def draw_order(accuracy: pd.DataFrame, order: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure and a frame of what it shows: panel, arm, epoch, position, value."""
    drawn = pd.concat([_losses(accuracy), _positions(order)], ignore_index=True)
    figure, grid = style.panels(1, 3, height_in=2.0, widths=[1.5, 1, 1])
    _loss_panel(grid[0], drawn[drawn.panel == "loss"])
    for axes, (arm, label) in zip(grid[1:], SAMPLERS.items(), strict=True):
        axes.set_title(label)
        _order_panel(axes, drawn[(drawn.panel == "order") & (drawn.arm == arm)])
    return figure, drawn


def _losses(accuracy: pd.DataFrame) -> pd.DataFrame:
    rows = accuracy[(accuracy.study == "replicas") & accuracy.train_loss.notna()]
    rows = rows.assign(arm=rows.arm.replace("baseline", BASELINE), panel="loss", position=None)
    rows = rows[rows.arm.isin(list(SAMPLERS))]
    values = {"train_loss": "value", "train_loss_low": "low", "train_loss_high": "high"}
    return rows.rename(columns=values)[COLUMNS]


def _positions(order: pd.DataFrame) -> pd.DataFrame:
    rows = order[(order.epoch <= EPOCHS_SHOWN) & order.first_indices.notna()]
    if len(rows):
        rows = rows[(rows.seed == rows.seed.min()) & (rows["rank"] == rows["rank"].min())]
    points = [
        ("order", row.arm, row.epoch, place, float(index), None, None)
        for row in rows.itertuples()
        for place, index in enumerate(str(row.first_indices).split(), start=1)
    ]
    return pd.DataFrame(points, columns=COLUMNS)


def _loss_panel(axes: Axes, points: pd.DataFrame) -> None:
    axes.set_title("Training loss")
    if points.empty:
        return style.note(axes)
    for index, (arm, label) in enumerate(SAMPLERS.items()):
        line = points[points.arm == arm].sort_values("epoch")
        values, colour = line[["value", "low", "high"]], style.colour_of(index)
        style.curve(axes, line.epoch, values, colour, label=label, marker=style.marker_of(index))
    axes.set(xlabel="epoch", yscale="log")
    style.whole_numbers(axes)
    axes.legend(loc="upper right")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.35)  # room for the legend above the curves


def _order_panel(axes: Axes, points: pd.DataFrame) -> None:
    if points.empty:
        return style.note(axes)
    for index, (epoch, line) in enumerate(points.groupby("epoch")):
        # Larger markers below smaller ones: identical orders stay visible as nested marks.
        axes.plot(
            line.position,
            line.value,
            color=style.colour_of(index),
            linewidth=0.9,
            marker=style.marker_of(index),
            markersize=8 - 2 * index,
            fillstyle="none",
            label=f"epoch {int(epoch)}",
        )
    axes.set(xlabel="position in the epoch", ylabel="sample index")
    axes.set_ylim(0, axes.get_ylim()[1] * 1.8)
    style.whole_numbers(axes)
    axes.legend(loc="upper right", fontsize=7, labelspacing=0.2)


BUFFERS = {"broadcast": "buffers broadcast", "no_broadcast": "gradients only"}
REPLICAS = [
    "arm",
    "seed",
    "epoch",
    "workers",
    "buffer_difference_frac_max",
    "test_accuracy_frac_min",
    "test_accuracy_frac_max",
]


def draw_replicas(replicas: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure and a frame of what it shows, a row per arm, seed and epoch."""
    drawn = replicas[replicas.epoch.notna()][REPLICAS]
    drawn = drawn.sort_values(["arm", "seed", "epoch"], ignore_index=True)
    figure, (left, right) = style.panels(1, 2, height_in=2.1)
    left.set_title("Running statistics, largest difference")
    right.set_title("Test accuracy, range over the ranks")
    if style.nothing(drawn, left, right):
        return figure, drawn
    for index, arm in enumerate(BUFFERS):
        rows = drawn[drawn.arm == arm]
        _drift(left, rows, index)
        _accuracy(right, rows, index)
    left.set(xlabel="epoch", ylabel="% of rank 0's norm", ylim=(0, None))
    right.set(xlabel="epoch", ylabel="accuracy (%)")
    for axes in (left, right):
        style.whole_numbers(axes)
    style.legend_above(figure, left)
    return figure, drawn


def _drift(axes: Axes, rows: pd.DataFrame, index: int) -> None:
    for place, (_, line) in enumerate(rows.groupby("seed")):
        axes.plot(
            line.epoch,
            100 * line.buffer_difference_frac_max,
            color=style.colour_of(index),
            marker=style.marker_of(index),
            linewidth=1.2,
            label=list(BUFFERS.values())[index] if place == 0 else None,
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


FIGURES = {
    "order": FigureEntry(draw_order, ("accuracy", "order")),
    "replicas": FigureEntry(draw_replicas, ("replicas",)),
}
