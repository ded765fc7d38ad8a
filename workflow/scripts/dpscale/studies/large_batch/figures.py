"""Training and test accuracy with a small batch, a large one and each remedy."""

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import style
from dpscale.figures.registry import FigureEntry
from dpscale.studies.large_batch.remedies import CONTROL, REMEDIES

LAB_EPOCH = 5  # the epoch that the lab asks about
NAMES = {"small": "small batch", "large": "large batch"} | {
    name: remedy.label for name, remedy in REMEDIES.items()
}
SERIES = {
    "train": ("training accuracy", "o", style.COLOURS[0], -0.13),
    "test": ("test accuracy", "s", style.COLOURS[1], 0.13),
}


def draw(accuracy: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of the arms and a frame of what it shows: a row per arm, epoch, series."""
    drawn = _drawn(accuracy)
    arms = list(dict.fromkeys(drawn.arm))
    figure, (axes,) = style.panels(1, 1, height_in=max(1.5, 0.7 + 0.19 * len(arms)))
    if style.nothing(drawn, axes):
        return figure, drawn
    _marks(axes, drawn, arms)
    style.categories(axes, _labels(drawn), above=0.5, below=0.5, grid=True)
    style.legend_above(figure, axes)
    return figure, drawn


def _labels(drawn: pd.DataFrame) -> list[str]:
    """The arms, and the epochs of those that have others than the first."""
    epochs = drawn.groupby("arm", sort=False).epoch.first()
    usual = epochs.iloc[0]
    return [
        NAMES.get(arm, arm.replace("_", " ")) + (f", {epoch} epochs" if epoch != usual else "")
        for arm, epoch in epochs.items()
    ]


def _drawn(accuracy: pd.DataFrame) -> pd.DataFrame:
    rows = accuracy[(accuracy.study == "large_batch") & (accuracy.arm != CONTROL)]
    rows = rows[rows.test_accuracy_frac.notna()]
    # Small and large batch are compared after the lab's epoch, a remedy after its last.
    limit = rows.arm.isin(["small", "large"]).map({True: LAB_EPOCH, False: math.inf})
    rows = rows[rows.epoch <= limit]
    chosen = rows[rows.epoch == rows.groupby("arm").epoch.transform("max")]
    parts = []
    for series in SERIES:
        values = chosen[[f"{series}_accuracy_frac{end}" for end in ("", "_low", "_high")]]
        values.columns = ["accuracy_frac", "accuracy_frac_low", "accuracy_frac_high"]
        parts.append(chosen[["arm", "epoch", "seeds"]].assign(series=series).join(values))
    drawn = pd.concat(parts, ignore_index=True)
    order = {arm: place for place, arm in enumerate([*NAMES, *sorted(set(drawn.arm) - set(NAMES))])}
    return (
        drawn.assign(place=drawn.arm.map(order))
        .sort_values(["place", "series"], ascending=[True, False], ignore_index=True)
        .drop(columns="place")
    )


def _marks(axes: Axes, shown: pd.DataFrame, arms: list[str]) -> None:
    for series, (label, marker, colour, shift) in SERIES.items():
        rows = shown[shown.series == series]
        places = [arms.index(arm) + shift for arm in rows.arm]
        axes.plot(
            100 * rows.accuracy_frac,
            places,
            marker=marker,
            color=colour,
            label=label,
            linestyle="none",
            markersize=5.5,
        )
        axes.hlines(
            places,
            100 * rows.accuracy_frac_low.astype(float),
            100 * rows.accuracy_frac_high.astype(float),
            color=colour,
            linewidth=1.4,
        )
    axes.set_xlabel("accuracy (%)")


FIGURES = {"accuracy": FigureEntry(draw, ("accuracy",))}
