"""Figures of the report: an SVG that carries its own alternative text."""

import base64
import re
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

from markupsafe import Markup, escape


@dataclass(frozen=True)
class Picture:
    """A figure: `svg` stands in an HTML page, `narrow` in a telephone's.

    data: what stands in the PDF, as an image's address.
    """

    name: str
    alt: str
    svg: Markup
    narrow: Markup
    data: str


def read_picture(folder: Path, name: str) -> Picture:
    """Return the figure `<folder>/<name>.svg`, whose `<desc>` is its alternative text.

    Raises FileNotFoundError, or ValueError for an SVG that is cut or lacks it.
    """
    _, inline, alt = _read(folder / f"{name}.svg")
    _, narrow, _ = _read(folder / f"{name}.narrow.svg")
    printed, _, _ = _read(folder / f"{name}.print.svg")
    data = "data:image/svg+xml;base64," + base64.b64encode(printed.encode()).decode()
    return Picture(name, alt, inline, narrow, data)


def _read(path: Path) -> tuple[str, Markup, str]:
    """An SVG as it is, as it stands in a page, and its alternative text."""
    svg = path.read_text(encoding="utf-8")
    try:
        ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise ValueError(f"{path}: no whole SVG: {error}; draw it again") from None
    found = re.search(r"<desc>(.*?)</desc>", svg, flags=re.DOTALL)
    if found is None:
        raise ValueError(f"figure {path.stem} has no alternative text")
    alt = unescape(found[1])
    inline = svg.replace(found[0], "", 1).replace("<svg ", f'<svg aria-label="{escape(alt)}" ', 1)
    return svg, Markup(inline), alt
