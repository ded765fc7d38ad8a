"""A figure: what draws it, and from which derived tables.

Its title and caption stand in the template of its question."""

import io
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from xml.sax.saxutils import escape

import pandas as pd
from matplotlib.figure import Figure

from dpscale.figures.style import INK, house_style, label_each, note, panels
from dpscale.figures.words import described


@dataclass(frozen=True)
class FigureEntry:
    """A figure: `draw` takes the derived tables named in `inputs`, in that order."""

    draw: Callable[..., tuple[Figure, pd.DataFrame]]
    inputs: tuple[str, ...]

    def of(self, tables: Mapping[str, pd.DataFrame]) -> tuple[Figure, pd.DataFrame]:
        """Return the figure of these tables, and the frame of exactly what it shows."""
        return self.draw(*(_plotted(tables[name]) for name in self.inputs))


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
) -> tuple[str, str, pd.DataFrame]:
    """Return the SVG texts of a figure for a page and for a telephone, and what exactly it shows.

    On a telephone panels stand below each other. The SVG's `<desc>` is its alternative text:
    `words`, or else those of the frame.
    """
    with house_style():
        figure, drawn = entry.of(tables)
        svg = _svg(figure, name)
    with house_style(narrow=True):
        narrow, _ = entry.of(tables)
        label_each(narrow, figure)
        narrow_svg = _svg(narrow, f"{name}-narrow")
    words = words or described(drawn)
    return _with_words(svg, words), _with_words(narrow_svg, words), drawn


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


def failed_figure(name: str, error: str) -> tuple[str, str, pd.DataFrame]:
    """Return what stands in place of a figure that failed, and a frame of the error (a line)."""
    text = f"This figure failed, by a slip of the program: {error}"

    def draw() -> tuple[Figure, pd.DataFrame]:
        figure, (axes,) = panels(1, 1, height_in=1.5)
        note(axes, textwrap.fill(text.replace("$", r"\$"), 48))
        return figure, pd.DataFrame({"error": [error]})

    return draw_figure(name, FigureEntry(draw, ()), {}, text)
