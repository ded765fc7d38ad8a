"""S4: training loss and test accuracy of the arms, epoch by epoch."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import log_axes, style
from dpscale.figures.local_sgd import regime_title
from dpscale.units import format_value

MEASURES = {"train_loss": "training loss", "test_accuracy_frac": "test accuracy (%)"}
COLUMNS = ["label_noise_frac", "arm", "title", "epoch", "switch_epoch", *MEASURES]


def draw(local_sgd_curves: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure and a frame of what it shows: a row per regime, arm and evaluation."""
    drawn = _drawn(local_sgd_curves)
    regimes = sorted(drawn.label_noise_frac.unique())
    figure, grid = style.panels(
        max(len(regimes), 1), len(MEASURES), height_in=0.6 + 2.3 * len(regimes) if regimes else 1.8
    )
    if not regimes:
        for axes in grid:
            style.note(axes, "not measured yet")
        return figure, drawn
    for index, axes in enumerate(grid):
        regime, (name, words) = regimes[index // 2], list(MEASURES.items())[index % 2]
        axes.set_title(regime_title(regime))
        _panel(axes, drawn[drawn.label_noise_frac == regime], name)
        axes.set(xlabel="epoch", ylabel=words)
    style.legend_above(figure, *grid)
    return figure, drawn


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Curves of local SGD: nothing measured yet."
    last = drawn.groupby(["label_noise_frac", "arm"]).tail(1)
    parts = [
        f"{regime_title(row.label_noise_frac).lower()}, {row.title}, epoch {row.epoch:g}: training "
        f"loss {format_value(row.train_loss, 'number')}, test accuracy "
        f"{format_value(row.test_accuracy_frac, 'fraction')}"
        for row in last.itertuples()
    ]
    return "; ".join(parts) + "."


def _drawn(curves: pd.DataFrame) -> pd.DataFrame:
    rows = curves[curves.train_loss.notna()][COLUMNS].copy()
    numeric = [name for name in COLUMNS if name not in ("arm", "title")]
    rows[numeric] = rows[numeric].apply(pd.to_numeric).astype(float)
    return rows.sort_values(["label_noise_frac", "arm", "epoch"], ignore_index=True)


def _panel(axes: Axes, rows: pd.DataFrame, name: str) -> None:
    scale = 100 if name.endswith("_frac") else 1
    for index, (arm, line) in enumerate(rows.groupby("arm")):
        title = line.title.iloc[0]
        axes.plot(
            line.epoch, scale * line[name], color=style.colour_of(index),
            linestyle=style.dash_of(index), marker=style.marker_of(index), markersize=3,
            label=f"{str(arm)[:2]} {title}",
        )  # fmt: skip
    switches = rows.switch_epoch[rows.switch_epoch > 0].unique()
    for switch in switches:
        axes.axvline(
            switch, color=style.INK, linestyle=":", linewidth=1, label="A5: local steps begin"
        )
    if name == "train_loss":
        log_axes.log_ticks(axes.yaxis, rows[name].min() / 1.3, rows[name].max() * 1.3, "number")
    style.whole_numbers(axes)
