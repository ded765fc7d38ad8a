"""How the time of an epoch runs over the batch sizes of the sweep."""

from dataclasses import dataclass
from typing import Literal

from dpscale.reporting.answer import Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Row, measured

Shape = Literal[
    "single", "unknown", "same", "rises", "falls", "falls then flat", "falls then rises"
]


@dataclass(frozen=True)
class Trend:
    """How the epoch's time runs over the batch sizes: rows of the sweep, and the verdict.

    `knee` is the smallest batch whose interval meets that of the fastest one.
    """

    shape: Shape
    first: Row
    knee: Row
    best: Row
    last: Row


def epoch_time(row: Row) -> Value:
    """Return a sweep row's epoch time with its interval, without runs."""
    return measured(row, "epoch_s", "s", [], row.get("repeats"))


def trend(rows: list[Row]) -> Trend:
    """Return how the epoch's time changes over complete sweep rows, in ascending batch size."""
    first, last = rows[0], rows[-1]
    best = min(rows, key=lambda row: row["epoch_s"])
    fastest = epoch_time(best)
    knee = next(
        row
        for row in rows
        if row is best or prose.compare(epoch_time(row), fastest) == "indistinct"
    )
    verdicts = {prose.compare(epoch_time(row), fastest) for row in rows if row is not best}
    end = "indistinct" if last is best else prose.compare(epoch_time(last), fastest)
    shape: Shape
    if len(rows) < 2:
        shape = "single"
    elif "unknown" in verdicts:
        shape = "unknown"
    elif knee is first:
        shape = "rises" if end == "above" else "same"
    elif end == "above":
        shape = "falls then rises"
    else:
        shape = "falls" if knee is last else "falls then flat"
    return Trend(shape, first, knee, best, last)
