"""Bytes that each kind of iteration communicates, by purpose."""

import pandas as pd
from matplotlib.figure import Figure

from dpscale.figures import style
from dpscale.figures.registry import FigureEntry
from dpscale.units import column_format, format_value

PHASES = {
    "construction": "construction",
    "first": "first iteration",
    "rebuild": "bucket rebuild",
    "steady": "steady iteration",
}
HATCHES = ("", "////", "\\\\\\\\", "xxxx", "----", "||||")


def draw(ledger: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of stacked bars and a frame of what it shows, a row per segment."""
    drawn = _drawn(ledger)
    phases = [phase for phase in PHASES if (drawn.phase == phase).any()]
    figure, (axes,) = style.panels(1, 1, height_in=max(1.5, 0.85 + 0.36 * len(phases)))
    if style.nothing(drawn, axes):
        return figure, drawn
    scale = column_format(drawn.groupby("phase").bytes.sum().tolist(), "bytes").scale
    purposes = sorted(set(drawn.purpose), key=lambda name: (not name.startswith("gradient"), name))
    for place, phase in enumerate(phases):
        segments = drawn[drawn.phase == phase]
        start = 0.0
        for row in segments.itertuples():
            index = purposes.index(row.purpose)
            axes.barh(
                place,
                row.bytes / scale.factor,
                left=start / scale.factor,
                height=0.42,
                facecolor=style.colour_of(index) if index == 0 else "none",
                edgecolor=style.colour_of(index),
                linewidth=1.2,
                hatch=HATCHES[index % len(HATCHES)],
                label=row.purpose.removesuffix(" at construction"),
            )
            start += row.bytes
        # A telephone has no room for the names, which stand above.
        words = " + ".join(
            format_value(row.bytes, "bytes")
            + ("" if style.is_narrow() else f" {row.purpose.removesuffix(' at construction')}")
            for row in segments.itertuples()
        )
        axes.annotate(
            words,
            (0, place - 0.24),
            xytext=(2, 1.5),
            textcoords="offset points",
            va="bottom",
            fontsize=7.5,
        )
    style.categories(axes, [PHASES[phase] for phase in phases], above=0.75, below=0.4)
    axes.set_xlabel(f"{scale.symbol} handed to collectives")
    style.legend_above(figure, axes)
    return figure, drawn


def _drawn(ledger: pd.DataFrame) -> pd.DataFrame:
    """The largest number of workers: the payload of a collective does not depend on it."""
    rows = ledger[ledger.phase.isin(list(PHASES)) & ledger.bytes.notna()]
    rows = rows.astype({"purpose": str})
    rows = rows[rows.workers == rows.workers.max()]
    sums = rows.groupby(["workers", "phase", "purpose"], as_index=False, sort=False)[
        ["calls", "bytes"]
    ].sum()
    sums["place"] = sums.phase.map({phase: place for place, phase in enumerate(PHASES)})
    gradients_first = ~sums.purpose.str.startswith("gradient")
    sums = sums.assign(rest=gradients_first).sort_values(
        ["place", "rest", "bytes"], ascending=[True, True, False], ignore_index=True
    )
    return sums.drop(columns=["place", "rest"])


FIGURES = {"ledger": FigureEntry(draw, ("ledger",))}
