"""Predicted speed-up of many workers on named links, and what compression and local steps do."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import log_axes, style
from dpscale.units import format_value, group_digits

NAMES = {
    "none": "gradients as they are",
    "fp16": "fp16 gradients",
    "bf16": "bf16 gradients",
    "powersgd": "PowerSGD",
    "local_4": "averaged every 4 steps",
    "local_16": "averaged every 16 steps",
}
VARIANT_DASHES = ("--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
LABEL_GAP = 0.062  # height of a label as a share of its panel
COLUMNS = [
    "link",
    "per_worker_batch",
    "variant",
    "workers",
    "speedup_ratio",
    "efficiency_frac",
    "exceeds_dataset",
    "status",
    "note",
]


def draw(what_if: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure and a frame of what it shows: a row per point, or per refused point."""
    drawn = _drawn(what_if)
    batches = sorted(drawn.per_worker_batch.unique())
    shown = [batch for batch in batches if _points(drawn, batch).size]
    figure, panels = style.panels(
        max(len(shown), 1), 1, height_in=0.4 + 2.9 * len(shown) if shown else 1.8
    )
    if not shown:
        reasons = drawn.note.dropna().unique()
        panels[0].set_title("Predicted speed-up")
        style.note(panels[0], f"refused: {reasons[0]}" if len(reasons) else "not measured yet")
        return figure, drawn
    points = drawn[drawn.speedup_ratio.notna()]
    low, top = min(0.8, 0.85 * points.speedup_ratio.min()), 1.3 * points.workers.max()
    for axes, batch in zip(panels, shown, strict=True):
        axes.set_title(f"Predicted, b = {group_digits(int(batch))}")
        workers = sorted(int(count) for count in points.workers.unique())
        _panel(axes, _points(drawn, batch), workers, low=low, top=top)
    style.footnote(figure, _remarks(drawn))
    return figure, drawn


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    points = drawn[drawn.speedup_ratio.notna()]
    if points.empty:
        reasons = drawn.note.dropna().unique()
        why = f"refused, {reasons[0]}" if len(reasons) else "nothing measured yet"
        return f"Predicted speed-up: {why}."
    parts = [
        f"{row.link}, {NAMES.get(row.variant, row.variant)}, b = {row.per_worker_batch}, "
        f"{row.workers} workers: {format_value(row.speedup_ratio, 'ratio')}, efficiency "
        f"{format_value(row.efficiency_frac, 'fraction')}"
        for row in _last(points).itertuples()
    ]
    return "Predicted speed-up. " + "; ".join(parts) + "."


def _last(points: pd.DataFrame) -> pd.DataFrame:
    """The point of most workers of each line."""
    return points.groupby(["per_worker_batch", "link", "variant"], sort=False).tail(1)


def _points(drawn: pd.DataFrame, batch: int) -> pd.DataFrame:
    return drawn[(drawn.per_worker_batch == batch) & drawn.speedup_ratio.notna()]


def _panel(axes: Axes, points: pd.DataFrame, workers: list[int], *, low: float, top: float) -> None:
    """A line for each link, and thin ones for the variants on the slowest link."""
    axes.plot(workers, workers, color=style.INK, linestyle="--", linewidth=1)
    ends: list[tuple[float, float, str]] = [(workers[-1], float(workers[-1]), "ideal")]
    links = list(dict.fromkeys(points.link))
    for index, link in enumerate(links):
        of_link = points[points.link == link]
        variants = sorted(set(of_link.variant), key=lambda name: [*NAMES, name].index(name))
        for place, variant in enumerate(variants):
            line = of_link[of_link.variant == variant]
            _line(axes, line, index, place)
            last = line.iloc[-1]
            name = link if variant == "none" else f"  … {NAMES.get(variant, variant)}"
            share = format_value(last.efficiency_frac, "fraction")
            where = "" if last.workers == workers[-1] else f" at {last.workers}"
            ends.append((last.workers, last.speedup_ratio, f"{name}, {share}{where}"))
    log_axes.log2_axes(axes, workers, low, top, room=0.75)
    axes.set_ylabel("speed-up (log scale)")
    log_axes.end_labels(axes, ends, gap=LABEL_GAP, leaders=True)


def _line(axes: Axes, line: pd.DataFrame, index: int, place: int) -> None:
    """The link itself as a solid line with marks, a variant on it as a thin dashed one."""
    colour = style.colour_of(index)
    if place:
        dash = VARIANT_DASHES[(place - 1) % len(VARIANT_DASHES)]
        axes.plot(line.workers, line.speedup_ratio, color=colour, linewidth=1, linestyle=dash)
        return
    axes.plot(line.workers, line.speedup_ratio, color=colour, linestyle=style.dash_of(index))
    for beyond, rows in line.groupby("exceeds_dataset"):
        axes.plot(
            rows.workers,
            rows.speedup_ratio,
            color=colour,
            marker=style.marker_of(index),
            linestyle="none",
            fillstyle="none" if beyond else "full",
        )


def _remarks(drawn: pd.DataFrame) -> list[str]:
    """What is not drawn and why, and what hollow marks mean."""
    remarks = []
    if drawn[drawn.speedup_ratio.notna()].exceeds_dataset.any():
        remarks.append("Hollow: the global batch would exceed the data set.")
    refused = drawn[(drawn.status == "refused") & (drawn.variant == "none")]
    for (batch, link), rows in refused.groupby(["per_worker_batch", "link"], sort=False):
        first = rows.loc[rows.workers.idxmin()]
        remarks.append(
            f"Not drawn: {link}, b = {batch}, from {first.workers} workers on; {first.note}."
        )
    return remarks


def _drawn(what_if: pd.DataFrame) -> pd.DataFrame:
    """The points of every link with plain gradients, and of the slowest with every variant."""
    rows = what_if[COLUMNS].copy()
    rates = what_if[what_if.step_s.notna()].set_index("link").bytes_per_s
    slowest = rates.astype(float).idxmin() if len(rates) else None
    rows = rows[(rows.variant == "none") | (rows.link == slowest)]
    rows["exceeds_dataset"] = [style.known(one) and bool(one) for one in rows.exceeds_dataset]
    numeric = ["speedup_ratio", "efficiency_frac"]
    rows[numeric] = rows[numeric].apply(pd.to_numeric).astype(float)
    return rows.reset_index(drop=True)
