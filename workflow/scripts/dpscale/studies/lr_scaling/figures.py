"""Errors against the batch by rule, warm-ups epoch by epoch, and times of an iteration."""

from itertools import product

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import log_axes, style
from dpscale.figures.registry import FigureEntry

LINES = {"linear": "linear rule", "sqrt": "square-root rule", "fixed": "fixed rate", "lars": "LARS"}
APART = 1.05  # from series to series at one batch, so that intervals do not hide each other
ENDS = ("", "_low", "_high")
WARMUPS = {"none": "no warm-up", "constant": "constant warm-up", "gradual": "gradual warm-up"}
CURVES = {"train_error_frac": "training error (%)", "validation_error_frac": "validation error (%)"}
GAMMAS = {True: "Zero gains", False: "Gains of one"}
TIMES = {"iteration_s": "One iteration", "epoch_s": "One epoch"}


def draw_errors(
    lr_scaling: pd.DataFrame, lr_scaling_elbow: pd.DataFrame, published_lr_scaling: pd.DataFrame
) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of the test errors and a frame of what it shows, a row per point."""
    drawn = _errors(lr_scaling, lr_scaling_elbow)
    figure, (left, right) = style.panels(1, 2, height_in=3.5, widths=(3, 2))
    left.set_title("Measured here")
    right.set_title("Published (ResNet-50)")
    if not style.nothing(drawn, left):
        _measured(left, drawn)
    curve = published_lr_scaling[published_lr_scaling.kind == "curve"]
    right.plot(curve.published_batch, 100 * curve.published_frac, color=style.INK, marker="o")
    for error in curve.published_frac[curve.batch_ratio == 1]:
        right.axhline(100 * error, color=style.INK, linestyle="--", linewidth=1)
    log_axes.log2_ticks(right, curve.published_batch.iloc[1::3], "global batch B (log scale)")
    right.set_ylabel("validation error (%)")
    style.legend_above(figure, left, columns=4)
    return figure, drawn


def _errors(lr_scaling: pd.DataFrame, elbows: pd.DataFrame) -> pd.DataFrame:
    """The reference, the arms of the rules, and the best run of LARS."""
    rows = lr_scaling[lr_scaling.status.isin(["complete", "diverged"])]
    arms, lars = rows.role == "arm", rows.optimizer == "lars"
    rules = arms & ~lars & rows.zero_gamma & (rows.warmup == "gradual")
    rows = rows[rules | (lars & (rows.chosen | arms)) | rows.reference]
    series = rows.optimizer.where(rows.optimizer == "lars", rows.rule)
    elbow = series.map(elbows.set_index("rule").elbow_batch.get)
    rows = rows.assign(series=series, elbow_batch=elbow, place=series.map(list(LINES).index))
    errors = [f"test_error_frac{end}" for end in ENDS]
    columns = ["series", "global_batch", "status", "reference", "margin_frac", "lr", *errors]
    rows = rows.sort_values(["place", "global_batch"], ignore_index=True)
    return rows[[*columns, "elbow_batch"]]


def _measured(axes: Axes, drawn: pd.DataFrame) -> None:
    known = drawn[drawn.test_error_frac > 0]
    low = float(known.test_error_frac.min()) / 2.5 if len(known) else 0.01
    top = 1.25
    base = drawn[drawn.reference]
    for index, (series, own) in enumerate(drawn.groupby("series", sort=False)):
        if series in ("sqrt", "fixed"):
            own = pd.concat([base, own])  # every rule gives the reference the same rate
        _line(axes, own.sort_values("global_batch"), index, LINES[series], low)
    log_axes.log_ticks(axes.yaxis, low, top, "fraction")
    _reference(axes, base)
    _elbow(axes, drawn, top)
    batches = drawn.global_batch.drop_duplicates().sort_values()
    log_axes.log2_ticks(axes, batches, "global batch B (log scale)")
    axes.set_xlim(batches.iloc[0] / 1.3, batches.iloc[-1] * 1.3)
    axes.set_ylabel("test error (log scale)")


def _line(axes: Axes, own: pd.DataFrame, index: int, label: str, floor: float) -> None:
    colour, marker = style.colour_of(index), style.marker_of(index)
    whole = own[own.test_error_frac.notna()]
    places = whole.global_batch.astype(float) * APART ** (index - 1)
    heights = whole.test_error_frac.clip(lower=floor)
    low = whole.test_error_frac_low.clip(lower=floor)
    axes.plot(places, heights, color=colour, marker=marker, label=label)
    axes.vlines(places, low, whole.test_error_frac_high, color=colour, linewidth=1)
    for batch in own[own.status == "diverged"].global_batch:
        axes.plot([batch], [1.0], marker="x", color=colour, markersize=7, linestyle="none")


def _reference(axes: Axes, base: pd.DataFrame) -> None:
    """The reference's error, and the margin within which another one counts as kept."""
    for row in base[base.test_error_frac.notna()].itertuples():
        error, within = row.test_error_frac, row.test_error_frac + row.margin_frac
        axes.axhline(error, color=style.INK, linestyle="--", linewidth=1, label="reference")
        axes.axhspan(error, within, color=style.INK, alpha=0.12, linewidth=0, label="its margin")


