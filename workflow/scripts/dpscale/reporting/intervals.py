"""What intervals say of values: below, above, not told apart, or unknown."""

from collections.abc import Sequence
from itertools import combinations

from dpscale.reporting.answer import Value
from dpscale.vocabulary import Verdict


def against(value: Value, reference: float) -> Verdict:
    """Return where a value's 95% interval lies: below or above a number, or across it.

    `unknown` without an interval: one repeat cannot say whether two things differ.
    """
    if value.value is None or value.low is None or value.high is None:
        return "unknown"
    if value.high < reference:
        return "below"
    return "above" if value.low > reference else "indistinct"


def compare(value: Value, other: Value) -> Verdict:
    """Return whether a value is below or above another; `indistinct` if their intervals meet."""
    ends = (value.low, value.high, other.low, other.high)
    if value.value is None or other.value is None or None in ends:
        return "unknown"
    low, high, other_low, other_high = (float(end) for end in ends if end is not None)
    if high < other_low:
        return "below"
    return "above" if low > other_high else "indistinct"


def moves(values: Sequence[Value]) -> set[Verdict]:
    """Return how later values lie to earlier ones, over all pairs that are told apart.

    Of a whole series, not of its ends: {"below"} where it only falls, both where it does both;
    `unknown` is among them where a value has no interval.
    """
    return {compare(later, one) for one, later in combinations(values, 2)} - {"indistinct"}


def nothing(unit: str) -> Value:
    """Return the null value of a withheld conclusion."""
    return Value(value=None, unit=unit, status="withheld")
