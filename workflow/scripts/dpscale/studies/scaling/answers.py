"""Q2: the speed-up with the batch per worker fixed, and the other kind of scaling."""

import operator
from typing import Any, Literal

from dpscale.reporting import intervals
from dpscale.reporting.inputs import Inputs, Row, lacking
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import AMDAHL, GUSTAFSON
from dpscale.reporting.words import by
from dpscale.vocabulary import Verdict, words

Lesson = Verdict | Literal["sizes", "cells", "mixed"]
VALUES = ("epoch_s", "speedup_ratio", "efficiency_frac")


def facts(inputs: Inputs) -> Facts:
    """Return the cells of weak scaling with their pace, and those of both kinds in pairs."""
    rows = inputs.rows("scaling")
    rows = [row | _paced(row) for row in rows]
    weak = [row for row in rows if row["kind"] == "weak"]
    several = [row for row in weak if "pace" in row]
    missing = lacking(rows, {"workers": "N", "per_worker_batch": "b"}, "scaling")
    missing += [] if several or missing else ["scaling: no cell with several workers has a time"]
    values = {
        f"{row['kind']}_{column}_n{row['workers']}_b{row['per_worker_batch']}": getattr(row, column)
        for row in rows
        for column in VALUES
    }
    both = pairs(rows)
    every = [row for row in rows if row["workers"] > 1 or row["kind"] == "weak"]
    said: dict[str, Any] = {
        "rows": rows,
        "weak": weak,
        "every": every,
        "cells": side_by_side(weak, both),
    }
    if not missing:
        said |= {"several": several, "pairs": both, "added": added(inputs), **lesson(several)}
    return Facts(missing, values or {"speedup_ratio": intervals.nothing("ratio")}, said)


def _paced(row: Row) -> dict[str, object]:
    """How fast several workers are beside one; nothing for one, or without a time."""
    if row["workers"] == 1 or row["status"] != "complete" or row["speedup_ratio"] is None:
        return {}
    return {"pace": intervals.against(row.speedup_ratio, 1.0), "ratio": row.speedup_ratio}


def lesson(several: list[Row]) -> dict[str, object]:
    """Return where several workers are faster than one, the cells to show for it, and the trend.

    lesson: the pace of all cells; `sizes` where it is the same b at each N that are faster, `cells`
    where it is not, `mixed` where none is. rising: at each N the largest b has the higher speed-up.
    """
    paces = {row["pace"] for row in several}
    faster = [row for row in several if row["pace"] == "above"]
    by_workers = [own for _, own in by(several, "workers")]
    sizes = {
        tuple(row["per_worker_batch"] for row in own if row["pace"] == "above")
        for own in by_workers
    }
    kind = "sizes" if len(sizes) == 1 else "cells"
    if len(paces) == 1:
        kind = next(iter(paces))
    rises = [intervals.compare(own[-1]["ratio"], own[0]["ratio"]) for own in by_workers if own[1:]]
    return {
        "lesson": kind if faster or len(paces) == 1 else "mixed",
        "shown": faster or several,
        "rising": set(rises) == {"above"},
    }


def side_by_side(weak: list[Row], both: list[Row]) -> list[Row]:
    """Return each cell of several workers with its base's time, and strong scaling beside it."""
    bases = {row["per_worker_batch"]: row for row in weak if row["workers"] == 1}
    strong = {(row["workers"], row["base_batch"]): row for row in both}
    return [
        row
        | {"base_epoch_s": bases[b].epoch_s if (b := row["per_worker_batch"]) in bases else None}
        | {name: strong.get((row["workers"], b), Row()).get(name) for name in ("strong", "verdict")}
        for row in weak
        if row["workers"] > 1
    ]


def pairs(rows: list[Row]) -> list[Row]:
    """Return the cells of strong scaling beside those of weak on the same base, and a verdict."""
    usable = [row for row in rows if row["workers"] > 1 and row["speedup_ratio"] is not None]
    weak = {
        (row["workers"], row["per_worker_batch"]): row.speedup_ratio
        for row in usable
        if row["kind"] == "weak"
    }
    strong = sorted(
        (row for row in usable if row["kind"] == "strong"),
        key=lambda row: (row["workers"], row["global_batch"]),
    )
    return [
        Row(workers=row["workers"], base_batch=row["global_batch"], weak=weak[base],
            strong=row.speedup_ratio, verdict=intervals.compare(row.speedup_ratio, weak[base]))
        for row in strong
        if (base := (row["workers"], row["global_batch"])) in weak
    ]  # fmt: skip


def added(inputs: Inputs) -> list[Row]:
    """Return what N workers save of an epoch, and what Q3.1 finds added, at each N's least b."""
    cell = operator.itemgetter("workers", "per_worker_batch")
    weak = {cell(row) for row in inputs.rows("scaling", kind="weak") if row["workers"] > 1}
    rows = [row for row in inputs.rows("communication") if row["subtraction_s"] is not None]
    several = by(sorted((row for row in rows if cell(row) in weak), key=cell), "workers")
    least = [own[0] for _, own in several]
    return [row | {"saved_s": row["base_epoch_s"] * (1 - 1 / row["workers"])} for row in least]


QUESTIONS = [
    Question(
        "Q2",
        facts,
        formula=[
            r"\text{speed-up} = \frac{T_1}{T_N}, \qquad \text{efficiency} = \frac{T_1}{N \, T_N}"
        ],
        references=[AMDAHL, GUSTAFSON],
        vocabulary=words("pace verdict") | words("lesson", Lesson),
    )
]
