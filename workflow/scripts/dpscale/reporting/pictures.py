"""Figures of the report: an SVG that carries its own title, caption and alternative text."""

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
    title: str
    caption: str
    alt: str
    svg: Markup
    data: str


def _inside(pattern: str, svg: str, name: str, what: str) -> str:
    found = re.search(pattern, svg, flags=re.DOTALL)
    if found is None:
        raise ValueError(f"figure {name} has no {what}")
    return unescape(found[1])


def read_picture(folder: Path, name: str) -> Picture:
    """Return the figure `<folder>/<name>.svg`; its title, `<desc>` and `data-caption` are its
    words. Raises FileNotFoundError, or ValueError for an SVG that is cut or lacks one of them."""
    path = folder / f"{name}.svg"
    svg = path.read_text(encoding="utf-8")
    try:
        ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise ValueError(f"{path}: no whole SVG: {error}; draw it again") from None
    title = _inside(r"<title>(.*?)</title>", svg, name, "title")
    alt = _inside(r"<desc>(.*?)</desc>", svg, name, "alternative text")
    caption = _inside(r'data-caption="(.*?)"', svg, name, "caption")
    # In the page the title would pop up over the figure, and the caption shows it anyway.
    inline = re.sub(r"<title>.*?</title>", "", svg, count=1, flags=re.DOTALL)
    inline = re.sub(r' data-caption=".*?"', "", inline, count=1, flags=re.DOTALL)
    inline = re.sub(r"<desc>.*?</desc>", "", inline, count=1, flags=re.DOTALL)
    inline = inline.replace("<svg ", f'<svg aria-label="{escape(alt)}" ', 1)
    data = "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
    return Picture(name, title, caption, alt, Markup(inline), data)
