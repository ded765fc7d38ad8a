"""S4: test accuracy of the five arms in every regime, beside what they communicate."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import style
from dpscale.units import column_format, format_value

COLUMNS = [
    "label_noise_frac", "arm", "title", "test_accuracy_frac", "test_accuracy_frac_low",
    "test_accuracy_frac_high", "rounds", "sent_bytes", "seeds",
]  # fmt: skip


def draw(local_sgd: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure and a frame of what it shows: a row per regime and arm."""
    drawn = _drawn(local_sgd)
    if drawn.empty:
        figure, grid = style.panels(1, 1, height_in=1.8)
        style.note(grid[0], "not measured yet")
        return figure, drawn
    regimes = sorted(drawn.label_noise_frac.unique())
    names = dict(zip(drawn.arm, drawn.title, strict=True))
    arms = sorted(names)
    figure, grid = style.panels(
        1, len(regimes) + 1, sharey=True, height_in=max(2.2, 1.1 + 0.34 * len(arms))
    )
    for axes, regime in zip(grid, regimes, strict=False):
        axes.set_title(regime_title(regime))
        _accuracies(axes, drawn[drawn.label_noise_frac == regime], arms)
    grid[-1].set_title("Sent by a worker")
    _bytes(grid[-1], drawn[drawn.label_noise_frac == regimes[0]], arms)
    labels = [f"{arm[:2]} {names[arm].replace(' mini-batch', '').replace(' SGD', '')}"
              for arm in arms]  # fmt: skip
    style.categories(grid[0], labels, grid=True)
    return figure, drawn


def regime_title(noise_frac: float) -> str:
    """Return what a regime is called."""
    return f"{noise_frac:.0%} wrong labels" if noise_frac else "Clean labels"


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Local SGD: nothing measured yet."
    parts = [
        f"{regime_title(row.label_noise_frac).lower()}, {row.title}: test accuracy "
        f"{format_value(row.test_accuracy_frac, 'fraction')}, sent "
        f"{format_value(row.sent_bytes, 'bytes')}"
        for row in drawn.itertuples()
    ]
    return "; ".join(parts) + "."


def _drawn(local_sgd: pd.DataFrame) -> pd.DataFrame:
    rows = local_sgd[local_sgd.test_accuracy_frac.notna()][COLUMNS].copy()
    numeric = [name for name in COLUMNS if name not in ("arm", "title")]
    rows[numeric] = rows[numeric].apply(pd.to_numeric).astype(float)
    return rows.sort_values(["label_noise_frac", "arm"], ignore_index=True)


def _accuracies(axes: Axes, rows: pd.DataFrame, arms: list[str]) -> None:
    for index, row in enumerate(rows.itertuples()):
        place = arms.index(row.arm)
        axes.plot(
            100 * row.test_accuracy_frac, place, linestyle="none", markersize=5.5,
            marker=style.marker_of(index), color=style.colour_of(index),
        )  # fmt: skip
        style.interval(
            axes, place, 100 * row.test_accuracy_frac_low, 100 * row.test_accuracy_frac_high,
            style.colour_of(index),
        )  # fmt: skip
    axes.set_xlabel("test accuracy (%)")
    axes.locator_params(axis="x", nbins=4)


def _bytes(axes: Axes, rows: pd.DataFrame, arms: list[str]) -> None:
    form = column_format(list(rows.sent_bytes), "bytes")
    sizes = rows.sent_bytes / form.scale.factor
    places = [arms.index(arm) for arm in rows.arm]
    colours = [style.colour_of(index) for index in range(len(rows))]
    axes.barh(places, sizes, height=0.5, color=colours)
    for place, size, rounds in zip(places, sizes, rows.rounds, strict=True):
        style.right_of(axes, f"{rounds:,.0f}", size, place)
    axes.set_xlim(0, 1.4 * max(sizes.max(), 1e-9))
    axes.set_xlabel(f"{form.symbol}; number: rounds")
    axes.locator_params(axis="x", nbins=4)
