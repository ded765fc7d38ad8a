"""Q2: the speed-up with the batch per worker fixed, and the other kind of scaling."""

import operator
import re
from collections import Counter
from typing import Any

from dpscale.derive.formulas import iterations_per_epoch, speedup
from dpscale.derive.verdicts import of_row
from dpscale.reporting.answer import Value, nothing
from dpscale.reporting.inputs import PER_CELL, Inputs, Row, lacking, named_values
from dpscale.reporting.lessons import exactly, ratio_of
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import AMDAHL, GUSTAFSON, JENNISON, POCOCK
from dpscale.studies.scaling.answers.computation import pace_elsewhere
from dpscale.studies.scaling.derive.losses import LOSSES
from dpscale.studies.scaling.derive.speedup import paced
from dpscale.units import MOST_DECIMALS, format_value, group_digits
from dpscale.vocabulary import words

VALUES = ("epoch_s", "speedup_ratio", "efficiency_frac")
_NUMBER = re.compile(r"[\d.\u202f]+")


def facts_q2(inputs: Inputs) -> Facts:
    """Return the cells of weak scaling, those of both kinds in pairs, and what several gain."""
    rows = [row | {"of_medians_ratio": of_medians(row)} for row in inputs.rows("scaling")]
    weak = [row for row in rows if row["kind"] == "weak"]
    looks = inputs.rows("looks")
    several = [row for row in weak if paced(row) and row["status"] == "complete"]
    missing = lacking(rows, {"workers": "N", "per_worker_batch": "b"}, "scaling")
    missing += [] if several or missing else ["scaling: no cell with several workers has a time"]
    values = named_values(rows, "{kind}_" + PER_CELL, VALUES)
    strong = [row for row in rows if row["to_weak"]]
    said: dict[str, Any] = {
        "rows": rows,
        "looks": looks,
        "weak": weak,
        "every": [row for row in rows if row["workers"] > 1 or row["kind"] == "weak"],
        "cells": side_by_side(weak, strong),
        "samples": inputs.train_samples(name for row in weak for name in row.runs),
        # A cell may be of both kinds of scaling.
        "disturbed": inputs.disturbed(
            {_cell(row): row for row in rows if row["launches"]}.values()
        ),
        "differ": any(row.of_medians_ratio.bare != row.speedup_ratio.bare for row in rows),
        "lessons": [] if missing else lessons(inputs),
        "losses": [row for row in inputs.rows("speedup_losses") if row["parts_s"] is not None],
    }
    if not missing:
        said |= {
            "several": several,
            "behind_fewest": [
                row
                for row in several
                if row["beside_fewest"] == "below"
                and row["workers"] == said["lessons"][0]["workers"]
            ],
            "strong": next(iter(inputs.rows("strong_lesson")), None),
            "strong_cells": by_verdict(strong),
            "strong_won": [
                row | {"speedup": told_from_one(row.speedup_ratio)}
                for row in strong
                if row["pace"] == "above"
            ],
            "strong_decided": any(row["pace"] != "unknown" for row in strong),
            "fastest": max(
                (row for row in said["lessons"] if row["loss"] and row["best_ratio"]),
                key=operator.itemgetter("best_ratio"),
                default=None,
            ),
            "unsteady": unsteady_speedup(inputs, said["lessons"][0]),
        }
    references = [POCOCK, JENNISON] if looks else []
    values = values or {"speedup_ratio": nothing("ratio")}
    gained = [row.best_ratio for row in said["lessons"]]
    lost = [ratio_of(exactly(row["workers"]), row.best_ratio) for row in said["lessons"]]
    return Facts(missing, values, said, references=references, effects=gained + lost)


_cell = operator.itemgetter("nodes", "workers", "per_worker_batch")


def of_medians(row: Row) -> Value:
    """Return T_1/T_N of the medians that a row of the table prints, without an interval."""
    base_s, epoch_s = row["base_epoch_s"], row["epoch_s"]
    ratio = speedup(base_s, epoch_s) if base_s and epoch_s else None
    status = None if ratio else row.speedup_ratio.status or "not measured"
    return Value(value=ratio, unit="ratio", n=row.speedup_ratio.n, runs=row.runs, status=status)


