"""S4: the arms after their last epoch, and their curves."""

from itertools import product
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import log_axes, style
from dpscale.figures.registry import FigureEntry
from dpscale.units import column_format

ARM = ["label_noise_frac", "arm", "title"]
ACCURACY = ["test_accuracy_frac", "test_accuracy_frac_low", "test_accuracy_frac_high"]
ARM_COLUMNS = [*ARM, *ACCURACY, "rounds", "sent_bytes", "seeds"]
CURVES = {"train_loss": "training loss", "test_accuracy_frac": "test accuracy (%)"}
# A look for each arm, in the order of their names: no two of six share a colour or a dash with it.
COLOURS = (*style.COLOURS, "#6B4FA0", "#7A6A00")
MARKERS = (*style.MARKERS, "v", "P")
DASHES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 3)))
CURVE_COLUMNS = [*ARM, "epoch", "switch_epoch", *CURVES]


def draw_arms(local_sgd: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the arms and a frame of what it shows: a row per regime and arm."""
    drawn = _known(local_sgd, "test_accuracy_frac", ARM_COLUMNS)
    if drawn.empty:
        return _remark(), drawn
    regimes = sorted(drawn.label_noise_frac.unique())
    names = dict(sorted(zip(drawn.arm, drawn.title, strict=True)))
    arms = list(names)
    height_in = max(1.7, 0.85 + 0.2 * len(arms))
    figure, grid = style.panels(1, len(regimes) + 1, sharey=True, height_in=height_in)
    for axes, regime in zip(grid, regimes, strict=False):
        axes.set_title(_regime(regime))
        _accuracies(axes, drawn[drawn.label_noise_frac == regime], arms)
    grid[-1].set_title("Sent by a learner")
    _bytes(grid[-1], drawn[drawn.label_noise_frac == regimes[0]], arms)
    short = [name.replace(" mini-batch", "").replace(" SGD", "") for name in names.values()]
    labels = [unbroken(f"{arm[:2]} {name}") for arm, name in zip(arms, short, strict=True)]
    style.categories(grid[0], labels, grid=True)
    return figure, drawn


def look_of(index: int) -> dict[str, Any]:
    """Return colour and marker of the arm number `index`; after the last one they begin again."""
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)]}


def unbroken(text: str) -> str:
    """Return a title whose `H = 16` no line breaks."""
    return text.replace(" = ", "\u00a0=\u00a0")


def _known(table: pd.DataFrame, measured: str, columns: list[str]) -> pd.DataFrame:
    """The columns of the rows in which something was measured."""
    return table.loc[table[measured].notna(), columns].reset_index(drop=True)


def _remark(text: str = style.UNMEASURED, panels: int = 1) -> Figure:
    """A figure with nothing but a remark."""
    figure, grid = style.panels(1, panels, height_in=1.8)
    for axes in grid:
        style.note(axes, text)
    return figure


def _regime(noise_frac: float) -> str:
    return f"{noise_frac:.0%} wrong labels" if noise_frac else "Clean labels"


def _accuracies(axes: Axes, rows: pd.DataFrame, arms: list[str]) -> None:
    for row in rows.itertuples():
        place = arms.index(row.arm)
        look = look_of(place)
        middle, low, high = (100 * getattr(row, name) for name in ACCURACY)
        axes.plot(middle, place, markersize=5.5, linestyle="none", **look)
        style.interval(axes, place, low, high, look["color"])
    axes.set_xlabel("test accuracy (%)")
    axes.locator_params(axis="x", nbins=4)


def _bytes(axes: Axes, rows: pd.DataFrame, arms: list[str]) -> None:
    form = column_format(list(rows.sent_bytes), "bytes")
    sizes = rows.sent_bytes / form.scale.factor
    places = [arms.index(arm) for arm in rows.arm]
    colours = [look_of(place)["color"] for place in places]
    axes.barh(places, sizes, height=0.5, color=colours)
    for place, size, rounds in zip(places, sizes, rows.rounds, strict=True):
        style.right_of(axes, f"{rounds:,.0f}", size, place)
    axes.set(xlim=(0, 1.4 * max(sizes.max(), 1e-9)), xlabel=f"{form.symbol}; number: rounds")
    axes.locator_params(axis="x", nbins=4)


def draw_curves(local_sgd_curves: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the curves and a frame of what they show: a row per regime, arm and evaluation."""
    drawn = _known(local_sgd_curves, "train_loss", CURVE_COLUMNS)
    if drawn.empty:
        return _remark(panels=len(CURVES)), drawn
    regimes, arms = sorted(drawn.label_noise_frac.unique()), sorted(drawn.arm.unique())
    figure, grid = style.panels(len(regimes), len(CURVES), height_in=0.5 + 1.6 * len(regimes))
    for axes, (regime, name) in zip(grid, product(regimes, CURVES), strict=True):
        _curves(axes, drawn[drawn.label_noise_frac == regime], name, arms)
        axes.set(title=_regime(regime), xlabel="epoch", ylabel=CURVES[name])
    style.legend_above(figure, *grid)
    return figure, drawn


def _curves(axes: Axes, rows: pd.DataFrame, name: str, arms: list[str]) -> None:
    scale = 100 if name.endswith("_frac") else 1
    for (arm, title), line in rows.groupby(["arm", "title"]):
        place = arms.index(arm)
        axes.plot(
            line.epoch,
            scale * line[name],
            linestyle=DASHES[place % len(DASHES)],
            markersize=3,
            label=unbroken(f"{arm[:2]} {title}"),
            **look_of(place),
        )
    for switch in rows.switch_epoch[rows.switch_epoch > 0].unique():
        axes.axvline(
            switch, color=style.INK, linestyle=":", linewidth=1, label="A5: local steps begin"
        )
    if name == "train_loss":
        log_axes.log_ticks(axes.yaxis, rows[name].min() / 1.3, rows[name].max() * 1.3, "number")
    style.whole_numbers(axes)


FIGURES = {
    "local_sgd": FigureEntry(draw_arms, ("local_sgd",)),
    "local_sgd_curves": FigureEntry(draw_curves, ("local_sgd_curves",)),
}
