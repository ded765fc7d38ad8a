"""Q3's subtraction: which cells it covers, what it amounts to, and its words."""

from typing import Literal

from dpscale.reporting.answer import Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import RESULTS, Inputs, Row, measured
from dpscale.units import format_value

Finding = Literal["communication", "below noise", "negative", "undecided"]


def lab_rows(inputs: Inputs, table: str) -> list[Row]:
    """Return the rows of a table whose (N, b) is a cell of the weak series, ascending."""
    weak = {
        (row["workers"], row["per_worker_batch"]) for row in inputs.rows("scaling", kind="weak")
    }
    rows = [
        row
        for row in inputs.rows(table)
        if not weak or (row["workers"], row["per_worker_batch"]) in weak
    ]
    return sorted(rows, key=lambda row: (row["workers"], row["per_worker_batch"]))


def without_base(rows: list[Row]) -> list[str]:
    """Return one line for each row whose planned one-worker base has no result."""
    return [
        f"communication, N = 1, b = {row['per_worker_batch']}: {row['base_status']}"
        for row in rows
        if row.get("base_status") is not None and row["base_status"] not in RESULTS
    ]


def subtraction(inputs: Inputs, row: Row) -> Value:
    """Return the communication time by subtraction, with its interval."""
    return measured(
        row, "subtraction_s", "s", inputs.runs_of(row), inputs.repeats(row, "without_loading")
    )


def finding(inputs: Inputs, row: Row) -> Finding:
    """Return what the subtraction of a complete row amounts to, by its interval."""
    verdict = prose.against(subtraction(inputs, row), 0.0)
    if verdict == "unknown":
        return "undecided"
    if verdict == "indistinct" or row.get("below_noise"):
        return "below noise"
    return "negative" if verdict == "below" else "communication"


def share(row: Row) -> float:
    """Return the subtraction as a fraction of the epoch's time."""
    return float(row["subtraction_s"] / row["epoch_s"])


def _part(kind: Finding, rows: list[Row]) -> str:
    """What the subtraction gives in the cells of one kind."""
    if kind == "below noise":
        sizes = prose.batches([row["per_worker_batch"] for row in rows])
        return f"a time below the noise at {sizes}"
    shares = {
        id(row): f" ({format_value(share(row), 'fraction')} of the epoch)"
        if kind == "communication"
        else ""
        for row in rows
    }
    times = prose.join(
        [
            f"{format_value(row['subtraction_s'], 's')}{shares[id(row)]} at "
            f"b = {row['per_worker_batch']}"
            for row in rows
        ]
    )
    ends = {
        "communication": "",
        "negative": f", which {prose.verb(len(rows), 'is not a time', 'are not times')}",
        "undecided": ", from too few repeats to tell it from zero",
    }
    return times + ends[kind]


def pace(row: Row) -> str:
    """Return how an epoch without loading of N workers compares with one worker's.

    $T_N - T_1$ is the subtraction less $(N-1)/N$ of $T_1$; its interval is shifted alike.
    """
    rest = row["base_epoch_s"] * (1 - 1 / row["workers"])
    ends = [row.get("subtraction_s_low"), row.get("subtraction_s_high")]
    low, high = (None if end is None else end - rest for end in ends)
    verdict = prose.against(
        Value(value=row["subtraction_s"] - rest, unit="s", low=low, high=high), 0.0
    )
    return {
        "above": "slower than one",
        "below": "faster than one",
        "indistinct": "equal to one within the noise",
        "unknown": "not comparable with one for want of repeats",
    }[verdict]


def _paces(rows: list[Row]) -> str:
    groups: dict[str, list[int]] = {}
    for row in rows:
        groups.setdefault(pace(row), []).append(row["per_worker_batch"])
    return prose.join([f"{words} at {prose.batches(sizes)}" for words, sizes in groups.items()])


def clause(inputs: Inputs, rows: list[Row]) -> str:
    """Return pace and subtraction of all cells, one part for each number of workers."""
    parts = []
    for workers in sorted({row["workers"] for row in rows}):
        own = [row for row in rows if row["workers"] == workers]
        kinds: dict[Finding, list[Row]] = {}
        for row in own:
            kinds.setdefault(finding(inputs, row), []).append(row)
        results = ", and ".join(_part(kind, group) for kind, group in kinds.items())
        parts.append(
            f"{prose.counted(workers, 'worker')} are {_paces(own)}, and the "
            f"subtraction gives {results}"
        )
    return "; ".join(parts)
