"""Published claims beside what was measured here: one shape, and one way to judge, for all studies.

A study's table has CLAIM_COLUMNS and, beside them, the columns that say what its claims are of.
"""

import math
from typing import Any, Final, Literal

from dpscale.derive.columns import Columns, floats, known, texts
from dpscale.derive.statistics import Estimate

Agreement = Literal["agrees", "disagrees", "not decidable"]
UNDECIDED: Final = "not decidable"
# What a claim says of a number, whose 95% interval decides whether it holds.
Rule = Literal[
    "sign",  # it lies on the published side of 0: sizes at lab scale are not those published
    "none",  # it is 0, to a margin stated before the run
    "interval",  # it is the published number: the two intervals meet
    "at least",  # it reaches the published number
    "above",  # it is above the published number, a ratio
    "near",  # it is the published number, to a margin
    "up to",  # so too, but what is wholly below decides nothing
    "magnitude",  # it is the published number, to a factor
    "apart",  # it is not the published number, to a factor
]

# claim: its id in the table; reason: why nothing is decided, where no interval says so.
CLAIM_COLUMNS: Columns = (
    texts("claim source rule")
    | floats("published published_low published_high margin")
    | floats("measured measured_low measured_high")
    | texts("verdict reason runs base_runs")
)


def claim_row(
    claim: str,
    rule: Rule,
    *,
    published: float,
    around: float = 0.0,
    source: str = "",
    margin: float | None = None,
    measured: Estimate | None = None,
    reason: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return a claim as a row, with its verdict.

    around: half the interval of the published number; margin: of the rule, where it has one;
    measured: None where it has no counterpart here; reason: why it is not to be judged; more:
    further columns.
    """
    low, high = (known(end) for end in (measured.low, measured.high)) if measured else (None, None)
    row = {
        "claim": claim, "source": source, "rule": rule, "published": published,
        "published_low": published - around, "published_high": published + around,
        "margin": margin, "measured": measured and measured.value, "measured_low": low,
        "measured_high": high, "reason": reason, **more,
    }  # fmt: skip
    if reason is not None or low is None or high is None:
        return row | {"verdict": UNDECIDED}
    return row | {"verdict": judge(rule, low, high, published, around, margin)}


def judge(
    rule: Rule, low: float, high: float, published: float, around: float, margin: float | None
) -> Agreement:
    """Return what a measured interval says of a claim; one that covers both outcomes, nothing."""
    if rule == "interval":
        return "agrees" if low <= published + around and high >= published - around else "disagrees"
    if rule == "sign":
        return _beyond(low, high, 0.0, above=published > 0)
    if rule == "at least":
        return (
            UNDECIDED if low < published <= high else "agrees" if low >= published else "disagrees"
        )
    bound = 0.0 if margin is None else margin
    if rule in ("none", "near", "up to"):
        middle = 0.0 if rule == "none" else published
        found = _within(low - middle, high - middle, bound)
        short = rule == "up to" and high < published  # a larger batch than here may get there
        return UNDECIDED if found == "disagrees" and short else found
    if low <= 0:  # no ratio
        return UNDECIDED
    if rule == "above":
        return _beyond(low, high, published, above=True)
    same = _within(math.log(low / published), math.log(high / published), math.log(bound))
    if rule == "magnitude":
        return same
    if same == "agrees":
        return "disagrees"
    return UNDECIDED if low <= published <= high else "agrees"


def _beyond(low: float, high: float, mark: float, *, above: bool) -> Agreement:
    if low <= mark <= high:
        return UNDECIDED
    return "agrees" if (low > mark) == above else "disagrees"


def _within(low: float, high: float, margin: float) -> Agreement:
    if -margin <= low and high <= margin:
        return "agrees"
    return "disagrees" if low > margin or high < -margin else UNDECIDED
