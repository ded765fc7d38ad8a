"""How busy one worker's device is, and how fast it trains, against the batch size."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import assignment_marks, style
from dpscale.units import format_value, group_digits

SERIES = {
    "utilisation_frac": ("utilisation", "o", style.COLOURS[0]),
    "load_frac": ("waiting for the loader", "s", style.COLOURS[1]),
}


def draw(utilisation: pd.DataFrame, published: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure and a frame of what it shows: a row per batch and source."""
    drawn = _drawn(utilisation, published)
    own = drawn[drawn.source == assignment_marks.MEASURED]
    figure, (shares, rates) = style.panels(1, 2, height_in=2.7)
    shares.set_title("Share of the time")
    rates.set_title("Samples a second")
    if own.empty:
        for axes in (shares, rates):
            style.note(axes, "not measured yet")
        return figure, drawn
    batches = sorted(own.per_worker_batch.tolist())
    places = [batches.index(batch) for batch in own.per_worker_batch]
    for name, (label, marker, colour) in SERIES.items():
        _line(shares, own, places, name, label, marker, colour, 100.0)
    _line(rates, own, places, "samples_per_s", "", "o", style.COLOURS[0], 1.0)
    quoted = drawn[drawn.source == assignment_marks.PUBLISHED]
    assignment_marks.published_marks(
        shares,
        [batches.index(batch) for batch in quoted.per_worker_batch],
        [100 * value for value in quoted.utilisation_frac],
    )
    for axes in (shares, rates):
        axes.set_xticks(range(len(batches)), [group_digits(batch) for batch in batches])
        axes.set(xlabel="batch b of one worker", xlim=(-0.4, len(batches) - 0.6))
        axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
    shares.set(ylim=(0, 105), ylabel="% of the time")
    style.legend_above(figure, shares)
    return figure, drawn


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Utilisation against the batch size: nothing measured yet."
    parts = [
        f"b = {row.per_worker_batch}, {row.source}: "
        f"{format_value(row.utilisation_frac, 'fraction')}"
        for row in drawn.itertuples()
    ]
    return "Utilisation of one worker's device. " + "; ".join(parts) + "."


def _drawn(utilisation: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    values = [
        f"{name}{end}" for name in (*SERIES, "samples_per_s") for end in ("", "_low", "_high")
    ]
    own = utilisation[(utilisation.status == "complete") & utilisation.samples_per_s.notna()]
    own = own[["per_worker_batch", *values]].assign(source=assignment_marks.MEASURED)
    quoted = assignment_marks.comparable(published, "utilisation_frac")
    other = pd.DataFrame(
        {
            "per_worker_batch": quoted.per_worker_batch,
            "utilisation_frac": quoted.published,
            "source": assignment_marks.PUBLISHED,
        }
    )
    joined = pd.concat([own, other], ignore_index=True) if len(other) else own
    return joined[["source", "per_worker_batch", *values]].sort_values(
        ["source", "per_worker_batch"], ignore_index=True
    )


def _line(
    axes: Axes,
    own: pd.DataFrame,
    places: list[int],
    name: str,
    label: str,
    marker: str,
    colour: str,
    factor: float,
) -> None:
    if own[name].isna().all():
        return
    axes.plot(places, factor * own[name], marker=marker, color=colour, label=label)
    low, high = ((factor * own[f"{name}_{end}"]).tolist() for end in ("low", "high"))
    assignment_marks.vertical_intervals(axes, places, low, high, colour)
