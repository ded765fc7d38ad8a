"""Q3.1 by subtraction alone: its words, its table, and what two times leave open."""

from dpscale.reporting.answer import Column, Table, Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row
from dpscale.reporting.answers.measured_table import BATCH, WORKERS, measured_table
from dpscale.reporting.answers.q3_cells import (
    Finding,
    finding,
    grouped,
    lab_rows,
    seconds,
    share,
)

__all__ = ["caveats", "clause", "lab_rows", "open_questions", "result", "subtraction_table"]

DIRECT = {
    "exposed_s": "exposed communication",
    "overhead_s": "overhead",
    "contention_s": "contention",
    "span_s": "span",
    "buckets_s": "the all-reduce alone",
}


def result(inputs: Inputs, row: Row) -> Finding:
    """Return what the subtraction of a complete row amounts to, by its interval."""
    return finding(seconds(inputs, row, "subtraction_s"))


def _part(inputs: Inputs, kind: Finding, rows: list[Row]) -> str:
    """What the subtraction gives in the cells of one kind."""
    if kind == "below noise":
        sizes = prose.batches([row["per_worker_batch"] for row in rows])
        return f"a time below the noise at {sizes}"

    def one(row: Row) -> str:
        """The subtraction of one cell, in words."""
        part = share(inputs, row, "subtraction_s")
        of_epoch = "" if part.value is None else f" ({prose.bare(part)} of the epoch)"
        time = prose.bare(seconds(inputs, row, "subtraction_s"))
        return f"{time}{of_epoch} at b = {row['per_worker_batch']}"

    ends = {
        "communication": "",
        "negative": f", which {prose.verb(len(rows), 'is not a time', 'are not times')}",
        "undecided": ", from too few repeats to tell it from zero",
    }
    return prose.join([one(row) for row in rows]) + ends[kind]


def _pace(row: Row) -> str:
    """How an epoch without loading of N workers compares with one worker's.

    $T_N - T_1$ is the subtraction less $(N-1)/N$ of $T_1$; its interval is shifted alike.
    """
    rest = row["compute_s"] * (row["workers"] - 1)
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
    return prose.join(
        [
            f"{words} at {prose.batches([row['per_worker_batch'] for row in group])}"
            for words, group in grouped(rows, _pace).items()
        ]
    )


def clause(inputs: Inputs, rows: list[Row]) -> str:
    """Return pace and subtraction of all cells, one part for each number of workers."""
    parts = []
    for workers, own in grouped(rows, lambda row: row["workers"]).items():
        kinds = grouped(own, lambda row: result(inputs, row))
        results = ", and ".join(_part(inputs, kind, group) for kind, group in kinds.items())
        parts.append(
            f"{prose.counted(workers, 'worker')} are {_paces(own)}, and the "
            f"subtraction gives {results}"
        )
    return "; ".join(parts)


def subtraction_table(inputs: Inputs, rows: list[Row]) -> Table:
    """Return the table of both times, computation, communication and its share."""
    times = {
        "base_epoch_s": "Epoch of one worker",
        "epoch_s": "Epoch of N workers",
        "compute_s": "Computation",
        "subtraction_s": "Communication by subtraction",
    }
    return measured_table(
        inputs,
        "One epoch without loading: computation and communication.",
        [
            WORKERS,
            BATCH,
            *(Column(key=key, title=title, unit="s") for key, title in times.items()),
            Column(key="share", title="Share of the epoch", unit="fraction"),
        ],
        rows,
        lambda row: {"share": share(inputs, row, "subtraction_s")},
    )


def open_questions(inputs: Inputs, rows: list[Row]) -> list[str]:
    """Return what the subtraction alone holds, misses and cannot tell apart."""
    return [_meaning(), caveats(inputs, rows), _not_measured(), _shared(rows)]


def _meaning() -> str:
    return (
        "The subtraction is not a pure communication time: it also holds contention of the "
        "workers for the machine and the overhead of the wrapper that synchronises them. It "
        "misses the part of the all-reduce that runs behind the backward pass, which PyTorch "
        "arranges by reducing gradients in buckets (Li et al., 2020)."
    )


def caveats(inputs: Inputs, rows: list[Row]) -> str:
    """Return what a negative time means, and one below the noise, where there is one."""
    times = [
        finding(seconds(inputs, row, name))
        for row in rows
        for name in ("subtraction_s", "exposed_s")
        if row.get(name) is not None
    ]
    texts = []
    if any(result(inputs, row) == "negative" for row in rows):
        texts.append(
            "A negative subtraction says that N workers finish their share in less than 1/N of "
            "the time of one, so $T_1/N$ overstates their computation; it is reported as it "
            "comes out and gives neither a share nor a bandwidth."
        )
    if "below noise" in times:
        texts.append(
            "Where the interval covers zero the communication is below the noise, and no "
            "share is claimed."
        )
    return " ".join(texts)


def _not_measured() -> str:
    return (
        f"The direct quantities ({prose.join(list(DIRECT.values()))}) are not measured, and no "
        "number stands in for them. They would split the subtraction into exposed communication, "
        "overhead and contention; without them it is open how far the subtraction and a direct "
        "measurement disagree."
    )


def _shared(rows: list[Row]) -> str:
    shared = sorted({row["workers"] for row in rows if row.get("oversubscribed")})
    if not shared:
        return ""
    return (
        f"At N = {prose.join([str(n) for n in shared])} the workers share cores or devices "
        "(oversubscribed): $T_1/N$ assumes a device for each, so contention enters the "
        "subtraction. Whether most of it is contention is not decidable from these "
        "two times."
    )
