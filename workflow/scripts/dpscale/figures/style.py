"""What all figures share: colours, sizes, labels, legends and axes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from textwrap import fill
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dpscale.units import column_format, group_digits

# Distinct on white and on dark ground and for colour-blind eyes; text is always in ink.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#C0669A")
MARKERS = ("o", "s", "^", "D")
DASHES = ("-", "--", ":")
UNMEASURED = "not measured yet"
INK = "#0a0b0c"  # stands for the page's text colour: written to the SVG as currentColor
WIDTH_IN = 6.6
NARROW_IN = 3.85  # on a telephone of 360 px the smallest type, of 7 pt, is then 9 px
Look = tuple[str, str, str]  # of a part of a bar: label, colour, hatch ("": filled)

_RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 8.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.labelsize": 8.5,
    "legend.fontsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "grid.color": INK,
    "grid.alpha": 0.14,
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "hatch.linewidth": 0.8,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "svg.fonttype": "path",
    "svg.hashsalt": "dpscale",
    "figure.constrained_layout.use": True,
}


@contextmanager
def house_style(*, narrow: bool = False) -> Iterator[None]:
    """Set the house style for figures made, and saved, inside the block.

    narrow: as wide as a telephone, panels below each other.
    """
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_RC)
        mpl.rcParams["figure.figsize"] = (NARROW_IN if narrow else WIDTH_IN, 1.0)
        yield


def is_narrow() -> bool:
    """Return whether a figure is drawn as wide as a telephone."""
    return float(mpl.rcParams["figure.figsize"][0]) == NARROW_IN


def panels(
    rows: int,
    columns: int,
    *,
    height_in: float,
    sharey: bool = False,
    widths: Sequence[float] | None = None,
) -> tuple[Figure, list[Axes]]:
    """Return a figure of the page's width and its panels, row by row.

    Where it is narrow they stand below each other.
    """
    if is_narrow():
        rows, columns, height_in, widths = rows * columns, 1, 1.2 * height_in * columns + 0.4, None
    figure = Figure(figsize=(mpl.rcParams["figure.figsize"][0], height_in))
    grid = figure.subplots(
        rows,
        columns,
        sharey=sharey,
        squeeze=False,
        gridspec_kw={"width_ratios": widths} if widths else None,
    )
    return figure, list(grid.flat)


def label_each(figure: Figure, beside: Figure) -> None:
    """Give each panel below another the labels that it had from its row and its column.

    beside: the same figure with panels side by side. Long lines are folded.
    """
    specs = [axes.get_subplotspec() for axes in beside.axes]
    columns = max(one.get_gridspec().ncols for one in specs if one)
    shown = [(index, axes) for index, axes in enumerate(figure.axes) if axes.get_visible()]
    for index, axes in shown:
        row, column = index - index % columns, index % columns
        above, last = figure.axes[column], figure.axes[column - columns]
        title, along = (one.get_title(loc="left") for one in (axes, above))
        axes.set_title(fill(title or along, 44))
        axes.set_xlabel(fill(axes.get_xlabel() or last.get_xlabel(), 24))
        axes.set_ylabel(axes.get_ylabel() or figure.axes[row].get_ylabel())


def colour_of(index: int) -> str:
    """Colour of the series number `index`; after the last one they begin again."""
    return COLOURS[index % len(COLOURS)]


def marker_of(index: int) -> str:
    """Marker of the series number `index`."""
    return MARKERS[index % len(MARKERS)]


def dash_of(index: int) -> str:
    """Line style of the series number `index`: it changes where the colours begin again."""
    return DASHES[(index // len(COLOURS)) % len(DASHES)]


def spread(positions: Sequence[float], gap: float) -> list[float]:
    """Return the positions moved apart just enough that neighbours differ by `gap`, in order."""
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    groups: list[list[int]] = []
    centre: list[float] = []
    for index in order:
        groups.append([index])
        centre.append(positions[index])
        while (
            len(groups) > 1
            and centre[-1] - centre[-2] < gap * (len(groups[-1]) + len(groups[-2])) / 2
        ):
            tail = groups.pop()
            centre.pop()
            groups[-1] += tail
            centre[-1] = sum(positions[member] for member in groups[-1]) / len(groups[-1])
    moved = list(positions)
    for group, middle in zip(groups, centre, strict=True):
        for place, member in enumerate(group):
            moved[member] = middle + gap * (place - (len(group) - 1) / 2)
    return moved


def place_labels(rows: pd.DataFrame) -> list[str]:
    """Labels of rows by workers, and by nodes where their number differs."""
    several = rows.nodes.nunique() > 1
    return [
        f"N = {row.workers}" + (f" on {row.nodes} nodes" if several and row.nodes > 1 else "")
        for row in rows.itertuples()
    ]


def cell_labels(rows: pd.DataFrame) -> list[str]:
    """Labels of cells by place and batch."""
    cells = zip(place_labels(rows), rows.per_worker_batch, strict=True)
    return [f"{place}, b = {group_digits(batch)}" for place, batch in cells]


def legend_above(figure: Figure, *panels: Axes, columns: int = 3) -> None:
    """Write the legend of these panels above them, each label once."""
    entries = {
        label: handle
        for axes in panels
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if entries:
        columns = 1 if is_narrow() else columns
        figure.legend(entries.values(), entries.keys(), loc="outside upper left", ncols=columns)


def categories(
    axes: Axes, labels: Sequence[str], *, above: float = 0.6, below: float = 0.6, grid: bool = False
) -> None:
    """Name the rows of a horizontal chart, the first one on top.

    above, below: what is free beyond the middle of the first and of the last row, in rows.
    """
    axes.set_yticks(range(len(labels)), list(labels))
    axes.set_ylim(len(labels) - 1 + below, -above)
    axes.grid(axis="y", visible=grid)


def right_of(axes: Axes, text: str, end: float, place: float) -> None:
    """Write a text to the right of the end of a bar."""
    axes.annotate(
        text, (end, place), xytext=(6, 0), textcoords="offset points", va="center", fontsize=8
    )


def margin_column(axes: Axes, texts: Sequence[str], *, head: str = "") -> None:
    """Write a text for each row in the margin to the right of a chart, where no mark can be."""
    cells = [(head, 1.0, axes.transAxes)] if head else []
    cells += [(text, place, axes.get_yaxis_transform()) for place, text in enumerate(texts)]
    for text, place, transform in cells:
        axes.annotate(
            text,
            (1.0, place),
            xycoords=transform,
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )


def interval(axes: Axes, place: float, low: object, high: object, colour: str = INK) -> None:
    """Draw an interval as a horizontal line; none where an end of it is unknown."""
    if pd.notna(low) and pd.notna(high):
        axes.hlines(place, low, high, color=colour, linewidth=1.2)  # type: ignore[arg-type]


def whole_numbers(axes: Axes) -> None:
    """Put ticks of the horizontal axis at whole numbers only: it counts epochs."""
    axes.xaxis.set_major_locator(MaxNLocator(nbins="auto", integer=True, steps=[1, 2, 5, 10]))


def nothing(rows: pd.DataFrame, *panels: Axes, text: str = UNMEASURED) -> bool:
    """Return whether there is nothing to show, and then say so in each panel."""
    for axes in panels if rows.empty else ():
        note(axes, text)
    return rows.empty


def note(axes: Axes, text: str = UNMEASURED, *, shared_y: bool = False) -> None:
    """Write a remark in the middle of a panel that has nothing else to show.

    shared_y: another panel, that shows something, has the same vertical axis.
    """
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", style="italic")
    axes.set_xticks([])
    if not shared_y:
        axes.set_yticks([])


def curve(
    axes: Axes,
    x: pd.Series,
    values: pd.DataFrame,
    colour: str,
    *,
    opacity: float = 0.2,
    **line: Any,
) -> None:
    """Draw a curve with its interval as a band: the first column, between the other two."""
    value, low, high = (values[name].astype(float) for name in values)
    axes.plot(x, value, color=colour, **line)
    axes.fill_between(x.astype(float), low, high, color=colour, alpha=opacity, linewidth=0)


def stacked_shares(axes: Axes, rows: pd.DataFrame, parts: Mapping[str, Look], whole: str) -> None:
    """Draw a bar of shares, in percent of the whole, for each row, which is named by its label.

    parts: looks by column (`<part>_frac`). A part below zero goes to the left of zero; one that is
    not told from zero (`<part>_below_noise`) is dotted.
    """
    for place, (_, row) in enumerate(rows.iterrows()):
        right = left = 0.0
        for name, (_, colour, hatch) in parts.items():
            width = 100 * row[name]
            dotted = bool(row.get(name.replace("_frac", "_below_noise"), False))
            if width:
                axes.barh(
                    place,
                    width,
                    left=right if width >= 0 else left,
                    height=0.56,
                    color="none" if hatch else colour,
                    edgecolor=colour,
                    hatch=None if dotted else hatch or None,
                    linestyle=":" if dotted else "-",
                )
            right, left = right + max(width, 0.0), left + min(width, 0.0)
    categories(axes, rows.label.tolist())
    low, high = axes.get_xlim()
    axes.set(xlabel=f"% of {whole}", xlim=(min(low, 0.0), high if high > 105 else 100.0))


def keys(axes: Axes, parts: Iterable[Look]) -> None:
    """Enter parts of bars into the legend, whatever each bar of them looks like."""
    for label, colour, hatch in parts:
        axes.fill(
            [],
            [],
            facecolor="none" if hatch else colour,
            edgecolor=colour,
            hatch=hatch,
            label=label,
        )


def seconds(column: pd.Series) -> list[str]:
    """Return times as texts in one unit."""
    form = column_format(column.tolist(), "s")
    return [f"{form.text(value)} {form.symbol}" for value in column]
