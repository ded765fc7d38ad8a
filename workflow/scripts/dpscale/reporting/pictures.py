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
    """A figure: `svg` stands in an HTML page, `data` is the same as an image's address."""

    name: str
    alt: str
    svg: Markup
    data: str


def read_picture(folder: Path, name: str) -> Picture:
    """Return the figure `<folder>/<name>.svg`, whose `<desc>` is its alternative text.

    Raises FileNotFoundError, or ValueError for an SVG that is cut or lacks it.
    """
    path = folder / f"{name}.svg"
    svg = path.read_text(encoding="utf-8")
    try:
        ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise ValueError(f"{path}: no whole SVG: {error}; draw it again") from None
    found = re.search(r"<desc>(.*?)</desc>", svg, flags=re.DOTALL)
    if found is None:
        raise ValueError(f"figure {name} has no alternative text")
    alt = unescape(found[1])
    inline = svg.replace(found[0], "", 1).replace("<svg ", f'<svg aria-label="{escape(alt)}" ', 1)
    data = "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
    return Picture(name, alt, Markup(inline), data)
