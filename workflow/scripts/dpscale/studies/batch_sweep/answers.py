"""Q1: how the time of an epoch runs over the batch sizes, and the largest batch that fits."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

from dpscale.reporting import intervals
from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row, lacking
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import PASZKE
from dpscale.vocabulary import words

Shape = Literal["single", "unknown", "same", "mixed", "rises", "falls", "falls then flat",
                "falls then rises"]  # fmt: skip
PHASES = ("copy", "forward", "backward", "update")
BOUNDARY = {
    "largest_fit_batch": "count", "smallest_failed_batch": "count", "fit_confirmations": "count",
    "failure_confirmations": "count", "memory_budget_bytes": "bytes_binary",
}  # fmt: skip
SWEEP = {
    "epoch_s": "s", "samples_per_s": "samples/s", "peak_memory_bytes": "bytes_binary",
    "utilisation_frac": "fraction", "steps_per_epoch": "count", "update_s": "s",
}  # fmt: skip


def facts(inputs: Inputs) -> Facts:
    """Return the sweep with its trend, what moves the time of an epoch, and the boundary."""
    rows, boundary = inputs.rows("sweep"), (inputs.rows("boundary") or [Row()])[0]
    probes = inputs.runs(study="sweep") + inputs.runs(study="boundary")
    boundary |= {"runs": " ".join(probes)}
    complete = [row for row in rows if row["status"] == "complete"]
    missing = lacking(rows, {"per_worker_batch": "b"}, "sweep")
    missing += [] if complete or missing else ["sweep: no batch size has a time"]
    missing += [] if boundary.get("limit") or missing else ["boundary: not found yet"]
    values = {name.removesuffix("_bytes"): boundary.value(name, unit)
              for name, unit in BOUNDARY.items()}  # fmt: skip
    values |= {f"{column}_b{row['per_worker_batch']}": row.value(column, unit)
               for row in rows for column, unit in SWEEP.items()}  # fmt: skip
    said: dict[str, Any] = {
        "rows": rows, "phases": [], "utilisation_differs": differs(complete),
    }  # fmt: skip
    if not missing:
        said |= {"phases": [row | {"runs": None} for row in complete], "complete": complete,
                 "boundary": bounded(boundary), "sometimes": sometimes(boundary),
                 "busy": [row.utilisation_frac for row in complete
                          if row["utilisation_frac"] is not None],
                 **explained(trend(complete), complete), **subject(inputs)}  # fmt: skip
    return Facts(missing, values, said)


def trend(rows: Sequence[Row]) -> Row:
    """Return how the epoch's time changes over complete rows, in ascending batch size.

    Of every two batch sizes, not of the ends alone: a larger one that takes less time is a fall,
    one that takes more a rise. `best` is the batch whose interval ends lowest, so that it is told
    apart from every one that is told apart from any faster; `start` and `finish` are the first and
    the last that it is told apart from, `knee` the one from which on it is told apart from none;
    `last_step` sets the last batch against the one before.
    """
    first, last = rows[0], rows[-1]
    known = [row for row in rows if row.epoch_s.high is not None]
    best = min(known or rows, key=lambda row: row.epoch_s.high or row["epoch_s"])
    slower = [row for row in rows if _against(row, best) == "above"]
    start, finish = (slower[0], slower[-1]) if slower else (first, last)
    knee = rows[min(rows.index(finish) + 1, rows.index(best))] if slower else first
    by_time = sorted(rows, key=lambda row: row["epoch_s"])
    return Row(
        first=first, start=start, knee=knee, best=best, finish=finish, last=last,
        least=by_time[0], slowest=by_time[-1], shape=_shape(rows, best, knee),
        last_step=_against(last, rows[-2]) if rows[1:] else None,
    )  # fmt: skip


def _against(row: Row, other: Row) -> str:
    return intervals.compare(row.epoch_s, other.epoch_s)


def _shape(rows: Sequence[Row], best: Row, knee: Row) -> Shape:
    times, turn = [row.epoch_s for row in rows], rows.index(best)
    moves = intervals.moves(times)
    if len(rows) < 2:
        return "single"
    if "unknown" in moves:
        return "unknown"
    if moves == {"above", "below"}:
        before, after = intervals.moves(times[: turn + 1]), intervals.moves(times[turn:])
        return "falls then rises" if (before, after) == ({"below"}, {"above"}) else "mixed"
    if moves == {"below"}:
        return "falls" if knee is rows[-1] else "falls then flat"
    return "rises" if moves else "same"


def explained(found: Row, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the trend with what an iteration takes, and what moves the time of an epoch."""
    shape = found["shape"]
    ends = (
        found["start" if shape.startswith("falls") else "first"], found["best"],
        found["finish" if shape.endswith("rises") else "last"],
    )  # fmt: skip
    first, best, last = (
        row | {"iteration_s": row["epoch_s"] / row["steps_per_epoch"]} for row in ends
    )
    end = last if best == first else best
    growth = end["per_worker_batch"] / first["per_worker_batch"]
    behind = _runs(first, end)
    return {
        "found": found | {"first": first, "best": best, "last": last},
        "end": end,
        "growth": Value(value=growth, unit="number"),
        "longer": Value(value=end["epoch_s"] / first["epoch_s"] * growth, unit="number",
                        runs=behind.split()),
        "saved": moved(first, best),
        "gained": moved(last, best),
        "steps": [Row(saved_frac=1 - row["epoch_s"] / before["epoch_s"], runs=_runs(before, row))
                  for before, row in pairwise(rows)],
    }  # fmt: skip


