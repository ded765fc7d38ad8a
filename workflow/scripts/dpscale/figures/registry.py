"""A figure: what draws it, and from which derived tables.

Its title and caption stand in the template of its question."""

import io
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from xml.sax.saxutils import escape

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dpscale.figures.style import INK, house_style, label_each, note, panels
from dpscale.figures.words import described

BATCH = "per_worker_batch"
MOST_BATCHES = 24  # more marks lie on each other, and thousands take a page a minute to show


@dataclass(frozen=True)
class FigureEntry:
    """A figure: `draw` takes the derived tables named in `inputs`, in that order."""

    draw: Callable[..., tuple[Figure, pd.DataFrame]]
    inputs: tuple[str, ...]

    def of(self, tables: Mapping[str, pd.DataFrame]) -> tuple[Figure, pd.DataFrame]:
        """Return the figure of these tables, and the frame of exactly what it shows.

        Of more than MOST_BATCHES batch sizes it shows some, and says so below.
        """
        given = [_plotted(tables[name]) for name in self.inputs]
        of_cells = [one[BATCH].dropna() for one in given if BATCH in one]
        batches = np.unique([*chain.from_iterable(of_cells)])
        if len(batches) <= MOST_BATCHES:
            return self.draw(*given)
        few = _doubling(batches)
        figure, drawn = self.draw(
            *(one[one[BATCH].isin(few)] if BATCH in one else one for one in given)
        )
        text = f"{len(few)} of {len(batches)} batch sizes are drawn; all are in derived/*.csv"
        figure.supxlabel(text, x=0.01, ha="left", fontsize="medium")
        return figure, drawn


def _doubling(values: np.ndarray) -> np.ndarray:
    """Of ascending values the first, from there on those about twice the one before, and the last.

    So a curve of one global batch keeps its points where workers double, too.
    """
    doublings = np.arange(1 + int(np.log2(values[-1] / values[0])))
    places = np.searchsorted(values, values[0] * 2.0**doublings)
    return np.unique([*values[places], values[-1]])


def _plotted(table: pd.DataFrame) -> pd.DataFrame:
    """The columns as arrays have them: no flag is null, and whole numbers with nulls are floats."""
    kinds = table.dtypes.astype(str)
    flags = {
        name: table[name].fillna(False).astype(bool) for name in kinds[kinds == "boolean"].index
    }
    counts = {
        name: table[name].astype("float64" if table[name].isna().any() else "int64")
        for name in kinds[kinds == "Int64"].index
    }
    return table.assign(**flags, **counts)


def draw_figure(
    name: str, entry: FigureEntry, tables: Mapping[str, pd.DataFrame], words: str = ""
) -> tuple[dict[str, str], pd.DataFrame]:
    """Return a figure's SVG texts by the end of their file's name, and what exactly it shows.

    "svg" is for a page, "narrow.svg" for a telephone, where panels stand below each other, and
    "print.svg" for the PDF, where letters are text and no outlines: they can be searched, and are
    written ten times as fast. An SVG's `<desc>` is its alternative text: `words`, or else those of
    the frame.
    """
    with house_style():
        figure, drawn = entry.of(tables)
        drawings = {"svg": _svg(figure, name)}
        figure.set_layout_engine("none")  # it is laid out
        mpl.rcParams["svg.fonttype"] = "none"
        drawings["print.svg"] = _svg(figure, name)
    with house_style(narrow=True):
        narrow, _ = entry.of(tables)
        label_each(narrow, figure)
        drawings["narrow.svg"] = _svg(narrow, f"{name}-narrow")
    words = words or described(drawn)
    return {kind: _with_words(svg, words) for kind, svg in drawings.items()}, drawn


def _with_words(svg: str, words: str) -> str:
    head, rest = svg.split(">", 1)
    return f'{head} role="img"><desc>{escape(words)}</desc>{rest}'


def _svg(figure: Figure, prefix: str) -> str:
    """A figure as an SVG element that can stand inside an HTML page.

    Ids begin with `prefix`, ink is the page's text colour, the ground is transparent, there is no
    global style, date or metadata; the same figure gives the same text.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<style[^>]*>.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'href="#', f'href="#{prefix}-', text)
    text = text.replace("url(#", f"url(#{prefix}-").replace(INK, "currentColor")
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<defs>\s*</defs>\s*", "", text)
    # The global style that was dropped, and the colour of text drawn as paths.
    return text.replace("<svg ", '<svg stroke-linejoin="round" fill="currentColor" ', 1)


def failed_figure(name: str, error: str) -> tuple[dict[str, str], pd.DataFrame]:
    """Return what stands in place of a figure that failed, and a frame of the error (a line)."""
    text = f"This figure failed, by a slip of the program: {error}"

    def draw() -> tuple[Figure, pd.DataFrame]:
        figure, (axes,) = panels(1, 1, height_in=1.5)
        note(axes, textwrap.fill(text.replace("$", r"\$"), 48))
        return figure, pd.DataFrame({"error": [error]})

    return draw_figure(name, FigureEntry(draw, ()), {}, text)
