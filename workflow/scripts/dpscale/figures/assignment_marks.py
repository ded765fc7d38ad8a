"""What the figures of the cluster-training assignment share: labels of trainings, and marks."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from dpscale.figures import style

PUBLISHED = "published, other devices"
MEASURED = "measured"
RULES = {
    "linear": "rate × N",
    "sqrt": "rate × √N",
    "fixed": "fixed rate",
    "fixed_batch": "fixed B",
}


def place_labels(rows: pd.DataFrame) -> list[str]:
    """Return a label of each row by workers, and by nodes where their number differs."""
    several = rows.nodes.nunique() > 1
    return [
        f"N = {row.workers}" + (f" on {row.nodes} nodes" if several and row.nodes > 1 else "")
        for row in rows.itertuples()
    ]


def comparable(published: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """Return the published figures of a quantity that this machine's values can be set beside."""
    return published[
        (published.quantity == quantity) & published.verdict.isin(["agrees", "disagrees"])
    ]


def published_marks(axes: Axes, xs: list[float], ys: list[float]) -> None:
    """Draw published figures as hollow diamonds, never as points of this machine."""
    if xs:
        axes.plot(
            xs,
            ys,
            marker="D",
            markersize=6,
            fillstyle="none",
            color=style.INK,
            linestyle="none",
            label=PUBLISHED,
        )


def vertical_intervals(
    axes: Axes,
    places: Sequence[float],
    lows: Sequence[object],
    highs: Sequence[object],
    colour: str,
) -> None:
    """Draw 95% intervals as vertical lines; none where an end is unknown."""
    for place, low, high in zip(places, lows, highs, strict=True):
        if style.known(low) and style.known(high):
            axes.vlines(place, low, high, color=colour, linewidth=1.2)  # type: ignore[arg-type]
