"""Training and test accuracy with a small batch, a large one and each remedy."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import style
from dpscale.figures.registry import FigureEntry
from dpscale.units import format_value

LAB_EPOCH = 5  # the epoch that the lab asks about
NAMES = {
    "small": "small batch",
    "large": "large batch",
    "linear_scaling": "+ linear scaling",
    "warmup": "+ gradual warm-up",
    "zero_gamma": "+ zero gamma",
    "more_epochs": "longer training",
}
SERIES = {
    "train": ("training accuracy", "o", style.COLOURS[0], -0.13),
    "test": ("test accuracy", "s", style.COLOURS[1], 0.13),
}


def draw(accuracy: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of the arms and a frame of what it shows: a row per arm, epoch, series."""
    drawn = _drawn(accuracy)
    arms = list(dict.fromkeys(drawn.arm))
    moments = [moment for moment in ("fifth", "last") if (drawn.moment == moment).any()]
    figure, grid = style.panels(
        1, max(len(moments), 1), sharey=True, height_in=max(2.0, 1.15 + 0.38 * len(arms))
    )
    if not moments:
        style.note(grid[0])
        return figure, drawn
    for axes, moment in zip(grid, moments, strict=True):
        shown = drawn[drawn.moment == moment]
        axes.set_title(f"After epoch {LAB_EPOCH}" if moment == "fifth" else "After the last epoch")
        _panel(axes, shown, arms)
    names = [NAMES.get(arm, arm.replace("_", " ")) for arm in arms]
    style.categories(grid[0], names, above=0.5, below=0.5, grid=True)
    style.legend_above(figure, grid[0])
    return figure, drawn


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Accuracy of small and large batches: nothing measured yet."
    parts = [
        f"{NAMES.get(row.arm, row.arm)} after epoch {row.epoch}, {SERIES[row.series][0]} "
        f"{format_value(row.accuracy_frac, 'fraction')}"
        for row in drawn.itertuples()
    ]
    return "; ".join(parts) + "."


def _drawn(accuracy: pd.DataFrame) -> pd.DataFrame:
    rows = accuracy[accuracy.study == "large_batch"]
    rows = rows[rows.test_accuracy_frac.notna()]
    last = rows[rows.epoch == rows.groupby("arm").epoch.transform("max")]
    fifth = rows[rows.epoch == LAB_EPOCH]
    if fifth.epoch.tolist() == last.epoch.tolist():
        fifth = fifth.iloc[:0]
    parts = []
    for moment, chosen in (("fifth", fifth), ("last", last)):
        for series in SERIES:
            values = chosen[[f"{series}_accuracy_frac{end}" for end in ("", "_low", "_high")]]
            values.columns = ["accuracy_frac", "accuracy_frac_low", "accuracy_frac_high"]
            parts.append(
                chosen[["arm", "epoch", "seeds"]].assign(moment=moment, series=series).join(values)
            )
    drawn = pd.concat(parts, ignore_index=True)
    order = {arm: place for place, arm in enumerate([*NAMES, *sorted(set(drawn.arm) - set(NAMES))])}
    return (
        drawn.assign(place=drawn.arm.map(order))
        .sort_values(
            ["place", "moment", "series"], ascending=[True, True, False], ignore_index=True
        )
        .drop(columns="place")
    )


def _panel(axes: Axes, shown: pd.DataFrame, arms: list[str]) -> None:
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


FIGURES = {
    "accuracy": FigureEntry(draw, ("accuracy",), alt),
}
