"""Faults of a figure's labels that people would see: cut off, or on top of each other."""

from collections.abc import Iterator
from itertools import combinations

from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

OVERLAP_PX = 1.0


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
            yield from axes.get_legend().get_texts()
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            yield from (
                tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high
            )


def _overlap(one: Bbox, other: Bbox) -> bool:
    shared = Bbox.intersection(one, other)
    return shared is not None and min(shared.width, shared.height) > OVERLAP_PX
