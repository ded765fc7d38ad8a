"""The figures of the cluster-training assignment."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpscale.figures import style
from dpscale.figures.registry import FigureEntry
from dpscale.units import group_digits

MEASURED = "measured"
PUBLISHED = "published, other devices"


def _comparable(published: pd.DataFrame, claim: str) -> pd.DataFrame:
    """Return the claims of a column that this machine's values can be set beside."""
    judged = published.verdict.isin(["agrees", "disagrees"])
    return published[(published.claim == claim) & judged]


def _published_marks(axes: Axes, xs: Sequence[float], ys: Sequence[float]) -> None:
    """Draw published figures as hollow diamonds, never as points of this machine."""
    if len(xs):
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


BUSY = {  # column: label, marker, colour
    "utilisation_frac": ("utilisation", "o", style.COLOURS[0]),
    "load_frac": ("waiting for the loader", "s", style.COLOURS[1]),
}


def draw_utilisation(
    utilisation: pd.DataFrame, published: pd.DataFrame
) -> tuple[Figure, pd.DataFrame]:
    """Return the figure and a frame of what it shows: a row per batch and source."""
    drawn = _drawn_utilisation(utilisation, published)
    own = drawn[drawn.source == MEASURED]
    figure, (shares, rates) = style.panels(1, 2, height_in=1.9)
    shares.set_title("Share of the time")
    rates.set_title("Samples a second")
    if style.nothing(own, shares, rates):
        return figure, drawn
    batches = own.per_worker_batch.tolist()
    for name, (label, marker, colour) in BUSY.items():
        _line(shares, own, name, label=label, marker=marker, colour=colour, factor=100.0)
    _line(rates, own, "samples_per_s")
    quoted = drawn[drawn.source == PUBLISHED]
    places = [batches.index(batch) for batch in quoted.per_worker_batch]
    _published_marks(shares, places, 100 * quoted.utilisation_frac)
    for axes in (shares, rates):
        axes.set_xticks(range(len(batches)), [group_digits(batch) for batch in batches])
        axes.set(xlabel="batch b of one worker", xlim=(-0.4, len(batches) - 0.6))
        axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
    shares.set(ylim=(0, 105), ylabel="% of the time")
    style.legend_above(figure, shares)
    return figure, drawn


