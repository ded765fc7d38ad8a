"""Test accuracy of each arm of S3 against epochs and seconds, and the target."""

from collections.abc import Iterator

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import log_axes, style
from dpscale.units import format_value

SHOWN_BELOW_FRAC = 0.15  # of accuracy below the target: what lies lower tells little
REACHED = {"epoch": "epochs_to_target", "seconds": "seconds_to_target"}
COLUMNS = [
    "arm", "optimizer", "label", "epoch", "seconds", "seeds",
    "test_accuracy_frac", "test_accuracy_frac_low", "test_accuracy_frac_high",
    "target_accuracy_frac",
]  # fmt: skip


def draw(
    averaging_curves: pd.DataFrame, model_averaging: pd.DataFrame
) -> tuple[Figure, pd.DataFrame]:
    """Return the figure and a frame of what it shows: a row per arm and evaluation.

    Its last columns repeat when each arm reaches the target, null where not every seed does.
    """
    drawn = averaging_curves.loc[averaging_curves.test_accuracy_frac.notna(), COLUMNS]
    drawn = drawn.merge(model_averaging[["arm", *REACHED.values()]], on="arm", how="left")
    figure, (left, right) = style.panels(1, 2, height_in=4.0, sharey=True)
    left.set_title("Against epochs")
    right.set_title("Against seconds of training")
    if drawn.empty:
        style.note(left, "not measured yet")
        style.note(right, "not measured yet", shared_y=True)
        return figure, drawn
    for axes, column in ((left, "epoch"), (right, "seconds")):
        _lines(axes, drawn, column)
    target = float(drawn.target_accuracy_frac.iloc[0])
    left.set_ylim(100 * max(target - SHOWN_BELOW_FRAC, 0), 100)
    left.set(xlabel="epochs", ylabel="test accuracy (%)")
    style.whole_numbers(left)
    seconds = drawn.seconds.astype(float)
    log_axes.log_ticks(right.xaxis, seconds.min() / 1.15, seconds.max() * 1.15, "s")
    right.set_xlabel("training time (log scale)")
    style.legend_above(figure, left, columns=2)
    return figure, drawn


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Model averaging: nothing measured yet."
    parts = [
        f"{own.label.iloc[-1]}: {format_value(own.test_accuracy_frac.iloc[-1], 'fraction')} after "
        f"{own.epoch.iloc[-1]:g} epochs and {format_value(own.seconds.iloc[-1], 's')}"
        for _, own in drawn.groupby("arm", sort=False)
    ]
    target = format_value(drawn.target_accuracy_frac.iloc[0], "fraction")
    return f"Test accuracy, target {target}. " + "; ".join(parts) + "."


def _styled(drawn: pd.DataFrame) -> Iterator[tuple[pd.DataFrame, str, str]]:
    """Yield the rows of each arm with its colour and line: SGD solid, model averaging dashed."""
    for optimizer, dash in (("sgd", "-"), ("sma", "--")):
        alike = drawn[drawn.optimizer == optimizer]
        for index, (_, own) in enumerate(alike.groupby("arm", sort=False)):
            yield own, style.colour_of(index), dash


def _lines(axes: Axes, drawn: pd.DataFrame, column: str) -> None:
    for own, colour, dash in _styled(drawn):
        x = own[column].astype(float)
        axes.plot(
            x,
            100 * own.test_accuracy_frac,
            color=colour,
            linestyle=dash,
            label=own.label.iloc[0],
        )
        axes.fill_between(
            x,
            100 * own.test_accuracy_frac_low.astype(float),
            100 * own.test_accuracy_frac_high.astype(float),
            color=colour,
            alpha=0.15,
            linewidth=0,
        )
    target = 100 * float(drawn.target_accuracy_frac.iloc[0])
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
