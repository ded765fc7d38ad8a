"""Q3.2's paragraphs on the lab's bandwidth: the terms of its formulas, and what it cannot say."""

from typing import Literal

from dpscale.reporting.answer import Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, measured
from dpscale.units import format_value

PEAKS = {
    "busbw_bytes_per_s": "the bus bandwidth of the same buckets alone",
    "link_bytes_per_s": "the rate of the link",
}


def rate(inputs: Inputs, row: Row) -> Value:
    """Return the lab's bandwidth of a row, bytes per second, with its interval."""
    return measured(row, "lab_bytes_per_s", "bytes/s", inputs.runs_of(row))


def formulas() -> str:
    """Return what the two formulas say, and their source."""
    return (
        "A ring all-reduce of $X$ items over $N$ workers sends at least $2 (N - 1)/N \\cdot X$ "
        "items through the busiest worker (Patarasuk and Yuan, 2009, Lemma 4). With "
        "$S = X \\cdot \\text{itemsize}$ bytes per iteration and a bandwidth of $\\beta$ bytes "
        "per second, the first formula is the least time of one all-reduce, and the second, "
        "solved for $\\beta$ over a whole epoch, is the bandwidth."
    )


def terms(rows: list[Row]) -> str:
    """Return the size of each term: payload, moved bytes, iterations, unit."""
    payload = format_value(rows[0]["payload_bytes"], "bytes_exact")
    moved = [
        f"{format_value(first['moved_bytes'], 'bytes_exact')} at N = {workers}"
        for workers, first in {row["workers"]: row for row in rows}.items()
    ]
    return (
        f"$S$ is {payload} in every iteration, of which the busiest worker sends "
        f"{prose.join(moved)}. An epoch is scaled to exactly $D$ samples, in the time and in "
        "the bytes alike, so the number of iterations is the factor $D/(N b)$ and need not "
        "be whole. Units are powers of ten: 1 GB/s is $10^9$ bytes per second."
    )


def consistency(inputs: Inputs, decided: list[Row], *, explained: bool) -> str:
    """Return whether the bandwidth depends on the batch size, and what that means.

    explained: another paragraph says what the denominator holds, from a measurement.
    """
    texts = []
    for workers in sorted({row["workers"] for row in decided}):
        own = [row for row in decided if row["workers"] == workers]
        if len(own) < 2:
            continue
        first, last = own[0], own[-1]
        words = _change(inputs, first, last)
        texts.append(
            f"at N = {workers}, from b = {first['per_worker_batch']} to "
            f"{last['per_worker_batch']}, it {words}"
        )
    if not texts:
        return ""
    text = (
        "Every iteration moves the same bytes, so the bandwidth of a link would come out the "
        f"same at every b. Here, {'; '.join(texts)}."
    )
    if explained:
        return text
    if any(found.endswith(" falls") for found in texts):
        text += (
            " Where it falls, the time in the denominator holds more than the transfer: "
            "contention or overhead that grows with the work of an iteration."
        )
    if any(found.endswith(" rises") for found in texts):
        text += (
            " Where it rises, a larger part of the all-reduce may hide behind the longer "
            "backward pass (Li et al., 2020), so the denominator misses some of it."
        )
    return text


def _change(
    inputs: Inputs, first: Row, last: Row
) -> Literal["falls", "rises", "does not change beyond its intervals", "has no two-sided interval"]:
    verdict = prose.compare(rate(inputs, last), rate(inputs, first))
    if verdict == "unknown":
        return "has no two-sided interval"
    if verdict == "indistinct":
        return "does not change beyond its intervals"
    return "rises" if verdict == "above" else "falls"


def absent(rows: list[Row], decided: list[Row]) -> str:
    """Return what was not measured of what the link can do; empty where both rates were."""
    lacking = [
        words for column, words in PEAKS.items() if all(row.get(column) is None for row in rows)
    ]
    if not lacking:
        return ""
    are = prose.verb(len(lacking), "is", "are")
    text = f"{prose.capitalised(prose.join(lacking))} {are} not measured"
    if len(lacking) < len(PEAKS):
        return f"{text}, so that comparison is left out."
    if not decided:
        return f"{text}, so nothing stands in for the bandwidth that the subtraction lacks."
    return (
        f"{text}, so it is not known how much of what the link can do this is. Because the "
        "denominator is the lab's subtraction, the numbers are effective rates of the whole "
        "exchange, not rates of the wire."
    )
