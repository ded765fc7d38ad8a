"""Q1: how the time of an epoch runs over the batch sizes, and the largest batch that fits."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row, lacking, named_values
from dpscale.reporting.lessons import ratio_of
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import PASZKE
from dpscale.studies.sweep.derive import MARKS, PHASES, SHOWN_FRAC, ends_of

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

LEVEL_FRAC = 0.1  # by which a phase that levels off varies from there on
# A fixed cost that is no larger a part of an iteration leaves little for larger batches to save.
SATURATED_FRAC = 0.2
ROUNDED_FRAC = 0.005  # by which two numbers of three digits may differ and look alike


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
    said: dict[str, Any] = {"rows": rows, "phases": [], **subject(inputs)}
    if not missing:
        (found,) = inputs.rows("sweep_trend")
        said |= {
            "phases": [row | {"runs": None} for row in complete],
            "complete": complete,
            "boundary": boundary,
            "busy": [
                row.utilisation_frac for row in complete if row["utilisation_frac"] is not None
            ],
            **explained(found, complete),
            "left_open": left_open(inputs, found, found["least_batch"]),
            "beyond": left_open(inputs, found, complete[-1]["per_worker_batch"]),
            "saved": inputs.rows("sweep_phases", move="saved"),
            "added": inputs.rows("sweep_phases", move="added"),
            "levels": levels(complete),
            "beside_load": beside_load(inputs, complete),
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
    first_s, bulk_s, end_s = (row["epoch_s"] for row in (marks["first"], marks["bulk"], end))
    gained = (first_s - bulk_s) / (first_s - end_s) if first_s != end_s else None
    runs = " ".join([both, *marks["bulk"].runs])
    return {
        "found": found | marks,
        "end": end,
        "growth": (found | {"runs": both}).value("growth_ratio", "count"),
        "longer": (found | {"runs": both}).value("longer_ratio", "number"),
        "by_bulk": Row(gained_frac=gained, runs=runs).value("gained_frac", "fraction"),
        "line": found if found["fixed_s"] is not None and found["fixed_s"] > 0 else None,
        "fewer": fewer_iterations(found, marks["first"], end),
        "fixed": fixed_share(found, end),
        "first_fixed": fixed_share(found, marks["first"]),
    }


def fewer_iterations(found: Row, first: Row, end: Row) -> Row | None:
    """Return how many iterations the last of two batches spares, and of what it saves their cost.

    By the line's fixed cost of an iteration; None without a line, and where nothing is saved or
    less than that: the line then lies off between these two by more than they differ.
    """
    if not found["fixed_s"] or found["fixed_s"] <= 0 or end["epoch_s"] >= first["epoch_s"]:
        return None
    before, after = (row["epoch_s"] / row["iteration_s"] for row in (first, end))  # of D samples
    iterations = before - after
    runs = list(dict.fromkeys([*first.runs, *end.runs]))
    seconds = {"fixed": iterations * found["fixed_s"], "saved": first["epoch_s"] - end["epoch_s"]}
    if seconds["fixed"] > (1 + ROUNDED_FRAC) * seconds["saved"]:
        return None
    values = {name: Value(value=value, unit="s", runs=runs) for name, value in seconds.items()}
    return Row(iterations=round(iterations), **values)


def fixed_share(found: Row, row: Row) -> Row | None:
    """Return what share of an iteration of a batch is the line's fixed cost; None without one.

    None too where the line gives more than the whole iteration: it lies off there by that.

    saturated: whether little is left that a larger batch could save.
    """
    if not found["fixed_s"] or found["fixed_s"] <= 0:
        return None
    share = found["fixed_s"] / row["iteration_s"]
    if share > 1:
        return None
    value = Value(value=share, unit="fraction", runs=row.runs)
    return Row(share=value, saturated=share <= SATURATED_FRAC)


def left_open(inputs: Inputs, found: Row, batch: int) -> Row | None:
    """Return the pair of the knee and a batch after it, where it is undecided which is faster."""
    if found["shape"] != "falls then undecided":
        return None
    batches = {"per_worker_batch": found["knee_batch"], "to_batch": batch}
    pairs = inputs.rows("sweep_pairs", **batches)
    return next((row for row in pairs if row["epoch_moves"] in ("indistinct", "unknown")), None)


def levels(rows: Sequence[Row]) -> dict[str, Any]:
    """Return which phases level off over the batch sizes, from where on, and which still fall.

    A phase levels off from the batch on after which its seconds of an epoch span no more than
    LEVEL_FRAC; `from_batch` is the first from which on all that do so have, and `varies` how far
    the longest lie above the shortest from there on, at the most. `falling` are the others that
    take less at the last batch than there by more than LEVEL_FRAC, and with no batch on the way
    more than with the one before. A phase that is nowhere a percent of the epoch is in neither.
    """
    places: dict[str, int] = {}
    seen = [phase for phase in PHASES if _is_seen(rows, phase)]
    for phase in seen:
        seconds = [row[f"{phase}_s"] for row in rows]
        own = (place for place in range(len(rows)) if _is_level(seconds[place:]))
        if (place := next(own)) < len(rows) - 1:
            places[phase] = place
    start = rows[max(places.values(), default=0)]
    further = rows[rows.index(start) :]
    falling = [
        Row(phase=phase, before=getattr(start, f"{phase}_s"), after=getattr(rows[-1], f"{phase}_s"))
        for phase in seen
        if phase not in places and _falls([row[f"{phase}_s"] for row in further])
    ]
    level = [Row(phase=phase) for phase in places]
    return {
        "from_batch": start["per_worker_batch"],
        "varies": _variation(further, list(places)),
        "level": level,
        "falling": falling,
    }


def _is_seen(rows: Sequence[Row], phase: str) -> bool:
    """Whether a phase was timed at every batch, and takes a percent of the epoch at some."""
    timed = all(row[f"{phase}_s"] is not None for row in rows)
    return timed and any(row[f"{phase}_s"] >= SHOWN_FRAC * row["epoch_s"] for row in rows)


def _falls(seconds: Sequence[float]) -> bool:
    rises = any(later > earlier for earlier, later in pairwise(seconds))
    return not rises and seconds[-1] < (1 - LEVEL_FRAC) * seconds[0]


def _variation(rows: Sequence[Row], phases: Sequence[str]) -> Value:
    """Return by how much phases vary at the most over some batch sizes."""
    seconds = [[row[f"{phase}_s"] for row in rows] for phase in phases]
    value = max(((max(own) - min(own)) / (min(own) or 1) for own in seconds), default=None)
    runs = list(dict.fromkeys(run for row in rows for run in row.runs))
    return Value(value=value, unit="fraction", runs=runs)


def _is_level(seconds: Sequence[float]) -> bool:
    return max(seconds) <= (1 + LEVEL_FRAC) * min(seconds)


def beside_load(inputs: Inputs, rows: Sequence[Row]) -> dict[str, Any]:
    """Return how many launches of these batch sizes ran beside another load, and how many ran.

    everywhere: the two numbers are those of each batch, of which all have the same; else of all
    batches together.
    """
    disturbed_runs = inputs.runs_judged("disturbed")
    counts = [(len(disturbed_runs.intersection(row.runs)), len(row.runs)) for row in rows]
    everywhere = len(set(counts)) == 1
    disturbed, launches = counts[0] if everywhere else map(sum, zip(*counts, strict=True))
    return {"everywhere": everywhere, "disturbed": disturbed, "launches": launches}


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
