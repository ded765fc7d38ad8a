"""Numbers as people type them: signs, thousands, units, and the span that a rounded one means."""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import product

SLACK = 1e-6  # relative; single precision and the last digit of a double are no difference
UNKNOWN = {"", "-", "–", "—", "n/a", "na", "none", "null", "?", "unknown", "oom", "out of memory"}
FEWEST_DIGITS = 3  # no column is taken as rounded to fewer significant digits
FLOAT_ZERO = 0.1  # a float is written with one decimal at least
LARGEST_POWER = 18
LARGEST = 10.0**LARGEST_POWER
_PREFIXES = ("", "k", "m", "g", "t")
_RATE = re.compile(
    r"([kKmMgGtT]?)(i?)([Bb]its?|[Bb]ytes?|[Bb])(ps|PS|[\s_]*(?:/|per[\s_]+)[\s_]*s(?:ec|econd)?)?"
)
_GAP = re.compile(r"(?<=\d)[\s'’_](?=\d{3}(?!\d))")
_NUMBER = re.compile(r"([+-]?(?:\d[\d.,]*|[.,]\d+))(?:[eE]([+-]?\d{1,3}))?\s*([^\d\s].*)?")
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")  # 1,024 or 1.024: thousands or decimals
_GROUPED = re.compile(r"[+-]?\d{1,3}([.,]\d{3})+")


@dataclass(frozen=True)
class Interval:
    """All numbers from low to high: what a rounded number, or a formula of some, may stand for."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The number half-way."""
        return (self.low + self.high) / 2

    def meets(self, other: "Interval") -> bool:
        """Return whether the two have a number in common, but for SLACK."""
        slack = SLACK * max(abs(self.middle), abs(other.middle))
        return self.low <= other.high + slack and other.low <= self.high + slack

    def times(self, factor: float) -> "Interval":
        """Return the span of factor times a number of this one."""
        return reach(lambda number: factor * number, self)

    def minus(self, other: "Interval") -> "Interval":
        """Return the span of a number of this one less a number of the other."""
        return Interval(self.low - other.high, self.high - other.low)


def reach(formula: Callable[..., float], *spans: Interval) -> Interval:
    """Return the span of a formula that is monotone in each of its arguments."""
    ends = [formula(*corner) for corner in product(*((span.low, span.high) for span in spans))]
    return Interval(min(ends), max(ends))


# A unit that people write beside a number: its size in base units; None where it is none.
Scale = Callable[[str], float | None]
RATES = {
    **{"GB/s": 1e9, "GiB/s": 2.0**30, "Gbit/s": 1e9 / 8},
    **{"MB/s": 1e6, "MiB/s": 2.0**20, "Mbit/s": 1e6 / 8},
    **{"kB/s": 1e3, "KiB/s": 2.0**10, "kbit/s": 1e3 / 8},
    **{"B/s": 1.0, "bit/s": 1 / 8},
}


def _sizes(words: dict[float, str]) -> Scale:
    units = {word: size for size, text in words.items() for word in text.split()}
    return lambda text: units.get(text.strip().lower())


COUNT = _sizes({1.0: "gpu gpus worker workers images steps"})
RATIO = _sizes({1.0: "x ×", 0.01: "% percent"})
TIME = _sizes(
    {
        1.0: "s sec secs second seconds",
        1e-3: "ms msec millisecond milliseconds",
        1e-6: "us µs μs microseconds",
        60.0: "min mins minute minutes",
        3600.0: "h hr hour hours",
    }
)


def rate(text: str) -> float | None:
    """Return the bytes per second of a unit of a rate; None where it is none.

    GB is 10^9 bytes and GiB 2^30; b beside a capital prefix (Gb/s), and bps, are bits.
    """
    match = _RATE.fullmatch(text.strip())
    if not match:
        return None
    prefix, binary, item, per = match.groups()
    single_bit = item == "b" and (prefix.isupper() or per == "ps")
    size = (1024.0 if binary else 1000.0) ** _PREFIXES.index(prefix.lower())
    return size / 8 if single_bit or item.lower().startswith("bit") else size