def _elbow(axes: Axes, drawn: pd.DataFrame, top: float) -> None:
    linear = drawn[drawn.series == "linear"].elbow_batch.dropna()
    if linear.empty:
        return
    elbow = int(linear.iloc[0])
    axes.axvline(elbow, color=style.INK, linestyle=":", linewidth=1)
    axes.annotate(
        "elbow of the\nlinear rule",
        (elbow, top),
        xytext=(-4, -2),
        textcoords="offset points",
        ha="right" if elbow > drawn.global_batch.min() else "left",
        va="top",
        fontsize=7.5,
    )


def draw_warmups(lr_scaling_curves: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of the warm-ups and a frame of what it shows, a row per epoch of an arm."""
    drawn = _warmups(lr_scaling_curves)
    gammas = [gamma for gamma in GAMMAS if (drawn.zero_gamma == gamma).any()] or [True]
    figure, grid = style.panels(2, len(gammas), height_in=4.8, sharey=True)
    for axes, (error, gamma) in zip(grid, product(CURVES, gammas), strict=True):
        if style.nothing(drawn, axes):
            continue
        _curves(axes, drawn[drawn.zero_gamma == gamma], error)
        if error == "train_error_frac":
            axes.set_title(GAMMAS[gamma])
        else:
            axes.set_xlabel("epoch")
        if gamma == gammas[0]:
            axes.set_ylabel(CURVES[error])
    style.legend_above(figure, *grid)
    return figure, drawn


def _warmups(curves: pd.DataFrame) -> pd.DataFrame:
    """The SGD runs of the linear rule at the batch where the warm-ups are compared."""
    arms = (curves.role == "arm") & (curves.rule == "linear") & (curves.optimizer == "sgd")
    rows = curves[arms & curves.large]
    rows = rows.assign(place=rows.warmup.map(list(WARMUPS).index)).sort_values(
        ["zero_gamma", "place", "epoch"], ascending=[False, True, True], ignore_index=True
    )
    errors = [f"{name}{end}" for name in CURVES for end in ENDS]
    return rows[["warmup", "zero_gamma", "global_batch", "epoch", *errors, "runs"]]


def _curves(axes: Axes, shown: pd.DataFrame, error: str) -> None:
    for warmup, own in shown.groupby("warmup", sort=False):
        index = list(WARMUPS).index(warmup)
        own = own[own[error].notna()]
        percent = 100 * own[[f"{error}{end}" for end in ENDS]]
        look = {"marker": style.marker_of(index), "markersize": 3, "label": WARMUPS[warmup]}
        style.curve(axes, own.epoch, percent, style.colour_of(index), opacity=0.15, **look)
    axes.set_ylim(0, 100)
    style.whole_numbers(axes)


def draw_times(iteration_times: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of the times and a frame of what it shows, a row per workers and batch."""
    known = iteration_times.iteration_s.notna() & (iteration_times.status == "complete")
    names = [f"{time}{end}" for time in TIMES for end in ENDS]
    drawn = iteration_times[known].sort_values(["per_worker_batch", "workers"], ignore_index=True)
    drawn = drawn[["per_worker_batch", "workers", "nodes", *names, "oversubscribed"]]
    figure, grid = style.panels(1, 2, height_in=3.3)
    for axes, (time, title) in zip(grid, TIMES.items(), strict=True):
        axes.set_title(title)
        if not style.nothing(drawn, axes):
            _times(axes, drawn, time)
    style.legend_above(figure, grid[0], columns=4)
    return figure, drawn


def _times(axes: Axes, drawn: pd.DataFrame, time: str) -> None:
    for index, (batch, own) in enumerate(drawn.groupby("per_worker_batch")):
        colour = style.colour_of(index)
        axes.plot(
            own.workers,
            own[time],
            color=colour,
            linestyle=style.dash_of(index),
            label=f"b = {batch}",
        )
        for over, part in own.groupby("oversubscribed"):
            axes.plot(
                part.workers,
                part[time],
                color=colour,
                marker=style.marker_of(index),
                linestyle="none",
                fillstyle="none" if over else "full",
            )
        axes.vlines(own.workers, own[f"{time}_low"], own[f"{time}_high"], color=colour, linewidth=1)
    values = drawn[[f"{time}{end}" for end in ENDS]]
    low, high = float(values.min().min()), float(values.max().max())
    log_axes.log_ticks(axes.yaxis, low / 1.4, high * 1.4, "s")
    workers = drawn.workers.drop_duplicates().sort_values()
    log_axes.log2_ticks(axes, workers, "workers N (log scale)")
    axes.set_ylabel("time (log scale)")


FIGURES = {
    "lr_scaling": FigureEntry(
        draw_errors, ("lr_scaling", "lr_scaling_elbow", "published_lr_scaling")
    ),
    "warmups": FigureEntry(draw_warmups, ("lr_scaling_curves",)),
    "iteration_times": FigureEntry(draw_times, ("iteration_times",)),
}
