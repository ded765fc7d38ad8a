"""Q1: how the time of an epoch runs over the batch sizes, and the largest batch that fits."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row, lacking, named_values
from dpscale.reporting.lessons import ratio_of
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import PASZKE
from dpscale.studies.sweep.derive import MARKS
from dpscale.vocabulary import words

PHASES = ("copy", "forward", "backward", "update")
BOUNDARY = {
    "largest_fit_batch": "count",
    "smallest_failed_batch": "count",
    "fit_confirmations": "count",
    "failure_confirmations": "count",
    "memory_budget_bytes": "bytes_binary",
}
SWEEP = {
    "epoch_s": "s",
    "samples_per_s": "samples/s",
    "peak_memory_bytes": "bytes_binary",
    "utilisation_frac": "fraction",
    "steps_per_epoch": "count",
    "update_s": "s",
}


def facts_q1(inputs: Inputs) -> Facts:
    """Return the sweep with its trend, what moves the time of an epoch, and the boundary."""
    rows, boundary = inputs.rows("sweep"), (inputs.rows("boundary") or [Row()])[0]
    probes = inputs.runs(study="sweep") + inputs.runs(study="boundary")
    boundary |= {"runs": " ".join(probes)}
    complete = [row for row in rows if row["status"] == "complete"]
    missing = lacking(rows, {"per_worker_batch": "b"}, "sweep")
    missing += [] if complete or missing else ["sweep: no batch size has a time"]
    missing += [] if boundary.get("limit") or missing else ["boundary: not found yet"]
    values = {
        name.removesuffix("_bytes"): boundary.value(name, unit) for name, unit in BOUNDARY.items()
    }
    values |= named_values(rows, "{column}_b{per_worker_batch}", SWEEP)
    found = (inputs.rows("sweep_trend") or [Row(utilisation_differs=False)])[0]
    said: dict[str, Any] = {
        "rows": rows,
        "phases": [],
        "utilisation_differs": found["utilisation_differs"],
    }
    if not missing:
        said |= {
            "phases": [row | {"runs": None} for row in complete],
            "complete": complete,
            "boundary": boundary,
            "sometimes": boundary["sometimes"],
            "busy": [
                row.utilisation_frac for row in complete if row["utilisation_frac"] is not None
            ],
            **explained(found, complete),
            **subject(inputs),
        }
    effects = [ratio_of(complete[0].epoch_s, row.epoch_s) for row in complete]
    return Facts(missing, values, said, effects=effects)


def explained(found: Row, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the trend with what an iteration takes, and what moves the time of an epoch."""
    batches = {row["per_worker_batch"]: row for row in rows}
    found = found | {mark: batches[found[f"{mark}_batch"]] for mark in MARKS}
    shape = found["shape"]
    ends = (
        found["start" if shape.startswith("falls") else "first"],
        found["best"],
        found["finish" if shape.endswith("rises") else "last"],
    )
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
        "longer": Value(
            value=end["epoch_s"] / first["epoch_s"] * growth, unit="number", runs=behind.split()
        ),
        "saved": moved(first, best),
        "gained": moved(last, best),
        "steps": [
            Row(saved_frac=1 - row["epoch_s"] / before["epoch_s"], runs=_runs(before, row))
            for before, row in pairwise(rows)
        ],
    }


def moved(row: Row, other: Row) -> list[Row]:
    """Return the phases that take longer in a row than in another, the most seconds first."""
    found = [
        Row(more_s=row[f"{phase}_s"] - other[f"{phase}_s"], phase=phase, runs=_runs(row, other))
        for phase in PHASES
        if row[f"{phase}_s"] is not None and other[f"{phase}_s"] is not None
    ]
    longer = [one for one in found if one["more_s"] > 0]
    return sorted(longer, key=lambda one: (one["more_s"], one["phase"]), reverse=True)


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
        facts_q1,
        formula=[r"T = D \, \frac{\sum_i t_i}{\sum_i n_i}, \qquad \text{throughput} = \frac{D}{T}"],
        references=[PASZKE],
        vocabulary=words("phase", PHASES),
    )
]
