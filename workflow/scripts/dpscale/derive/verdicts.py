"""What measured intervals say of published results."""

from typing import Final, Literal

Agreement = Literal["agrees", "disagrees", "not decidable"]
UNDECIDED: Final = "not decidable"


def direction(low: float | None, high: float | None, published: float) -> Agreement:
    """Return whether a measured difference has the sign of the published one.

    low, high: 95% interval of the difference, null where unknown; published: the published
    difference, of which the sign alone counts, since runs at lab scale do not reproduce sizes.
    An interval that covers 0 decides nothing.
    """
    if low is None or high is None or low <= 0 <= high:
        return UNDECIDED
    return "agrees" if (low > 0) == (published > 0) else "disagrees"


def no_difference(low: float | None, high: float | None, margin: float) -> Agreement:
    """Return whether a measured difference agrees with a published "no difference".

    margin: what is small enough to be none, stated before the run. An interval within it agrees,
    one wholly beyond it disagrees, any other decides nothing.
    """
    if low is None or high is None:
        return UNDECIDED
    if -margin <= low and high <= margin:
        return "agrees"
    return "disagrees" if low > margin or high < -margin else UNDECIDED


def within(
    low: float | None, high: float | None, published_low: float, published_high: float
) -> Agreement:
    """Return whether a measured interval and a published one can be of the same number.

    Only for a published number that was measured of the same thing. Intervals that meet agree.
    """
    if low is None or high is None:
        return UNDECIDED
    return "agrees" if low <= published_high and high >= published_low else "disagrees"


def at_least(low: float | None, high: float | None, published: float) -> Agreement:
    """Return whether a measured share reaches a published one; not decidable across it."""
    if low is None or high is None or low < published <= high:
        return UNDECIDED
    return "agrees" if low >= published else "disagrees"
