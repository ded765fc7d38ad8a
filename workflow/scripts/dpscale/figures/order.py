"""Training with and without the epoch number given to the sampler: loss, and sample order."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import style
from dpscale.units import format_value

ARMS = {"with_set_epoch": "with set_epoch", "without_set_epoch": "without set_epoch"}
ALIASES = {"baseline": "with_set_epoch"}
EPOCHS_SHOWN = 3


def draw(accuracy: pd.DataFrame, order: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure and a frame of what it shows: panel, arm, epoch, position, value."""
    drawn = pd.concat([_losses(accuracy), _positions(order)], ignore_index=True)
    figure, grid = style.panels(1, 3, height_in=2.9, widths=[1.5, 1, 1])
    _loss_panel(grid[0], drawn[drawn.panel == "loss"])
    for axes, (arm, label) in zip(grid[1:], ARMS.items(), strict=True):
        axes.set_title(label)
        _order_panel(axes, drawn[(drawn.panel == "order") & (drawn.arm == arm)])
    return figure, drawn


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Sample order: nothing measured yet."
    losses = drawn[drawn.panel == "loss"]
    ends = [
        f"{ARMS[str(arm)]}: training loss {format_value(line.iloc[-1].value, 'number')} "
        f"after epoch {int(line.iloc[-1].epoch)}"
        for arm, line in losses.groupby("arm")
    ]
    orders = drawn[drawn.panel == "order"]
    kinds = [
        f"{ARMS[str(arm)]}: {_different(points)} different orders in "
        f"{points.epoch.nunique()} epochs"
        for arm, points in orders.groupby("arm")
    ]
    return "; ".join(ends + kinds) + "."


def _different(points: pd.DataFrame) -> int:
    return len({tuple(line.value) for _, line in points.groupby("epoch")})


def _losses(accuracy: pd.DataFrame) -> pd.DataFrame:
    rows = accuracy.assign(arm=accuracy.arm.replace(ALIASES))
    rows = rows[(rows.study != "large_batch") & rows.arm.isin(list(ARMS)) & rows.train_loss.notna()]
    return pd.DataFrame(
        {
            "panel": "loss",
            "arm": rows.arm,
            "epoch": rows.epoch,
            "position": None,
            "value": rows.train_loss,
            "low": rows.train_loss_low,
            "high": rows.train_loss_high,
        }
    )


def _positions(order: pd.DataFrame) -> pd.DataFrame:
    rows = order.assign(arm=order.arm.replace(ALIASES))
    rows = rows[
        rows.arm.isin(list(ARMS)) & (rows.epoch <= EPOCHS_SHOWN) & rows.first_indices.notna()
    ]
    if len(rows):
        rows = rows[(rows.seed == rows.seed.min()) & (rows["rank"] == rows["rank"].min())]
    points = [
        {
            "panel": "order",
            "arm": row.arm,
            "epoch": row.epoch,
            "position": place,
            "value": float(index),
            "low": None,
            "high": None,
        }
        for row in rows.itertuples()
        for place, index in enumerate(str(row.first_indices).split(), start=1)
    ]
    return pd.DataFrame(
        points, columns=["panel", "arm", "epoch", "position", "value", "low", "high"]
    )


def _loss_panel(axes: Axes, points: pd.DataFrame) -> None:
    axes.set_title("Training loss")
    if points.empty:
        return style.note(axes, "not measured yet")
    for index, (arm, label) in enumerate(ARMS.items()):
        line = points[points.arm == arm].sort_values("epoch")
        axes.plot(
            line.epoch,
            line.value,
            color=style.colour_of(index),
            label=label,
            marker=style.marker_of(index),
        )
        axes.fill_between(
            line.epoch.astype(float),
            line.low.astype(float),
            line.high.astype(float),
            color=style.colour_of(index),
            alpha=0.2,
            linewidth=0,
        )
    axes.set(xlabel="epoch", ylim=(0, None))
    style.whole_numbers(axes)
    axes.legend(loc="best")


def _order_panel(axes: Axes, points: pd.DataFrame) -> None:
    if points.empty:
        return style.note(axes, "not measured yet")
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
    axes.set_ylim(0, axes.get_ylim()[1] * 1.45)
    style.whole_numbers(axes)
    axes.legend(loc="upper right", fontsize=7, labelspacing=0.2)
