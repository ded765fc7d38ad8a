"""What a user waits for with N workers, and the scaling efficiency T_1/(N T_N)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import assignment_marks, style
from dpscale.units import column_format, format_value

PARTS = {
    "epochs_s": ("epochs", style.COLOURS[0], ""),
    "evaluation_s": ("evaluation after each", style.COLOURS[2], "////"),
    "startup_s": ("start-up, apart", style.INK, "||||"),
}
EFFICIENCY = ["efficiency_frac", "efficiency_frac_low", "efficiency_frac_high"]


def draw(assignment: pd.DataFrame, published: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of times and efficiencies and a frame of what it shows."""
    drawn = _drawn(assignment, published)
    figure, (times, shares) = style.panels(
        1, 2, height_in=max(2.2, 1.3 + 0.34 * len(drawn)), sharey=True, widths=[1.6, 1]
    )
    times.set_title("One training, as a user waits for it")
    shares.set_title("Scaling efficiency")
    if drawn.empty:
        style.note(times, "not measured yet", shared_y=True)
        style.note(shares, "not measured yet")
        return figure, drawn
    _bars(times, drawn)
    _marks(shares, drawn)
    style.categories(times, drawn.label.tolist())
    style.legend_above(figure, times, shares)
    return figure, drawn


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Training time and scaling efficiency: nothing measured yet."
    parts = [
        f"{row.label}: {format_value(row.train_s, 's')}, efficiency "
        f"{format_value(row.efficiency_frac, 'fraction')}"
        + (" (oversubscribed)" if row.oversubscribed else "")
        for row in drawn.itertuples()
    ]
    return "Training time by workers. " + "; ".join(parts) + "."


def _drawn(assignment: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    rows = assignment[
        (assignment.rule == "linear")
        & (assignment.status == "complete")
        & assignment.train_s.notna()
    ].sort_values(["nodes", "workers"], ignore_index=True)
    quoted = assignment_marks.comparable(published, "efficiency_frac")
    known = {(row.workers, row.nodes): row.published for row in quoted.itertuples()}
    return pd.DataFrame(
        {
            "label": assignment_marks.place_labels(rows),
            "workers": rows.workers,
            "nodes": rows.nodes,
            "train_s": rows.train_s,
            "epochs_s": rows.train_s - rows.evaluation_s,
            "evaluation_s": rows.evaluation_s,
            "startup_s": rows.startup_s,
            **{name: rows[name] for name in EFFICIENCY},
            "oversubscribed": [style.known(flag) and bool(flag) for flag in rows.oversubscribed],
            "published_efficiency_frac": [
                known.get((row.workers, row.nodes)) for row in rows.itertuples()
            ],
        }
    )


def _bars(axes: Axes, drawn: pd.DataFrame) -> None:
    left = pd.Series(0.0, index=drawn.index)
    for name, (label, colour, hatch) in PARTS.items():
        widths = drawn[name].astype(float).fillna(0.0)
        axes.barh(
            range(len(drawn)),
            widths,
            left=left,
            height=0.56,
            color="none" if hatch else colour,
            edgecolor=colour,
            hatch=hatch or None,
            label=label,
        )
        left += widths
    form = column_format(drawn.train_s.tolist(), "s")
    texts = [f"{form.text(value)} {form.symbol}" for value in drawn.train_s]
    style.margin_column(axes, texts)
    axes.set_xlabel("seconds; beside the bar: without the start-up")


def _marks(axes: Axes, drawn: pd.DataFrame) -> None:
    axes.axvline(100, color=style.INK, linestyle="--", linewidth=1)
    for place, row in enumerate(drawn.itertuples()):
        if style.known(row.efficiency_frac):
            axes.plot(
                [100 * row.efficiency_frac],
                [place],
                marker="o",
                markersize=6,
                color=style.COLOURS[0],
                fillstyle="none" if row.oversubscribed else "full",
                linestyle="none",
            )
            low, high = (100 * getattr(row, f"efficiency_frac_{end}") for end in ("low", "high"))
            style.interval(axes, place, low, high, style.COLOURS[0])
    quoted = drawn[drawn.published_efficiency_frac.notna()]
    assignment_marks.published_marks(
        axes,
        (100 * quoted.published_efficiency_frac.astype(float)).tolist(),
        [float(place) for place in quoted.index],
    )
    axes.set_xlim(0, max(110.0, axes.get_xlim()[1]))
    axes.set_xlabel("$T_1 / (N T_N)$ (%)")
    axes.tick_params(axis="y", left=False)
