"""Training and validation error epoch by epoch at the large batch, a line a warm-up."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import style
from dpscale.units import format_value

WARMUPS = {"none": "no warm-up", "constant": "constant warm-up", "gradual": "gradual warm-up"}
ERRORS = {"train_error_frac": "training error (%)", "validation_error_frac": "validation error (%)"}
GAMMAS = {True: "Zero gamma", False: "Unit gamma"}


def draw(lr_scaling_curves: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure and a frame of what it shows, a row per epoch of an arm."""
    drawn = _drawn(lr_scaling_curves)
    gammas = [gamma for gamma in GAMMAS if (drawn.zero_gamma == gamma).any()] or [True]
    figure, grid = style.panels(2, len(gammas), height_in=4.8, sharey=True)
    for place, axes in enumerate(grid):
        error, gamma = list(ERRORS)[place // len(gammas)], gammas[place % len(gammas)]
        if drawn.empty:
            style.note(axes, "not measured yet")
            continue
        _panel(axes, drawn[drawn.zero_gamma == gamma], error)
        if place < len(gammas):
            axes.set_title(GAMMAS[gamma])
        if place % len(gammas) == 0:
            axes.set_ylabel(ERRORS[error])
        if place >= len(gammas):
            axes.set_xlabel("epoch")
    style.legend_above(figure, *grid)
    return figure, drawn


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Curves of the warm-ups: nothing measured yet."
    last = drawn[drawn.epoch == drawn.groupby("runs").epoch.transform("max")]
    parts = [
        f"{GAMMAS[bool(row.zero_gamma)].lower()}, {WARMUPS[row.warmup]}: after epoch {row.epoch} "
        f"training error {_said(row.train_error_frac)}, validation error "
        f"{_said(row.validation_error_frac)}"
        for row in last.itertuples()
    ]
    return f"Errors at kn = {drawn.global_batch.iloc[0]}. " + "; ".join(parts) + "."


def _said(value: object) -> str:
    return format_value(float(str(value)), "fraction") if style.known(value) else "none, diverged"


def _drawn(curves: pd.DataFrame) -> pd.DataFrame:
    """The SGD runs of the linear rule at the batch where the warm-ups are compared."""
    large = pd.Series([style.known(flag) and bool(flag) for flag in curves.large],
                      index=curves.index, dtype=bool)  # fmt: skip
    arms = (curves.role == "arm") & (curves.rule == "linear") & (curves.optimizer == "sgd")
    rows = curves[arms & large].copy()
    rows["zero_gamma"] = [bool(flag) for flag in rows.zero_gamma]
    columns = [f"{name}{end}" for name in ERRORS for end in ("", "_low", "_high")]
    rows[columns] = rows[columns].apply(pd.to_numeric).astype(float)
    order = {name: place for place, name in enumerate(WARMUPS)}
    rows = rows.assign(place=rows.warmup.map(order)).sort_values(
        ["zero_gamma", "place", "epoch"], ascending=[False, True, True], ignore_index=True
    )
    return rows[["warmup", "zero_gamma", "global_batch", "epoch", *columns, "runs"]]


def _panel(axes: Axes, shown: pd.DataFrame, error: str) -> None:
    for warmup, own in shown.groupby("warmup", sort=False):
        index = list(WARMUPS).index(str(warmup))
        own = own[own[error].notna()]
        axes.plot(
            own.epoch, 100 * own[error], color=style.colour_of(index),
            marker=style.marker_of(index), markersize=3, label=WARMUPS[str(warmup)],
        )  # fmt: skip
        axes.fill_between(
            own.epoch.astype(float), 100 * own[f"{error}_low"], 100 * own[f"{error}_high"],
            color=style.colour_of(index), alpha=0.15, linewidth=0,
        )  # fmt: skip
    axes.set_ylim(0, 100)
    style.whole_numbers(axes)
