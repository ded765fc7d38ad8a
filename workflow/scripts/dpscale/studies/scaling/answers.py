"""Q2: the speed-up with the batch per worker fixed, and the other kind of scaling."""

import operator

from dpscale.reporting import intervals
from dpscale.reporting.inputs import Inputs, Row, lacking
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import AMDAHL, GUSTAFSON
from dpscale.reporting.words import by

VALUES = ("epoch_s", "speedup_ratio", "efficiency_frac")


def facts(inputs: Inputs) -> Facts:
    """Return the cells of weak scaling with their pace, and those of both kinds in pairs."""
    rows = inputs.rows("scaling")
    weak = [_judged(row) for row in rows if row["kind"] == "weak"]
    several = [row for row in weak if row["pace"] not in ("base", None)]
    missing = lacking(rows, {"workers": "N", "per_worker_batch": "b"}, "scaling")
    missing += [] if several or missing else ["scaling: no cell with several workers has a time"]
    values = {
        f"{row['kind']}_{column}_n{row['workers']}_b{row['per_worker_batch']}": getattr(row, column)
        for row in rows
        for column in VALUES
    }
    said = {"rows": rows, "weak": weak, "pairs": []}
    if not missing:
        said |= {"several": several, "pairs": pairs(rows), "added": added(inputs)}
    return Facts(missing, values or {"speedup_ratio": intervals.nothing("ratio")}, said)


def _judged(row: Row) -> Row:
    """A cell with its pace: above, below or not told apart from one worker's, which is the base."""
    timed = row["status"] == "complete" and row["speedup_ratio"] is not None
    pace = intervals.against(row.speedup_ratio, 1.0) if timed else None
    return row | {"pace": "base" if row["workers"] == 1 else pace, "speedup": row.speedup_ratio}


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
    )
]
