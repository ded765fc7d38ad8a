"""What the first page leads with: the lessons of the answers, the largest effects first.

The lesson of an answer is its first sentence. How much it weighs says its effect: a ratio of what
the lesson compares, times or shares of right answers, of which the data show at least so much.
"""

import math
import re
from collections.abc import Iterable, Mapping

from dpscale.reporting.answer import Answer, Value

MOST_LESSONS = 6  # and one of the last page
LEAST_EFFECT = 1.02  # what changes nothing by 2% is nothing to lead with
FAR_RATIO = 1.25  # of two times of the same, which readers would otherwise take for one
_END = re.compile(r"(?<=[.?!])\s+(?!\d)")


def ratio_of(over: Value, under: Value) -> Value:
    """Return one number over another, with the widest interval that theirs allow."""
    runs = list(dict.fromkeys([*over.runs, *under.runs]))
    if over.value is None or not under.value:
        return Value(value=None, unit="ratio", runs=runs, status="not known")
    low = high = None
    if None not in (over.low, over.high, under.low, under.high) and under.high:
        low = over.low / under.high  # type: ignore[operator]
        high = over.high / under.low if under.low else math.inf  # type: ignore[operator]
    return Value(value=over.value / under.value, unit="ratio", low=low, high=high, runs=runs)


def complement(share: Value) -> Value:
    """Return what a share leaves of the whole, such as the right answers beside the wrong."""
    value, low, high = (
        None if one is None else 1 - one for one in (share.value, share.high, share.low)
    )
    return share.model_copy(update={"value": value, "low": low, "high": high})


def exactly(number: float) -> Value:
    """Return a number that nobody measured, such as how many workers there are."""
    return Value(value=number, unit="number", low=number, high=number)


def weight(effects: Iterable[Value]) -> float:
    """Return the largest factor that the intervals of some ratios show at least; 1 where none."""
    shown = [1.0]
    for one in effects:
        if one.low is not None and one.high:
            shown += [one.low, 1 / one.high]
    return max(shown)


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, its numbers with their runs."""
    return _END.split(text, maxsplit=1)[0]


def leading(answers: Mapping[str, Answer]) -> list[str]:
    """Return the ids of the answers whose lessons lead the report, the weightiest first."""
    heavy = [one for one in answers.values() if one.weight >= LEAST_EFFECT]
    ranked = sorted(heavy, key=lambda one: -one.weight)  # of equals, the first in the report
    return [one.id for one in ranked[:MOST_LESSONS]]