def _drawn_utilisation(utilisation: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    values = [f"{name}{end}" for name in (*BUSY, "samples_per_s") for end in ("", "_low", "_high")]
    own = utilisation[(utilisation.status == "complete") & utilisation.samples_per_s.notna()]
    own = own[["per_worker_batch", *values]].assign(source=MEASURED)
    quoted = _comparable(published, "utilisation_frac").assign(source=PUBLISHED)
    quoted = quoted.rename(columns={"published": "utilisation_frac"})
    quoted = quoted[["source", "per_worker_batch", "utilisation_frac"]]
    joined = pd.concat([own, quoted], ignore_index=True) if len(quoted) else own
    return joined[["source", "per_worker_batch", *values]].sort_values(
        ["source", "per_worker_batch"], ignore_index=True
    )


def _line(
    axes: Axes,
    own: pd.DataFrame,
    name: str,
    *,
    label: str = "",
    marker: str = "o",
    colour: str = style.COLOURS[0],
    factor: float = 1.0,
) -> None:
    if own[name].isna().all():
        return
    axes.plot(range(len(own)), factor * own[name], marker=marker, color=colour, label=label)
    ends = own[[f"{name}_low", f"{name}_high"]]
    for place, (low, high) in enumerate((factor * ends).to_numpy()):
        if pd.notna(low) and pd.notna(high):
            axes.vlines(place, low, high, color=colour, linewidth=1.2)


TIMES = {  # column: label, colour, hatch ("": filled), in the order in which they are stacked
    "epochs_s": ("epochs", style.COLOURS[0], ""),
    "evaluation_s": ("evaluation after each", style.COLOURS[2], "////"),
}
EFFICIENCY = ["efficiency_frac", "efficiency_frac_low", "efficiency_frac_high"]


def draw_time(assignment: pd.DataFrame, published: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of times and efficiencies and a frame of what it shows."""
    drawn = _drawn_time(assignment, published)
    figure, (times, shares) = style.panels(
        1, 2, height_in=max(1.7, 1.0 + 0.23 * len(drawn)), sharey=True, widths=[1.6, 1]
    )
    times.set_title("One training, after its start-up")
    shares.set_title("Scaling efficiency")
    if drawn.empty:
        style.note(times, shared_y=True)
        style.note(shares)
        return figure, drawn
    left = pd.Series(0.0, index=drawn.index)
    for name, (label, colour, hatch) in TIMES.items():
        widths = drawn[name].fillna(0.0)
        times.barh(
            range(len(drawn)),
            widths,
            left=left,
            height=0.56,
            edgecolor=colour,
            color="none" if hatch else colour,
            hatch=hatch or None,
            label=label,
        )
        left += widths
    style.margin_column(times, style.seconds(drawn.train_s))
    times.set_xlabel("seconds, without the start-up")
    _efficiencies(shares, drawn)
    style.categories(times, drawn.label.tolist())
    style.legend_above(figure, times, shares)
    return figure, drawn


def _drawn_time(assignment: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    trained = (assignment.status == "complete") & assignment.train_s.notna()
    rows = assignment[(assignment.rule == "linear") & trained]
    rows = rows.sort_values(["nodes", "workers"], ignore_index=True)
    quoted = _comparable(published, "efficiency_frac")[["workers", "nodes", "published"]]
    rows = rows.assign(
        label=style.place_labels(rows), epochs_s=rows.train_s - rows.evaluation_s
    ).merge(quoted, on=["workers", "nodes"], how="left")
    columns = ["label", "workers", "nodes", "train_s", *TIMES, *EFFICIENCY, "oversubscribed"]
    return rows[columns].assign(published_efficiency_frac=rows.published)


def _efficiencies(axes: Axes, drawn: pd.DataFrame) -> None:
    axes.axvline(100, color=style.INK, linestyle="--", linewidth=1)
    for row in drawn[drawn.efficiency_frac.notna()].itertuples():
        value, low, high = (100 * getattr(row, name) for name in EFFICIENCY)
        axes.plot(
            [value],
            [row.Index],
            marker="o",
            markersize=6,
            color=style.COLOURS[0],
            fillstyle="none" if row.oversubscribed else "full",
            linestyle="none",
        )
        style.interval(axes, row.Index, low, high, style.COLOURS[0])
    quoted = drawn.published_efficiency_frac.dropna()
    _published_marks(axes, 100 * quoted, quoted.index)
    axes.set_xlim(0, max(110.0, axes.get_xlim()[1]))
    axes.set_xlabel("$T_1 / (N T_N)$ (%)")
    axes.tick_params(axis="y", left=False)


PARTS: dict[str, style.Look] = {
    "computation_frac": ("computation", style.COLOURS[0], ""),
    "load_frac": ("loading", style.COLOURS[1], ""),
    "copy_frac": ("copy to the device", style.INK, "||||"),
    "sharing_frac": ("contention", style.COLOURS[2], "----"),
    "stragglers_frac": ("stragglers", style.COLOURS[3], "xxxx"),
    "overhead_frac": ("overhead of DDP", style.INK, "\\\\\\\\"),
    "exposed_frac": ("waiting for communication", style.COLOURS[1], "////"),
    "rest_frac": ("rest", style.INK, "++++"),  # dots would be half a megabyte of circles
}


LEAST_DRAWN_FRAC = 0.005  # of an epoch: less is narrower than a part's outline


def draw_split(split: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure of stacked bars and a frame of what it shows, a row per bar.

    A part that is less than LEAST_DRAWN_FRAC in every bar is left out of the bars and the legend.
    """
    rows = split[(split.status == "complete") & split[list(PARTS)].notna().all(axis=1)]
    rows = rows.sort_values(["nodes", "workers"], ignore_index=True)
    rows = rows.assign(label=style.place_labels(rows))
    drawn = rows[["workers", "nodes", "label", "epoch_s", *PARTS]]
    figure, (axes,) = style.panels(1, 1, height_in=max(1.6, 1.1 + 0.22 * len(drawn)))
    if style.nothing(drawn, axes):
        return figure, drawn
    parts = {part: PARTS[part] for part in PARTS if (drawn[part].abs() >= LEAST_DRAWN_FRAC).any()}
    style.stacked_shares(axes, drawn, parts, "an epoch with loading")
    style.keys(axes, parts.values())
    axes.axvline(0, color=style.INK, linewidth=0.8)
    style.margin_column(axes, style.seconds(drawn.epoch_s))
    style.legend_above(figure, axes, columns=4)
    return figure, drawn


RULES = {"linear": "rate × N", "sqrt": "rate × √N", "fixed": "fixed rate", "fixed_batch": "fixed B"}
ACCURACY = ["test_accuracy_frac", "test_accuracy_frac_low", "test_accuracy_frac_high"]
QUOTED = dict(zip(["published", "published_low", "published_high"], ACCURACY, strict=True))


def draw_accuracy(assignment: pd.DataFrame, published: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the figure, a row per training, and a frame of what it shows."""
    drawn = _drawn_accuracy(assignment, published)
    labels = list(dict.fromkeys(drawn.label))
    figure, (axes,) = style.panels(1, 1, height_in=max(1.5, 0.85 + 0.2 * len(labels)))
    if style.nothing(drawn, axes):
        return figure, drawn
    for index, (rule, words) in enumerate(RULES.items()):
        colour, marker = style.colour_of(index), style.marker_of(index)
        for row in drawn[(drawn.source == MEASURED) & (drawn.rule == rule)].itertuples():
            place = labels.index(row.label)
            value, low, high = (100 * getattr(row, name) for name in ACCURACY)
            style.interval(axes, place, low, high, colour)
            axes.plot(
                [value],
                [place],
                marker=marker,
                color=colour,
                linestyle="none",
                markersize=5.5,
                label=words,
            )
    quoted = drawn[drawn.source == PUBLISHED]
    places = [labels.index(label) for label in quoted.label]
    _published_marks(axes, 100 * quoted.test_accuracy_frac, places)
    axes.set_xlabel("test accuracy (%)")
    style.categories(axes, labels, grid=True)
    style.legend_above(figure, axes, columns=5)
    return figure, drawn


def _drawn_accuracy(assignment: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    rows = assignment[(assignment.status == "complete") & assignment.test_accuracy_frac.notna()]
    rows = rows.assign(place=rows.rule.map(list(RULES).index))
    rows = rows.sort_values(["nodes", "workers", "place"], ignore_index=True)
    places = zip(style.place_labels(rows), rows.rule, strict=True)
    rows = rows.assign(label=[f"{place}, {RULES[rule]}" for place, rule in places], source=MEASURED)
    own = rows[["source", "rule", "workers", "nodes", "epochs", "label", *ACCURACY]]
    cell = ["workers", "nodes", "epochs"]
    linear = own.loc[own.rule == "linear", [*cell, "rule", "label"]]
    quoted = _comparable(published, "test_accuracy_frac").rename(columns=QUOTED)
    quoted = quoted[[*cell, *ACCURACY]].merge(linear, on=cell).assign(source=PUBLISHED)
    return pd.concat([own, quoted[own.columns]], ignore_index=True) if len(quoted) else own


FIGURES = {
    "assignment_utilisation": FigureEntry(
        draw_utilisation, ("assignment_utilisation", "assignment_published")
    ),
    "assignment_time": FigureEntry(draw_time, ("assignment", "assignment_published")),
    "assignment_split": FigureEntry(draw_split, ("assignment_split",)),
    "assignment_accuracy": FigureEntry(draw_accuracy, ("assignment", "assignment_published")),
}