def moved(row: Row, other: Row) -> list[Row]:
    """Return the phases that take longer in a row than in another, the most seconds first."""
    found = [
        Row(more_s=row[f"{phase}_s"] - other[f"{phase}_s"], phase=phase, runs=_runs(row, other))
        for phase in PHASES
        if row[f"{phase}_s"] is not None and other[f"{phase}_s"] is not None
    ]
    longer = [one for one in found if one["more_s"] > 0]
    return sorted(longer, key=lambda one: (one["more_s"], one["phase"]), reverse=True)


def bounded(boundary: Row) -> Row:
    """Return the boundary with the gap between the batch that fits and the one that fails."""
    largest, failed = boundary["largest_fit_batch"], boundary["smallest_failed_batch"]
    return boundary | {"gap_frac": failed / largest - 1 if failed and largest else None}


def sometimes(boundary: Row) -> bool:
    """Return whether a batch below the smallest that always fails failed in some process."""
    return bool((boundary["first_failure_batch"] or 0) < (boundary["smallest_failed_batch"] or 0))


def differs(rows: Sequence[Row]) -> bool:
    """Return whether the device is busier at some batch sizes than at others, by a percent."""
    shares = [row["utilisation_frac"] for row in rows if row["utilisation_frac"] is not None]
    return bool(shares) and max(shares) - min(shares) >= 0.01


def subject(inputs: Inputs) -> dict[str, Any]:
    """Return the complete runs of the sweep, what they trained, and on how many samples."""
    runs = inputs.tidy_rows("runs", study="sweep", status="complete")
    samples = sorted({run["train_samples"] for run in runs if run["train_samples"]})
    return {
        "trained": [run | {"runs": run["run"]} for run in runs[:1] if run["parameters"]],
        "samples": [Value(value=number, unit="count") for number in samples],
        "repeated": any(run["repeated_data"] for run in runs),
    }


def _runs(*rows: Row) -> str:
    return " ".join(run for row in rows for run in row.runs)


QUESTIONS = [
    Question(
        "Q1",
        facts,
        formula=[
            r"T = D \, \frac{\sum_i t_i}{\sum_i n_i}, \qquad \text{throughput} = \frac{D}{T}",
        ],
        references=[PASZKE],
        vocabulary=words("shape", Shape) | words("phase", PHASES),
    )
]
