"""Test accuracy of every training of the assignment: by workers, and by rule for the rate."""

import pandas as pd
from matplotlib.figure import Figure

from dpscale.figures import assignment_marks, style
from dpscale.units import format_value

ENDS = ["test_accuracy_frac", "test_accuracy_frac_low", "test_accuracy_frac_high"]
COLUMNS = ["source", "rule", "workers", "nodes", "epochs", "label", *ENDS]
ROW_IN = 0.27


def draw(assignment: pd.DataFrame, published: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure, a row per training, and a frame of what it shows."""
    drawn = _drawn(assignment, published)
    labels = list(dict.fromkeys(drawn.label))
    figure, (axes,) = style.panels(1, 1, height_in=max(1.9, 1.1 + ROW_IN * len(labels)))
    if drawn.empty:
        style.note(axes, "not measured yet")
        return figure, drawn
    for rule, words in assignment_marks.RULES.items():
        own = drawn[(drawn.source == assignment_marks.MEASURED) & (drawn.rule == rule)]
        index = list(assignment_marks.RULES).index(rule)
        for place, row in ((labels.index(row.label), row) for row in own.itertuples()):
            low, high = (100 * getattr(row, name) for name in ENDS[1:])
            style.interval(axes, place, low, high, style.colour_of(index))
            axes.plot(
                [100 * row.test_accuracy_frac],
                [place],
                marker=style.marker_of(index),
                color=style.colour_of(index),
                linestyle="none",
                markersize=5.5,
                label=words,
            )
    quoted = drawn[drawn.source == assignment_marks.PUBLISHED]
    assignment_marks.published_marks(
        axes,
        (100 * quoted.test_accuracy_frac.astype(float)).tolist(),
        [float(labels.index(label)) for label in quoted.label],
    )
    axes.set_xlabel("test accuracy (%)")
    style.categories(axes, labels, grid=True)
    style.legend_above(figure, axes, columns=5)
    return figure, drawn


def alt(drawn: pd.DataFrame) -> str:
    """Return the figure in words."""
    if drawn.empty:
        return "Test accuracy by workers and rule: nothing measured yet."
    parts = [
        f"{row.label}, {row.source}: {format_value(row.test_accuracy_frac, 'fraction')}"
        for row in drawn.itertuples()
    ]
    return "Test accuracy after the last epoch. " + "; ".join(parts) + "."


def _drawn(assignment: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    rows = assignment[assignment.status == "complete"]
    rows = rows[rows.test_accuracy_frac.notna()]
    order = {rule: place for place, rule in enumerate(assignment_marks.RULES)}
    rows = rows.assign(place=rows.rule.map(order)).sort_values(
        ["nodes", "workers", "place"], ignore_index=True
    )
    labels = [
        f"{place}, {assignment_marks.RULES[rule]}"
        for place, rule in zip(assignment_marks.place_labels(rows), rows.rule, strict=True)
    ]
    own = rows.assign(label=labels, source=assignment_marks.MEASURED)[COLUMNS]
    quoted = assignment_marks.comparable(published, "test_accuracy_frac")
    beside = quoted.merge(
        own.loc[own.rule == "linear", ["workers", "nodes", "epochs", "rule", "label"]],
        on=["workers", "nodes", "epochs"],
    )
    other = beside.assign(source=assignment_marks.PUBLISHED).rename(
        columns=dict(zip(["published", "published_low", "published_high"], ENDS, strict=True))
    )[COLUMNS]
    return pd.concat([own, other], ignore_index=True) if len(other) else own