def lessons(inputs: Inputs) -> list[Row]:
    """Return what the most and the fewest of several workers gain; loss: what they add there.

    faster_at, slower_at: each b that by itself is faster than one worker, or slower, whatever all
    together show. base_step: of one worker, loading included; None where nothing tells it.
    reaches, reaches_within: the best speed-up as text, without its interval and with it.
    """
    cell = operator.itemgetter("workers", "per_worker_batch")
    rows = inputs.rows("speedup_lesson")[::-1]
    rows = rows[:1] + rows[1:][-1:]
    own = [cell(row) for row in rows]
    found = {
        cell(row): row
        | {"parts": largest_parts(row), "apart": row.parts_s.bare != row.added_s.bare}
        for row in inputs.rows("speedup_losses")
        if cell(row) in own
    }
    cells = [row for row in inputs.rows("scaling", kind="weak") if row["pace"]]
    return [
        row
        | {
            "loss": (loss := found.get(cell(row))),
            "base_step": step_of_one(loss, inputs) if loss else None,
            "faster_at": sizes(cells, row["workers"], "above"),
            "slower_at": sizes(cells, row["workers"], "below"),
            "reaches": told_from_one(row.best_ratio.without_interval()),
            "reaches_within": told_from_one(row.best_ratio),
        }
        for row in rows
    ]


def step_of_one(loss: Row, inputs: Inputs) -> Value | None:
    """Return the seconds of a step of the one worker beside whom a loss is; None without a time."""
    epoch_s, samples = loss["base_epoch_s"], inputs.train_samples(loss.runs)
    if epoch_s is None or samples is None:
        return None
    step_s = epoch_s / iterations_per_epoch(samples, 1, loss["per_worker_batch"])
    return Value(value=step_s, unit="s", runs=loss.base_epoch_s.runs)


def sizes(cells: list[Row], workers: int, pace: str) -> list[int]:
    """Return each b at which the speed-up of these workers lies so of 1."""
    own = [row for row in cells if (row["workers"], row["pace"]) == (workers, pace)]
    return sorted({row["per_worker_batch"] for row in own})


def told_from_one(ratio: Value) -> str:
    """Return a ratio and its interval as text, in which only what is 1 prints as 1.

    What rounding would make 1 has more digits, as in `1.43× (1.004 to 1.81)`: a reader sees on
    which side of 1 it lies.
    """
    low, high, numbers = ratio.low, ratio.high, iter((ratio.value, ratio.low, ratio.high))
    text = format_value(ratio.value, ratio.unit, low=low, high=high, status=ratio.status)
    if ratio.value is None:
        return ratio.written(text)
    return ratio.written(_NUMBER.sub(lambda found: _unrounded(found[0], next(numbers)), text))


def _unrounded(text: str, number: float | None) -> str:
    """The text of a number; of one that is not 1 and prints as 1 with more digits."""
    places = len(text.partition(".")[2])
    while number not in (None, 1) and round(number, places) == 1 and places < MOST_DECIMALS:
        places += 1
        text = group_digits(number, places)
    return text


def unsteady_speedup(inputs: Inputs, row: Row) -> Row | None:
    """Return what a speed-up would be by one worker's pace elsewhere; None where that is alike."""
    pace = pace_elsewhere(inputs, row["per_worker_batch"])
    if pace is None or row.best_ratio.value is None:
        return None
    runs = list(dict.fromkeys([*row.best_ratio.runs, *pace.runs]))
    return pace | {
        "workers": row["workers"],
        "ratio": row.best_ratio,
        "pace": Value(value=pace["factor"], unit="ratio", runs=pace.runs),
        "would_be": Value(value=row.best_ratio.value * pace["factor"], unit="ratio", runs=runs),
    }


def largest_parts(loss: Row) -> list[Row]:
    """Return the two largest parts of what is added, of those that are above zero."""
    above = [name for name in LOSSES if of_row(loss, f"{name}_s") == "above"]
    found = [Row(part=name, seconds=getattr(loss, f"{name}_s")) for name in above]
    return sorted(found, key=lambda row: -row["seconds"].value)[:2]


def by_verdict(pairs: list[Row]) -> list[Row]:
    """Return in how many cells strong scaling has each verdict, and one of them, most first."""
    counts = Counter(row["to_weak"] for row in pairs)
    first = {row["to_weak"]: row for row in reversed(pairs)}
    return [first[verdict] | {"cells": cells} for verdict, cells in counts.most_common()]


def side_by_side(weak: list[Row], pairs: list[Row]) -> list[Row]:
    """Return each cell of several workers with its base's time, and strong scaling beside it."""
    strong = {(row["workers"], row["global_batch"]): row for row in pairs}
    cells = []
    for row in (one for one in weak if one["workers"] > 1):
        pair = strong.get((row["workers"], row["per_worker_batch"]))
        cells.append(
            row
            | {
                "strong": pair.speedup_ratio if pair else None,
                "verdict": pair["to_weak"] if pair else None,
            }
        )
    return cells


QUESTION = Question(
    "Q2",
    facts_q2,
    formula=[r"\text{speed-up} = \frac{T_1}{T_N}, \qquad \text{efficiency} = \frac{T_1}{N \, T_N}"],
    references=[AMDAHL, GUSTAFSON],
    vocabulary={"verdict": "scaling.to_weak", "place": "one_worker.place"}
    | words("cause part", LOSSES),
)
