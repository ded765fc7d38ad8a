"""Spans of numbers: what a rounded number may stand for, and what follows from several of them."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

SLACK = 1e-6  # relative; single precision and the last digit of a double are no difference


@dataclass(frozen=True)
class Interval:
    """All numbers from low to high."""

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


def reach(formula: Callable[..., float], *spans: Interval) -> Interval:
    """Return the span of a formula that is monotone in each of its arguments."""
    ends = [formula(*corner) for corner in product(*((span.low, span.high) for span in spans))]
    return Interval(min(ends), max(ends))
