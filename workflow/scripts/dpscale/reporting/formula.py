"""One TeX string as MathML for browsers, or as an SVG image for the PDF."""

import base64
import re
from collections.abc import Iterator
from functools import cache
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, tostring

import latex2mathml.converter
import ziamath
from markupsafe import Markup, escape

MATHML = "{http://www.w3.org/1998/Math/MathML}"
_BREAK_BEFORE = frozenset("=<>≤≥≈←+−")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_QUAD_EM = 1.0  # a space as wide as this stands between two equations
_ELEMENTS = re.compile(
    "math|mrow|mi|mn|mo|ms|mtext|mspace|mfrac|msqrt|mroot|msub|msup|msubsup|munder|mover|munderover"
    "|mtable|mtr|mtd|mstyle|mpadded|mphantom|menclose"
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
        if not _ELEMENTS.fullmatch(name) or not all(map(_ATTRIBUTES.fullmatch, element.attrib)):
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


def breakable(formula: Element) -> Markup:
    """Return a displayed formula in pieces, which begin with its relations, sums and words.

    No browser breaks the lines of a formula, and most are wider than a telephone.

    What stands in brackets stays whole. Each equation is an element of its own, so that lines end
    between equations first; the space between them is for the style sheet to widen.
    """
    equations: list[list[list[Element]]] = [[]]
    depth = 0
    before = None
    for element in _words(formula[0]):
        if _is(element, "mspace") and float(element.attrib["width"].removesuffix("em")) >= _QUAD_EM:
            equations.append([])
            continue
        if not equations[-1] or (depth == 0 and _may_begin(element, before)):
            equations[-1].append([])
        equations[-1][-1].append(element)
        depth += (element.text in _OPENING) - (element.text in _CLOSING)
        before = element
    return Markup(" ").join(
        Markup("<span>{}</span>").format(Markup("<wbr>").join(map(_piece, pieces)))
        for pieces in equations
    )


def _is(element: Element | None, name: str) -> bool:
    return element is not None and element.tag == MATHML + name


def _words(row: Element) -> Iterator[Element]:
    """The elements of a row, a text in it word by word."""
    for element in row:
        words = re.findall("[^\xa0]+\xa0*", element.text or "") if _is(element, "mtext") else []
        if len(words) < 2:
            yield element
        for word in words if len(words) > 1 else []:
            # No mtext: beside one a relation would lose its spaces, as it counts as a space.
            part = Element(f"{MATHML}mi", mathvariant="normal")
            part.text = word
            yield part


def _may_begin(element: Element, before: Element | None) -> bool:
    """Whether a line may begin with an element: with a sign of what follows it may not."""
    if _is(element, "mo"):
        of_sign = before is not None and _is(before, "mo") and before.text not in _CLOSING
        return element.text in _BREAK_BEFORE and not of_sign
    return before is not None and (before.text or "").endswith("\xa0")


def _piece(elements: list[Element]) -> Markup:
    row = Element(f"{MATHML}mrow")
    row.extend(elements)
    first = elements[0]
    if _is(first, "mo") and first.text in _BREAK_BEFORE:
        first.set("form", "infix")  # where it begins a row, it would be the sign of what follows
    piece = Element(f"{MATHML}math", displaystyle="true")
    piece.append(row)
    return Markup(tostring(piece, encoding="unicode").replace("ns0:", "").replace(":ns0", ""))
