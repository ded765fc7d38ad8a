"""Published claims beside what was measured here: one shape, and one way to judge, for all studies.

A study's table has CLAIM_COLUMNS and, beside them, the columns that say what its claims are of.
"""

import math
from typing import Any, Final, Literal

from dpscale.derive.columns import known
from dpscale.derive.statistics import Estimate
from dpscale.records.columns import Columns, columns, intervals
from dpscale.vocabulary import words

Agreement = Literal["agrees", "disagrees", "not decidable"]
Judgement = Agreement | Literal["not judged"]
UNDECIDED: Final = "not decidable"  # the measured interval covers both outcomes, or is unknown
NOT_JUDGED: Final = "not judged"  # nothing of the same kind was measured, for a reason
# What a claim says of a number. It agrees where the whole 95% interval says so.
Rule = Literal[
    "sign",  # it lies on the published side of 0: sizes at lab scale are not those published
    "none",  # it is 0, to a margin stated before the run
    "near",  # it is the published number, to a margin
    "range",  # it is in the published range
    "up to",  # near the published number, but what is wholly below decides nothing
    "at least",  # it reaches the published number
    "above",  # it is above the published number, a ratio
    "magnitude",  # it is the published number, to a factor
    "apart",  # it is not the published number, to a factor
]

# claim: its id in the table; reason: why it is not judged.
CLAIM_COLUMNS: Columns = (
    columns("claim source rule")
    | intervals("published")
    | columns("margin")
    | intervals("measured")
    | words("verdict", Judgement)
    | columns("reason runs base_runs")
)


def claim_row(
    claim: str,
    rule: Rule,
    *,
    published: float,
    ends: tuple[float, float] | None = None,
    source: str = "",
    margin: float | None = None,
    measured: Estimate | None = None,
    reason: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return a claim as a row, with its verdict.

    ends: of the published range, or of the published number's interval; margin: of the rule, where
    it has one; measured: None where it has no counterpart here; reason: why it is not judged, such
    as `other_devices`; more: further columns.
    """
    low, high = (known(end) for end in (measured.low, measured.high)) if measured else (None, None)
    least, most = ends or (published, published)
    row = {
        "claim": claim,
        "source": source,
        "rule": rule,
        "published": published,
        "published_low": least,
        "published_high": most,
        "margin": margin,
        "measured": measured and measured.value,
        "measured_low": low,
        "measured_high": high,
        "reason": reason,
        **more,
    }
    if reason is not None:
        return row | {"verdict": NOT_JUDGED}
    if low is None or high is None:
        return row | {"verdict": UNDECIDED}
    return row | {"verdict": judge(rule, low, high, (least, most), margin or 0.0)}


def other_devices(device: Any, oversubscribed: Any) -> str | None:
    """Return why a speed measured on such devices is not of the kind published: of a GPU a worker.

    device: as in the table `runs`, null where it is not known. None where it is of that kind.
    """
    if known(device) is not None and "cpu" in str(device).lower():
        return "measured on CPU cores, published on GPUs"
    return "workers share devices here" if known(oversubscribed) else None


def judge(
    rule: Rule, low: float, high: float, published: tuple[float, float], margin: float
) -> Agreement:
    """Return what a measured interval says of a claim; one that covers both outcomes, nothing.

    published: the ends of `claim_row`; a number published with an interval may be anywhere in it.
    """
    least, most = published
    match rule:
        case "sign":
            return _beyond(low, high, 0.0) if least > 0 else _beyond(-high, -low, 0.0)
        case "none":
            return _within(low, high, -margin, margin)
        case "range":
            return _within(low, high, least, most)
        case "near" | "up to":
            found = _within(low - most, high - least, -margin, margin)
            short = rule == "up to" and high < least  # a larger batch than here may get there
            return UNDECIDED if found == "disagrees" and short else found
        case "at least":
            return "agrees" if low >= most else "disagrees" if high < least else UNDECIDED
    if low <= 0:  # no ratio
        return UNDECIDED
    if rule == "above":
        return _beyond(low, high, most)
    factor = math.log(margin)
    same = _within(math.log(low / most), math.log(high / least), -factor, factor)
    return same if rule == "magnitude" else _OPPOSITE[same]


_OPPOSITE: dict[Agreement, Agreement] = {
    "agrees": "disagrees",
    "disagrees": "agrees",
    UNDECIDED: UNDECIDED,
}


def _beyond(low: float, high: float, mark: float) -> Agreement:
    if low <= mark <= high:
        return UNDECIDED
    return "agrees" if low > mark else "disagrees"


def _within(low: float, high: float, least: float, most: float) -> Agreement:
    if least <= low and high <= most:
        return "agrees"
    return "disagrees" if low > most or high < least else UNDECIDED
