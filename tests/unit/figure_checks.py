"""What a figure shows, and faults of its labels that people would see: cut off, or overlapping."""

from collections.abc import Iterator, Mapping
from itertools import combinations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from dpscale.figures import draw_figure, style
from dpscale.studies import figures

Tables = Mapping[str, pd.DataFrame]
OVERLAP_PX = 1.0


def draw(name: str, tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """Return a figure of these derived tables, and its frame."""
    entry = figures()[name]
    with style.house_style():
        return entry.of(tables)


def svg_of(name: str, tables: Tables) -> tuple[str, pd.DataFrame]:
    """Return the SVG text of a figure, and its frame."""
    drawings, drawn = draw_figure(name, figures()[name], tables)
    return drawings["svg"], drawn


def bars(axes: Axes) -> list[tuple[float, float]]:
    """Return where each bar of a horizontal chart that has a width begins, and its width."""
    return [(bar.get_x(), bar.get_width()) for bar in axes.patches if hasattr(bar, "get_width")]


def points(axes: Axes) -> Iterator[tuple[float, float]]:
    """Yield the points of the lines that have a marker."""
    for line in axes.lines:
        if line.get_marker() not in (None, "None"):
            yield from zip(line.get_xdata(), line.get_ydata(), strict=True)


def axes_texts(figure: Figure) -> list[str]:
    """Return the texts that stand in the panels of a figure."""
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def label_faults(figure: Figure) -> list[str]:
    """Return a line for each label that leaves the figure, and for each two that overlap."""
    figure.draw_without_rendering()
    texts = dict.fromkeys(
        text for text in _labels(figure) if text.get_visible() and text.get_text().strip()
    )
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    ground = figure.bbox.padded(OVERLAP_PX)
    cut = [
        f"{words!r} is cut off"
        for words, box in boxes
        if not (ground.contains(*box.min) and ground.contains(*box.max))
    ]
    clashes = [
        f"{one!r} overlaps {other!r}"
        for (one, box), (other, second) in combinations(boxes, 2)
        if _overlap(box, second)
    ]
    return cut + clashes


def _labels(figure: Figure) -> Iterator[Text]:
    """All texts of a figure that are drawn: of ticks only those inside their axis."""
    yield from figure.texts
    for legend in figure.legends:
        yield from legend.get_texts()
    for axes in figure.axes:
        yield from axes.texts
        yield from (axes.title, axes.xaxis.label, axes.yaxis.label)
        yield from (
            child
            for child in axes.get_children()
            if isinstance(child, Text) and child not in axes.texts
        )
        if axes.get_legend() is not None:
            yield from (axes.get_legend().get_title(), *axes.get_legend().get_texts())
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            yield from (
                tick.label1
                for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
                if low <= tick.get_loc() <= high
            )
            yield axis.get_offset_text()


def _overlap(one: Bbox, other: Bbox) -> bool:
    shared = Bbox.intersection(one, other)
    return shared is not None and min(shared.width, shared.height) > OVERLAP_PX
