"""Where a measurement lies: above a number or another measurement, below, or not told apart.

A column of such verdicts is declared with what it judges (`side`), and made with its table
(`columns.as_table`), so that it cannot say anything else than the interval beside it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import pandas as pd

from dpscale.vocabulary import Verdict, Words, words

Ends = tuple[float, float]
Trend = Verdict | Literal["both"]


class Side(Words):
    """The type of a column that says where the interval of another column of its row lies."""

    column: str
    reference: float | str


def side(name: str, column: str, reference: float | str = 0.0) -> dict[str, str]:
    """Return the type of a column: where another lies of a number, or of a column named here."""
    kind = Side("str")
    kind.values = words(name)[name].values  # type: ignore[attr-defined]
    kind.column, kind.reference = column, reference
    return {name: kind}


def of_row(row: Mapping[str, Any], column: str, reference: float | str = 0.0) -> Verdict:
    """Return where a column of a row lies of a number, or of another column."""
    if isinstance(reference, str):
        return lies(ends(row, column), ends(row, reference))
    return lies(ends(row, column), (reference, reference))


def beside(row: Mapping[str, Any], other: Mapping[str, Any], column: str) -> Verdict:
    """Return where a column of a row lies of the same column of another row."""
    return lies(ends(row, column), ends(other, column))


def lies(one: Ends | None, other: Ends | None) -> Verdict:
    """Return where an interval lies of another; `indistinct` if they meet.

    `unknown` without an interval: one repeat cannot say whether two things differ.
    """
    if one is None or other is None:
        return "unknown"
    if one[1] < other[0]:
        return "below"
    return "above" if one[0] > other[1] else "indistinct"


def ends(row: Mapping[str, Any], column: str) -> Ends | None:
    """Return the interval of a column; of one that has none the number, None where unknown."""
    value = row[column]
    found = [value, row.get(f"{column}_low", value), row.get(f"{column}_high", value)]
    if any(pd.isna(end) or not math.isfinite(end) for end in found):
        return None
    return found[1], found[2]


def trend(rows: Sequence[Mapping[str, Any]], column: str) -> Trend:
    """Return how a column goes from row to row, over all pairs that are told apart.

    Of a whole series, not of its ends: `below` where it only falls, `both` where it also rises;
    `unknown` where a value has no interval.
    """
    moves = set[Verdict]()
    most_low, least_high = -math.inf, math.inf  # of the rows before: any pair there is counts
    for row in rows if len(rows) > 1 else ():
        if (found := ends(row, column)) is None:
            return "unknown"
        low, high = found
        moves |= {"below"} if high < most_low else set()
        moves |= {"above"} if low > least_high else set()
        most_low, least_high = max(most_low, low), min(least_high, high)
    return overall(moves)


def overall(verdicts: Iterable[Verdict]) -> Trend:
    """Return what the verdicts on pairs say of all, an indistinct one nothing; see `trend`."""
    moves = set(verdicts) - {"indistinct"}
    if "unknown" in moves:
        return "unknown"
    return "both" if len(moves) > 1 else moves.pop() if moves else "indistinct"
