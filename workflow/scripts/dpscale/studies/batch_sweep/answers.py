"""Q1: how the time of an epoch runs over the batch sizes, and the largest batch that fits."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from dpscale.reporting import intervals
from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row, lacking
from dpscale.reporting.question import Effect, Facts, Question, doublings
from dpscale.reporting.references import PASZKE

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
        "rows": rows, "phases": [], "outcomes": {str(row["status"]): row["status"].replace("_", " ")
                                                 for row in rows},
    }  # fmt: skip
    if not missing:
        said |= {"phases": [row | {"runs": None} for row in complete], "complete": complete,
                 "boundary": bounded(boundary), **explained(trend(complete), complete),
                 **subject(inputs)}  # fmt: skip
    return Facts(missing, values, said)


def trend(rows: Sequence[Row]) -> Row:
    """Return how the epoch's time changes over complete rows, in ascending batch size.

    `best` is the fastest batch, `knee` the smallest one whose interval meets that of the fastest.
    """
    first, last = rows[0], rows[-1]
    best = min(rows, key=lambda row: row["epoch_s"])
    verdicts = ["indistinct" if row is best else intervals.compare(row.epoch_s, best.epoch_s)
                for row in rows]  # fmt: skip
    knee = rows[verdicts.index("indistinct")]
    if len(rows) < 2:
        shape = "single"
    elif "unknown" in verdicts:
        shape = "unknown"
    elif knee is first:
        shape = "rises" if verdicts[-1] == "above" else "same"
    elif verdicts[-1] == "above":
        shape = "falls then rises"
    else:
        shape = "falls" if knee is last else "falls then flat"
    return Row(shape=shape, first=first, knee=knee, best=best, last=last)


def explained(found: Row, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the trend with what an iteration takes, and what moves the time of an epoch."""
    first, best, last = (
        row | {"iteration_s": row["epoch_s"] / row["steps_per_epoch"]}
        for row in (found["first"], found["best"], found["last"])
    )
    end = last if best == first else best
    growth = end["per_worker_batch"] / first["per_worker_batch"]
    ends = _runs(first, end)
    return {
        "one_process": all(len(row.runs) == 1 for row in rows),
        "found": found | {"first": first, "best": best, "last": last},
        "end": end,
        "growth": Value(value=growth, unit="number"),
        "longer": Value(value=end["epoch_s"] / first["epoch_s"] * growth, unit="number",
                        runs=ends.split()),
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


def effect(inputs: Inputs, _values: Mapping[str, Value]) -> Effect | None:
    """Return how much less time an epoch takes at the fastest batch than at the first."""
    found = trend([row for row in inputs.rows("sweep") if row["status"] == "complete"])
    if not found["shape"].startswith("falls"):
        return None
    first, best = found["first"], found["best"]
    ratio = Value(
        value=first["epoch_s"] / best["epoch_s"], unit="number", runs=[*first.runs, *best.runs]
    )
    return Effect(
        doublings(first["epoch_s"], best["epoch_s"]), {"first": first, "best": best, "ratio": ratio}
    )


QUESTIONS = [
    Question(
        "Q1",
        facts,
        formula=[
            r"T = D \, \frac{\sum_i t_i}{\sum_i n_i}, \qquad \text{throughput} = \frac{D}{T}",
        ],
        references=[PASZKE],
        subject="speed",
        effect=effect,
    )
]