def rate_name(scale: float) -> str:
    """Return the unit of a rate of so many bytes per second."""
    return next((unit for unit, size in RATES.items() if size == scale), f"{scale:g} B/s")


@dataclass(frozen=True)
class SheetCell:
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

    @property
    def digits(self) -> int:
        """How many significant digits it has."""
        return self.typed.adjusted() + 1 - round(math.log10(self.resolution))

    @cached_property
    def span(self) -> Interval:
        """Every number, in base units, that is rounded or cut to this one."""
        down, up = self.resolution / 2, self.resolution
        if self.printed < 0:
            down, up = up, down
        return Interval((self.printed - down) * self.scale, (self.printed + up) * self.scale)


def with_decimal_comma(texts: Iterable[str], *, semicolons: bool) -> bool:
    """Return whether the comma is the decimal sign of a table with these cells."""
    numbers = [match[1] for text in texts if (match := _NUMBER.fullmatch(_plain(text)))]
    sure = [n for n in numbers if not _EITHER.fullmatch(n)]
    comma = any(n.rfind(",") > n.rfind(".") and n.count(",") == 1 for n in sure)
    point = any(n.rfind(".") > n.rfind(",") and n.count(".") == 1 for n in sure)
    return not point and (comma or semicolons)


def _plain(text: str) -> str:
    """A cell's text without mark-up, odd minus signs and gaps between thousands."""
    return _GAP.sub("", text.strip().strip("*`$ ").replace("−", "-").strip())


def number(text: str, scale: float, unit: Scale, *, decimal_comma: bool) -> SheetCell | None:
    """Return the number in a cell of a column with this scale; a unit in the cell itself counts.

    None where the cell says that it is unknown. Raises ValueError where the text is no finite
    number with or without a known unit.
    """
    if _plain(text).lower() in UNKNOWN:
        return None
    match = _NUMBER.fullmatch(_plain(text))
    if not match:
        raise ValueError(f"{text.strip()!r:.40} is no number; leave an unknown cell empty")
    digits, exponent, suffix = match.groups()
    stated = unit(suffix) if suffix else scale
    if stated is None:
        raise ValueError(f"{text.strip()!r:.40} has the unknown unit {suffix!r:.20}")
    typed = Decimal(_with_point(digits, decimal_comma=decimal_comma)).scaleb(int(exponent or 0))
    if abs(typed) > LARGEST or typed.adjusted() > LARGEST_POWER:  # 0e999 too
        raise ValueError(f"{text.strip()!r:.40} is too large")
    return SheetCell(typed, stated, 10.0 ** int(typed.as_tuple().exponent))


def _with_point(digits: str, *, decimal_comma: bool) -> str:
    """The digits with a point as the decimal sign and nothing between thousands."""
    if not _EITHER.fullmatch(digits):  # it shows by itself which sign is the decimal one
        last = digits.count(",") == 1 and digits.rfind(",") > digits.rfind(".")
        decimal_comma = last or digits.count(".") > 1
    sign, thousands = (",", ".") if decimal_comma else (".", ",")
    whole, _, decimals = digits.partition(sign)
    if not f"{decimals}0".isdigit() or (thousands in whole and not _GROUPED.fullmatch(whole)):
        raise ValueError(f"{digits!r:.40} is no number")
    return (
        f"{whole.replace(thousands, '')}.{decimals}" if decimals else whole.replace(thousands, "")
    )


def rounded_alike(cells: list[SheetCell]) -> list[SheetCell]:
    """Return a column's cells, no float such as 1230.0 finer than the digits that the column shows.

    1230.0 beside 617.0 and 46.4 is a number of three digits, and the zero came with the float; the
    zeros of 10.00 and 6.20 were written to be read.
    """
    digits = max([FEWEST_DIGITS, *(len(c.typed.normalize().as_tuple().digits) for c in cells)])
    last = [10.0 ** (cell.typed.adjusted() + 1 - digits) for cell in cells]
    return [
        replace(cell, resolution=max(cell.resolution, fewest))
        if cell.resolution >= FLOAT_ZERO
        else cell
        for cell, fewest in zip(cells, last, strict=True)
    ]
