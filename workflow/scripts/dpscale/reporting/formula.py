"""One TeX string as MathML for browsers, or as an SVG image for the PDF."""

import base64
import re
from functools import cache
from xml.etree import ElementTree

import latex2mathml.converter
import ziamath
from markupsafe import Markup, escape

from dpscale.reporting.pieces import MATHML, breakable

_ELEMENTS = frozenset(
    (
        "math",
        "mrow",
        "mi",
        "mn",
        "mo",
        "ms",
        "mtext",
        "mspace",
        "mfrac",
        "msqrt",
        "mroot",
        "msub",
        "msup",
        "msubsup",
        "munder",
        "mover",
        "munderover",
        "mtable",
        "mtr",
        "mtd",
        "mstyle",
        "mpadded",
        "mphantom",
        "menclose",
    )
)
_ATTRIBUTES = re.compile(r"(?!on|href|style|src)[a-z]+", re.IGNORECASE)
_FONT_PX = 16.0


class FormulaError(ValueError):
    """A string that is not a formula."""


@cache
def as_mathml(tex: str, *, display: bool = False) -> Markup:
    """Return a TeX formula as a `<math>` element; a displayed one as several (see `breakable`).

    Raises FormulaError for TeX that cannot be read, and for text that would become markup of
    another kind: latex2mathml does not escape what stands inside \\text.
    """
    try:
        text = latex2mathml.converter.convert(tex, display="block" if display else "inline")
        root = ElementTree.fromstring(text)
    except Exception as error:
        raise FormulaError(f"cannot read the formula {tex!r}: {error}") from error
    for element in root.iter():
        name = element.tag.removeprefix(MATHML)
        if name not in _ELEMENTS or not all(map(_ATTRIBUTES.fullmatch, element.attrib)):
            raise FormulaError(f"the formula {tex!r} holds markup: <{name}>")
    return breakable(root) if display else Markup(text)


@cache
def as_image(tex: str, *, display: bool = False) -> Markup:
    """Return a TeX formula as an `<img>` of an SVG on the text's baseline, with the TeX as its
    alternative text. Raises FormulaError for TeX that cannot be read."""
    as_mathml(tex)
    ziamath.config.svg2 = False
    svg = ziamath.Latex(tex, size=_FONT_PX, inline=not display).svg()
    head = re.search(r'width="([\d.]+)" height="([\d.]+)" viewBox="\S+ (\S+) \S+ (\S+)"', svg)
    if head is None:
        raise FormulaError(f"cannot draw the formula {tex!r}")
    width, height, top, extent = (float(number) / _FONT_PX for number in head.groups())
    data = base64.b64encode(svg.encode()).decode()
    return Markup(
        '<img class="formula" alt="{}" style="width: {:.3f}em; height: {:.3f}em; '
        'vertical-align: {:.3f}em" src="data:image/svg+xml;base64,{}">'
    ).format(tex, width, height, -(top + extent), data)


def with_formulas(text: str, *, image: bool = False) -> Markup:
    """Return plain text as markup: escaped, with each $TeX$ as a formula and \\$ as a dollar."""
    drawn = as_image if image else as_mathml
    parts = re.split(r"(?<!\\)\$(.+?)(?<!\\)\$([).,;:?!]*)", text)
    pieces = [_plain(parts[0])]
    for tex, stop, after in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        formula = Markup('<span class="together">{}{}</span>') if stop else Markup("{}{}")
        pieces += [formula.format(drawn(tex), stop), _plain(after)]
    return Markup("").join(pieces)


def _plain(text: str) -> Markup:
    """Escaped text, in which no line ends inside `N = 4`."""
    return escape(re.sub(r"\b(\w) = (?=[\w\d])", "\\1\u00a0=\u00a0", text.replace("\\$", "$")))
