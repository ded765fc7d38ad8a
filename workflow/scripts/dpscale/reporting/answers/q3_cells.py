"""Q3's cells: which rows of a table they are, what a difference amounts to, and where it holds."""

from collections.abc import Callable, Hashable, Sequence
from typing import Literal, TypeVar

from dpscale.reporting.answer import Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import RESULTS, Inputs, Row, measured

Finding = Literal["communication", "below noise", "negative", "undecided"]
Kind = TypeVar("Kind", bound=Hashable)
ESTIMATES = ("subtraction_s", "exposed_s", "span_s", "buckets_s")
PARTS = ("compute_s", "contention_s", "straggler_s", "overhead_s", "exposed_s")
# Why a share or a rate is not given, although its seconds are known.
REASONS = {
    "below noise": "below the noise",
    "negative": "negative",
    "undecided": "not told from zero for want of repeats",
}


def lab_rows(inputs: Inputs, table: str) -> list[Row]:
    """Return the rows of several workers whose (N, b) is a cell of the weak series, ascending."""
    weak = {
        (row["workers"], row["per_worker_batch"]) for row in inputs.rows("scaling", kind="weak")
    }
    rows = [
        row
        for row in inputs.rows(table)
        if row["workers"] > 1 and (not weak or (row["workers"], row["per_worker_batch"]) in weak)
    ]
    return sorted(rows, key=lambda row: (row["workers"], row["per_worker_batch"]))


def without_base(rows: list[Row]) -> list[str]:
    """Return one line for each row whose planned one-worker base has no result."""
    return [
        f"communication, N = 1, b = {row['per_worker_batch']}: {row['base_status']}"
        for row in rows
        if row.get("base_status") is not None and row["base_status"] not in RESULTS
    ]


def key_of(row: Row) -> tuple[object, ...]:
    """Return what tells a cell from the others: workers, nodes, batch per worker."""
    return row["workers"], row.get("nodes"), row["per_worker_batch"]


def seconds(inputs: Inputs, row: Row, column: str) -> Value:
    """Return a column of `communication`, seconds of an epoch, with its interval."""
    return measured(row, column, "s", inputs.runs_of(row), row.get("repeats"))


def finding(value: Value) -> Finding:
    """Return what a difference of times amounts to, by its interval."""
    found: dict[prose.Verdict, Finding] = {
        "above": "communication",
        "below": "negative",
        "indistinct": "below noise",
        "unknown": "undecided",
    }
    return found[prose.against(value, 0.0)]


def share(inputs: Inputs, row: Row, column: str) -> Value:
    """Return a column's seconds as a fraction of the epoch's.

    Null with the reason where the interval does not put the seconds above zero.
    """
    part = seconds(inputs, row, column)
    known = part.value is not None and row.get("epoch_s")
    kind = finding(part) if known else None
    return Value(
        value=row[column] / row["epoch_s"] if kind == "communication" else None,
        unit="fraction",
        n=part.n,
        runs=part.runs,
        status=REASONS.get(kind) if kind else part.status or "not measured",
    )


def at(row: Row) -> str:
    """Return a cell in prose: `N = 2, b = 32`."""
    return f"N = {row['workers']}, b = {row['per_worker_batch']}"


def grouped(rows: Sequence[Row], kind: Callable[[Row], Kind]) -> dict[Kind, list[Row]]:
    """Return the rows by kind, the kinds in the order in which they are met."""
    groups: dict[Kind, list[Row]] = {}
    for row in rows:
        groups.setdefault(kind(row), []).append(row)
    return groups


def places(some: Sequence[Row], every: Sequence[Row]) -> str:
    """Return where something holds: `in all six cells`, or in how many of them and which."""
    if len(some) == len(every):
        if len(every) == 1:
            return f"in the one cell measured ({at(some[0])})"
        return f"in {'both' if len(every) == 2 else f'all {prose.number_word(len(every))}'} cells"
    listed = prose.cells([(row["workers"], row["per_worker_batch"]) for row in some])
    number, total = prose.number_word(len(some)), prose.number_word(len(every))
    return f"in {number} of the {total} cells ({listed})"


def spread(values: Sequence[Value]) -> str:
    """Return the range of some values: `1.43×`, or `1.20× to 1.43×` where they differ."""
    ranked = sorted(values, key=lambda value: float(value.value or 0))
    low, high = prose.bare(ranked[0]), prose.bare(ranked[-1])
    return low if low == high else f"{low} to {high}"
