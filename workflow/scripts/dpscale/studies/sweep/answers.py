"""Q1: how the time of an epoch runs over the batch sizes, and the largest batch that fits."""

from collections.abc import Sequence
from typing import Any

from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row, lacking, named_values
from dpscale.reporting.lessons import ratio_of
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import PASZKE
from dpscale.studies.sweep.derive import MARKS, ends_of

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
    "iteration_s": "s",
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
        **subject(inputs),
    }
    if not missing:
        said |= {
            "phases": [row | {"runs": None} for row in complete],
            "complete": complete,
            "boundary": boundary,
            "busy": [
                row.utilisation_frac for row in complete if row["utilisation_frac"] is not None
            ],
            **explained(found, complete),
            "saved": inputs.rows("sweep_phases", move="saved"),
            "added": inputs.rows("sweep_phases", move="added"),
        }
    effects = [ratio_of(complete[0].epoch_s, row.epoch_s) for row in complete]
    return Facts(missing, values, said, effects=effects)


def explained(found: Row, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the trend with the rows of the batches that it speaks of."""
    batches = {row["per_worker_batch"]: row for row in rows}
    marks = {mark: batches[found[f"{mark}_batch"]] for mark in MARKS}
    ends = (batches[batch] for batch in ends_of(found))
    marks |= dict(zip(("first", "best", "last"), ends, strict=True))
    end = marks["last" if marks["best"] is marks["first"] else "best"]
    both = " ".join([*marks["first"].runs, *end.runs])
    return {
        "found": found | marks,
        "end": end,
        "growth": (found | {"runs": both}).value("growth_ratio", "count"),
        "longer": (found | {"runs": both}).value("longer_ratio", "number"),
    }


def subject(inputs: Inputs) -> dict[str, Any]:
    """Return the complete runs of the sweep, what they trained, and on how many samples."""
    runs = inputs.tidy_rows("runs", study="sweep", status="complete")
    samples = sorted({run["train_samples"] for run in runs if run["train_samples"]})
    return {
        "trained": [run | {"runs": run["run"]} for run in runs[:1] if run["parameters"]],
        "samples": [Value(value=number, unit="count") for number in samples],
        "repeated": any(run["repeated_data"] for run in runs),
    }


QUESTIONS = [
    Question(
        "Q1",
        facts_q1,
        formula=[r"T = D \, \frac{\sum_i t_i}{\sum_i n_i}, \qquad \text{throughput} = \frac{D}{T}"],
        references=[PASZKE],
    )
]
