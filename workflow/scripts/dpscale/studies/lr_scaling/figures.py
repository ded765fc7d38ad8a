"""Errors against the batch by rule, warm-ups epoch by epoch, and times of an iteration."""

from collections.abc import Sequence
from itertools import product
from typing import Any

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
    """Return the figure of errors less the reference's and a frame of what it shows."""
    drawn = _errors(lr_scaling, lr_scaling_elbow)
    curve = published_lr_scaling[published_lr_scaling.kind == "curve"]
    figure, (axes,) = style.panels(1, 1, height_in=2.5)
    if not style.nothing(drawn[drawn.difference_frac.notna()], axes):
        _differences(axes, drawn, curve)
        style.legend_above(figure, axes, columns=3)
    return figure, drawn


def _errors(lr_scaling: pd.DataFrame, elbows: pd.DataFrame) -> pd.DataFrame:
    """The reference, the arms of the rules, and the best run of LARS."""
    rows = lr_scaling[lr_scaling.status.isin(["complete", "diverged"])]
    arms, lars = rows.role == "arm", rows.optimizer == "lars"
    rules = arms & ~lars & rows.zero_gamma & (rows.warmup == "gradual")
    rows = rows[rules | (lars & (rows.chosen | arms)) | rows.reference]
    series = rows.optimizer.where(rows.optimizer == "lars", rows.rule)
    base = rows.global_batch[rows.reference].min()
    rows = rows.assign(
        series=series,
        batch_ratio=rows.global_batch / base,
        elbow_ratio=series.map(elbows.set_index("rule").elbow_ratio.get),
        place=series.map(list(LINES).index),
    )
    errors = [f"{name}{end}" for name in ("difference_frac", "test_error_frac") for end in ENDS]
    columns = ["series", "global_batch", "batch_ratio", "status", "reference", "margin_frac", "lr"]
    rows = rows.sort_values(["place", "global_batch"], ignore_index=True)
    return rows[[*columns, *errors, "elbow_ratio"]]


def _differences(axes: Axes, drawn: pd.DataFrame, curve: pd.DataFrame) -> None:
    base = drawn[drawn.reference]
    batches = sorted(drawn.global_batch.unique())
    for index, (series, own) in enumerate(drawn.groupby("series", sort=False)):
        if series in ("sqrt", "fixed"):
            own = pd.concat([base, own])  # every rule gives the reference the same rate
        _line(axes, own.sort_values("global_batch"), index, LINES[series], batches)
    published = 100 * (curve.published_frac - curve.published_other_frac)
    axes.plot(
        curve.batch_ratio,
        published,
        color=style.INK,
        marker=".",
        linestyle="--",
        linewidth=1,
        label="published (ResNet-50)",
    )
    within = 100 * float(base.margin_frac.max())
    axes.axhspan(-within, within, color=style.INK, alpha=0.1, linewidth=0, label="margin")
    for elbow in drawn[drawn.series == "linear"].elbow_ratio.dropna().unique():
        if elbow > 1:  # at the reference itself nothing was kept
            axes.axvline(
                elbow, color=style.INK, linestyle=":", linewidth=1, label="linear rule: kept"
            )
    axes.set_yscale("symlog", linthresh=1, linscale=0.5)
    ticks = [-10, -1, 0, 1, 3, 10, 30, 100]
    axes.set_yticks(ticks, [str(tick).replace("-", "\u2212") for tick in ticks])
    axes.set_ylim(min(-2, 110 * float(drawn.difference_frac_low.min())), 110)
    ratios = sorted({*drawn.batch_ratio, *curve.batch_ratio})
    log_axes.log2_ticks(
        axes, [ratio for ratio in ratios if ratio >= 1], "batch over the reference batch"
    )
    axes.set_xlim(ratios[0] / 1.3, ratios[-1] * 1.3)
    axes.set_ylabel("test error, points\nabove the reference's")


def _line(axes: Axes, own: pd.DataFrame, index: int, label: str, batches: Sequence[int]) -> None:
    """A rule's points, those at neighbouring batches joined: nothing was run between others.

    batches: of all rules.
    """
    colour, marker = style.colour_of(index), style.marker_of(index)
    whole = own[own.difference_frac.notna()]
    places = whole.batch_ratio * APART ** (index - 1)
    percent = 100 * whole[[f"difference_frac{end}" for end in ENDS]]
    axes.plot(
        places, percent.difference_frac, color=colour, marker=marker, label=label, linestyle="none"
    )
    ranks = whole.global_batch.map(batches.index)
    for _, joined in whole.groupby((ranks.diff() != 1).cumsum()):
        axes.plot(places[joined.index], percent.difference_frac[joined.index], color=colour)
    axes.vlines(
        places, percent.difference_frac_low, percent.difference_frac_high, color=colour, linewidth=1
    )
    for ratio in own[own.status == "diverged"].batch_ratio:
        axes.plot([ratio], [100.0], marker="x", color=colour, markersize=7, linestyle="none")


def draw_warmups(lr_scaling_curves: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of the warm-ups and a frame of what it shows, a row per epoch of an arm."""
    drawn = _warmups(lr_scaling_curves)
    gammas = [gamma for gamma in GAMMAS if (drawn.zero_gamma == gamma).any()] or [True]
    figure, grid = style.panels(2, len(gammas), height_in=3.4, sharey=True)
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
    """Medians as lines; intervals at the last epoch alone, where they do not cover each other."""
    for warmup, own in shown.groupby("warmup", sort=False):
        index = list(WARMUPS).index(warmup)
        own = own[own[error].notna()]
        colour = style.colour_of(index)
        marks: dict[str, Any] = {"marker": style.marker_of(index), "markersize": 3}
        axes.plot(own.epoch, 100 * own[error], color=colour, label=WARMUPS[warmup], **marks)
        last = own.tail(1)
        ends = [100 * last[f"{error}{end}"] for end in ENDS[1:]]
        axes.vlines(last.epoch + 0.15 * (1 + index), *ends, color=colour, linewidth=1.5)
    axes.set_ylim(0, 102)
    style.whole_numbers(axes)


def draw_times(iteration_times: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of the times and a frame of what it shows, a row per workers and batch."""
    known = iteration_times.iteration_s.notna() & (iteration_times.status == "complete")
    names = [f"{time}{end}" for time in TIMES for end in ENDS]
    drawn = iteration_times[known].sort_values(["per_worker_batch", "workers"], ignore_index=True)
    drawn = drawn[["per_worker_batch", "workers", "nodes", *names, "oversubscribed"]]
    figure, grid = style.panels(1, 2, height_in=2.1)
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
