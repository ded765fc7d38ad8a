"""Numbers as people type them: decimal signs, thousands, units, and how far each is rounded."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise

from dpscale.audit.interval import Interval

UNKNOWN = {"", "-", "–", "—", "n/a", "na", "none", "null", "?", "unknown", "oom", "out of memory"}
FEWEST_DIGITS = 3  # no column is taken as rounded to fewer significant digits
FLOAT_ZERO = 0.1  # a float is written with one decimal at least
SLIP_DIGITS = 5  # a slip of the hand explains only a number of at least these digits
LARGEST = 1e18
_GAP = re.compile(r"(?<=\d)[\s'’_](?=\d{3}(?!\d))")
_NUMBER = re.compile(r"([+-]?(?:\d[\d.,]*|[.,]\d+))(?:[eE]([+-]?\d{1,3}))?\s*([^\d\s].*)?")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")  # 1,024 or 1.024: thousands or decimals
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*")


@dataclass(frozen=True)
class Cell:
    """A number of the table.

    typed: its digits; scale: base units (seconds, bytes per second) of its unit; resolution: size
    of the last digit that counts.
    """

    typed: Decimal
    scale: float
    resolution: float

    @property
    def printed(self) -> float:
        """The number in the unit that it is printed in."""
        return float(self.typed)

    @property
    def value(self) -> float:
        """The number in base units."""
        return self.printed * self.scale

    @cached_property
    def span(self) -> Interval:
        """Every number, in base units, that is rounded or cut to this one."""
        return self._span(self.printed)

    def _span(self, number: float) -> Interval:
        down, up = self.resolution / 2, self.resolution
        low, high = (number - down, number + up) if number >= 0 else (number - up, number + down)
        return Interval(low * self.scale, high * self.scale)

    def slips(self) -> Iterator[tuple[str, Interval]]:
        """Yield the number with one digit left out, or two neighbours exchanged, and its span."""
        text = f"{self.typed:f}"
        if len(self.typed.as_tuple().digits) < SLIP_DIGITS:
            return
        places = [place for place, sign in enumerate(text) if sign.isdigit()]
        for here, after in pairwise(places):
            changed = list(text)
            changed[here], changed[after] = text[after], text[here]
            for slip in ("".join(changed), text[:here] + text[here + 1 :]):
                if slip != text:
                    yield slip, self._span(float(slip))


def with_decimal_comma(texts: Iterable[str], *, semicolons: bool) -> bool:
    """Return whether the comma is the decimal sign of a table with these cells."""
    numbers = [match[1] for text in texts if (match := _NUMBER.fullmatch(plain(text)))]
    sure = [n for n in numbers if not _GROUPED.fullmatch(n)]
    comma = any(n.rfind(",") > n.rfind(".") and n.count(",") == 1 for n in sure)
    point = any(n.rfind(".") > n.rfind(",") and n.count(".") == 1 for n in sure)
    return not point and (comma or semicolons)


def plain(text: str) -> str:
    """Return a cell's text without mark-up, odd minus signs and gaps between thousands."""
    return _GAP.sub("", text.strip().strip("*`$ ").replace("−", "-").strip())


def is_unknown(text: str) -> bool:
    """Return whether the cell says that its number is unknown."""
    return plain(text).lower() in UNKNOWN


def number(
    text: str, scale: float, unit: Callable[[str], float | None], *, decimal_comma: bool
) -> Cell:
    """Return the number in a cell of a column with this scale; a unit in the cell itself counts.

    Raises ValueError where the text is no finite number with or without a known unit.
    """
    match = _NUMBER.fullmatch(plain(text))
    if not match:
        raise ValueError(f"{text.strip()!r:.40} is no number; leave an unknown cell empty")
    digits, exponent, suffix = match.groups()
    if suffix:
        stated = unit(suffix)
        if stated is None:
            raise ValueError(f"{text.strip()!r:.40} has the unknown unit {suffix!r:.20}")
        scale = stated
    typed = Decimal(_with_point(digits, decimal_comma=decimal_comma)).scaleb(int(exponent or 0))
    if abs(typed) > LARGEST:
        raise ValueError(f"{text.strip()!r:.40} is too large")
    return Cell(typed, scale, 10.0 ** int(typed.as_tuple().exponent))


def _with_point(digits: str, *, decimal_comma: bool) -> str:
    """The digits with a point as the decimal sign and nothing between thousands."""
    sign = max(digits.rfind(","), digits.rfind("."))
    if sign < 0:
        return digits
    other = "." if digits[sign] == "," else ","
    whole, decimals = digits[:sign], digits[sign + 1 :]
    only = other not in digits
    if only and digits.count(digits[sign]) > 1:
        if not _THOUSANDS.fullmatch(digits):
            raise ValueError(f"{digits!r:.40} is no number")
        return digits.replace(digits[sign], "")
    if only and _GROUPED.fullmatch(digits) and (digits[sign] == ",") != decimal_comma:
        return whole + decimals
    if other in whole and not _THOUSANDS.fullmatch(whole):
        raise ValueError(f"{digits!r:.40} is no number")
    return f"{whole.replace(other, '')}.{decimals}" if decimals else whole


def rounded_alike(cells: list[Cell]) -> list[Cell]:
    """Return a column's cells, no float such as 1230.0 finer than the digits that the column shows.

    1230.0 beside 617.0 and 46.4 is a number of three digits, and the zero came with the float; the
    zeros of 10.00 and 6.20 were written to be read.
    """
    shown = [len(cell.typed.normalize().as_tuple().digits) for cell in cells]
    digits = max([FEWEST_DIGITS, *shown])
    return [
        cell
        if cell.resolution < FLOAT_ZERO
        else replace(
            cell, resolution=max(cell.resolution, 10.0 ** (cell.typed.adjusted() + 1 - digits))
        )
        for cell in cells
    ]
