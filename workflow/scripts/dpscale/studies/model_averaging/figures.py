"""S3: test accuracy of each arm until its target, and throughput against the learners."""

from collections.abc import Iterator

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import log_axes, style
from dpscale.figures.registry import FigureEntry

SHOWN_BELOW_FRAC = 0.15  # of accuracy below the target: what lies lower tells little
REACHED = {"epoch": "epochs_to_target", "seconds": "seconds_to_target"}
ACCURACY = ["test_accuracy_frac", "test_accuracy_frac_low", "test_accuracy_frac_high"]
CURVE_COLUMNS = [
    "arm",
    "optimizer",
    "label",
    "epoch",
    "seconds",
    "seeds",
    *ACCURACY,
    "target_accuracy_frac",
]
IN_A_ROW = 3
CELL = ["model", "per_learner_batch"]
LEARNER_COLUMNS = [
    *CELL,
    "learners",
    "stacked",
    "samples_per_s",
    "samples_per_s_low",
    "samples_per_s_high",
    "chosen",
]


def draw_curves(
    averaging_curves: pd.DataFrame, model_averaging: pd.DataFrame
) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of the accuracies and a frame of it: a row per arm and evaluation.

    Of averaged learners at one rate the first pull is shown: others lie on it, and the table has
    them. The last columns repeat when each arm reaches the target, null where not every seed does.
    """
    arms = model_averaging[["arm", *REACHED.values()]]
    again = model_averaging.duplicated(["optimizer", "lr"]) & (model_averaging.optimizer == "sma")
    arms = arms[~again]
    drawn = averaging_curves.loc[averaging_curves.test_accuracy_frac.notna(), CURVE_COLUMNS]
    drawn = drawn.merge(arms, on="arm", how="inner")
    figure, (left, right) = style.panels(1, 2, height_in=3.3, sharey=True)
    left.set_title("Against epochs")
    right.set_title("Against seconds of training")
    if drawn.empty:
        style.note(left)
        style.note(right, shared_y=True)
        return figure, drawn
    for axes, column in ((left, "epoch"), (right, "seconds")):
        _arms(axes, drawn, column)
    left.set_ylim(100 * max(drawn.target_accuracy_frac[0] - SHOWN_BELOW_FRAC, 0), 100)
    left.set(xlabel="epochs", ylabel="test accuracy (%)")
    style.whole_numbers(left)
    log_axes.log_ticks(right.xaxis, drawn.seconds.min() / 1.15, drawn.seconds.max() * 1.15, "s")
    right.set_xlabel("training time (log scale)")
    style.legend_above(figure, left, columns=2)
    return figure, drawn


def _styled(drawn: pd.DataFrame) -> Iterator[tuple[pd.DataFrame, str, str]]:
    """Yield the rows of each arm with its colour and line: SGD solid, model averaging dashed."""
    for optimizer, dash in (("sgd", "-"), ("sma", "--")):
        alike = drawn[drawn.optimizer == optimizer]
        for index, (_, own) in enumerate(alike.groupby("arm", sort=False)):
            yield own, style.colour_of(index), dash


def _arms(axes: Axes, drawn: pd.DataFrame, column: str) -> None:
    for own, colour, dash in _styled(drawn):
        look = {"linestyle": dash, "label": own.label.iloc[0]}
        style.curve(axes, own[column], 100 * own[ACCURACY], colour, opacity=0.15, **look)
    target = 100 * drawn.target_accuracy_frac[0]
    for own, colour, dash in _styled(drawn):
        axes.plot(
            own[REACHED[column]].iloc[:1],
            [target],
            color=colour,
            marker="o",
            markersize=6,
            markerfacecolor=colour if dash == "-" else "none",
            linestyle="none",
        )
    axes.axhline(target, color=style.INK, linewidth=0.9, linestyle=":", label="target")


def draw_learners(learners: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of the throughputs and a frame of it: a row per model, batch and number."""
    drawn = learners.loc[learners.samples_per_s.notna(), LEARNER_COLUMNS].reset_index(drop=True)
    cells = list(drawn.groupby(CELL, sort=False))
    rows = max(1, -(-len(cells) // IN_A_ROW))
    width = min(IN_A_ROW, max(1, len(cells)))
    figure, grid = style.panels(rows, width, height_in=0.6 + 2.2 * rows)
    if not cells:
        style.note(grid[0])
        return figure, drawn
    for axes, ((model, batch), own) in zip(grid, cells, strict=False):
        axes.set_title(f"{model}, b = {batch}")
        _throughputs(axes, own)
    for axes in grid[len(cells) :]:
        axes.set_visible(False)
    grid[0].set_ylabel("thousand samples/s")
    style.legend_above(figure, *grid)
    return figure, drawn


def _throughputs(axes: Axes, own: pd.DataFrame) -> None:
    stacked, plain, chosen = own[own.stacked], own[~own.stacked], own[own.chosen]
    x, low, high = stacked.learners, stacked.samples_per_s_low, stacked.samples_per_s_high
    colour, ring = style.COLOURS[:2]
    axes.plot(x, stacked.samples_per_s / 1e3, color=colour, marker="o", label="stacked learners")
    axes.vlines(x, low / 1e3, high / 1e3, color=colour, linewidth=1.2)
    for value in plain.samples_per_s / 1e3:
        axes.axhline(
            value, color=style.INK, linestyle="--", linewidth=1, label="one network, plain"
        )
    axes.plot(
        chosen.learners,
        chosen.samples_per_s / 1e3,
        marker="o",
        markersize=11,
        markerfacecolor="none",
        markeredgecolor=ring,
        markeredgewidth=1.8,
        linestyle="none",
        label="chosen",
    )
    top = own[["samples_per_s", "samples_per_s_high"]].max().max() / 1e3
    axes.set_ylim(0, 1.15 * top)
    axes.set_xlabel("learners on the device")
    style.whole_numbers(axes)


FIGURES = {
    "model_averaging": FigureEntry(draw_curves, ("averaging_curves", "model_averaging")),
    "learners": FigureEntry(draw_learners, ("learners",)),
}
