"""A displayed formula as several, one behind the other, between which a line may end.

No browser breaks the lines of a formula, and most are wider than a telephone.
"""

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element, tostring

from markupsafe import Markup

MATHML = "{http://www.w3.org/1998/Math/MathML}"
_BREAK_BEFORE = frozenset("=<>≤≥≈←+−")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_QUAD_EM = 1.0  # a space as wide as this stands between two equations


def breakable(formula: Element) -> Markup:
    """Return a formula in pieces that begin with its relations, sums and words.

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
