"""Error against the global batch: each rule of the learning rate, and the published curve."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import log_axes, style
from dpscale.units import format_value, group_digits

SERIES = {
    "linear": "linear rule",
    "sqrt": "square-root rule",
    "fixed": "fixed rate",
    "lars": "LARS",
}
APART = 1.05  # from series to series at one batch, so that intervals do not hide each other
ERROR = ["test_error_frac", "test_error_frac_low", "test_error_frac_high"]


def draw(
    lr_scaling: pd.DataFrame, lr_scaling_elbow: pd.DataFrame, published_lr_scaling: pd.DataFrame
) -> tuple[Figure, pd.DataFrame]:
    """Return the figure and a frame of what it shows, a row per point and panel."""
    drawn = _drawn(lr_scaling, lr_scaling_elbow)
    figure, (left, right) = style.panels(1, 2, height_in=3.5, widths=(3, 2))
    left.set_title("Measured here")
    right.set_title("Published (ResNet-50)")
    if drawn.empty:
        style.note(left, "not measured yet")
    else:
        _measured(left, drawn)
    _published(right, published_lr_scaling)
    style.legend_above(figure, left, columns=4)
    return figure, drawn


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Error against the batch: nothing measured yet."
    parts = []
    for series, own in drawn.groupby("series", sort=False):
        points = ", ".join(
            f"kn = {row.global_batch} "
            + ("diverged" if row.status == "diverged"
               else format_value(row.test_error_frac, "fraction"))
            for row in own.itertuples()
        )  # fmt: skip
        elbow = own.elbow_batch.iloc[0]
        parts.append(
            f"{SERIES[series]}: {points}" + (f", elbow {elbow}" if style.known(elbow) else "")
        )
    return "Test error against the global batch. " + "; ".join(parts) + "."


def _drawn(lr_scaling: pd.DataFrame, elbows: pd.DataFrame) -> pd.DataFrame:
    rows = lr_scaling[lr_scaling.status.isin(["complete", "diverged"])].copy()
    rows["reference"] = [style.known(flag) and bool(flag) for flag in rows.reference]
    zero = pd.Series([style.known(z) and bool(z) for z in rows.zero_gamma], index=rows.index)
    chosen = pd.Series([style.known(c) and bool(c) for c in rows.chosen], index=rows.index)
    sgd = (rows.optimizer == "sgd") & (rows.role == "arm") & zero & (rows.warmup == "gradual")
    best = (rows.optimizer == "lars") & (chosen | (rows.role == "arm"))
    rows = rows[sgd | best | rows.reference]
    rows["series"] = rows.optimizer.where(rows.optimizer == "lars", rows.rule)
    known = elbows.set_index("rule").elbow_batch.to_dict()
    rows["elbow_batch"] = [known.get(series) for series in rows.series]
    columns = ["series", "global_batch", "status", "reference", "margin_frac", "lr", *ERROR]
    order = {name: place for place, name in enumerate(SERIES)}
    rows = rows[[*columns, "elbow_batch"]].assign(place=rows.series.map(order))
    rows = rows.sort_values(["place", "global_batch"], ignore_index=True).drop(columns="place")
    rows[ERROR] = rows[ERROR].apply(pd.to_numeric).astype(float)
    return rows


def _measured(axes: Axes, drawn: pd.DataFrame) -> None:
    known = drawn[drawn.test_error_frac > 0]
    low = float(known.test_error_frac.min()) / 2.5 if len(known) else 0.01
    top = 1.25
    base = drawn[drawn.reference]
    for index, (series, own) in enumerate(drawn.groupby("series", sort=False)):
        if series in ("sqrt", "fixed") and len(base):
            own = pd.concat([base, own])  # every rule gives the reference the same rate
        _line(axes, own.sort_values("global_batch"), index, SERIES[series], low)
    log_axes.log_ticks(axes.yaxis, low, top, "fraction")
    _reference(axes, base)
    _elbow(axes, drawn, top)
    _batches(axes, sorted(drawn.global_batch.astype(int).unique()))
    axes.set_ylabel("test error (log scale)")


def _line(axes: Axes, own: pd.DataFrame, index: int, label: str, floor: float) -> None:
    colour, marker = style.colour_of(index), style.marker_of(index)
    whole = own[own.test_error_frac.notna()]
    places = whole.global_batch.astype(float) * APART ** (index - 1)
    heights = whole.test_error_frac.clip(lower=floor)
    axes.plot(places, heights, color=colour, marker=marker, label=label)
    axes.vlines(
        places,
        whole.test_error_frac_low.clip(lower=floor),
        whole.test_error_frac_high,
        color=colour,
        linewidth=1,
    )
    for batch in own[own.status == "diverged"].global_batch:
        axes.plot([batch], [1.0], marker="x", color=colour, markersize=7, linestyle="none")


def _reference(axes: Axes, base: pd.DataFrame) -> None:
    """The reference's error, and the margin within which another one counts as kept."""
    if base.empty or not style.known(base.test_error_frac.iloc[0]):
        return
    error, margin = float(base.test_error_frac.iloc[0]), float(base.margin_frac.iloc[0])
    axes.axhline(error, color=style.INK, linestyle="--", linewidth=1, label="reference")
    axes.axhspan(
        error, error + margin, color=style.INK, alpha=0.12, linewidth=0, label="its margin"
    )


def _elbow(axes: Axes, drawn: pd.DataFrame, top: float) -> None:
    linear = drawn[(drawn.series == "linear") & drawn.elbow_batch.notna()]
    if linear.empty:
        return
    elbow = int(linear.elbow_batch.iloc[0])
    axes.axvline(elbow, color=style.INK, linestyle=":", linewidth=1)
    axes.annotate(
        "elbow of the\nlinear rule", (elbow, top), xytext=(-4, -2), textcoords="offset points",
        ha="right" if elbow > drawn.global_batch.min() else "left", va="top", fontsize=7.5,
    )  # fmt: skip


def _published(axes: Axes, published: pd.DataFrame) -> None:
    curve = published[published.kind == "curve"].sort_values("published_batch")
    axes.plot(curve.published_batch, 100 * curve.published_frac, color=style.INK, marker="o")
    reference = curve[curve.batch_ratio == 1]
    for row in reference.itertuples():
        axes.axhline(100 * row.published_frac, color=style.INK, linestyle="--", linewidth=1)
    batches = [int(batch) for batch in curve.published_batch]
    axes.set_xscale("log", base=2)
    axes.set_xticks(batches[1::3], [group_digits(batch) for batch in batches[1::3]])
    axes.minorticks_off()
    axes.set(xlabel="minibatch kn (log scale)", ylabel="validation error (%)")


def _batches(axes: Axes, batches: list[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(batches, [group_digits(batch) for batch in batches])
    axes.minorticks_off()
    axes.set_xlabel("global batch kn (log scale)")
    axes.set_xlim(batches[0] / 1.3, batches[-1] * 1.3)
