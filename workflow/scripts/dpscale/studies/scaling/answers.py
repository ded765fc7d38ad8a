"""Q2: the speed-up with the batch per worker fixed, and the other kind of scaling."""

from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, lacking
from dpscale.reporting.answers.q3_subtraction import lab_rows
from dpscale.reporting.answers.references import AMDAHL, GUSTAFSON
from dpscale.reporting.question import Facts, Question

VALUES = ("epoch_s", "speedup_ratio", "efficiency_frac")


def facts(inputs: Inputs) -> Facts:
    """Return the cells of weak scaling with their pace, and those of both kinds in pairs."""
    rows = inputs.rows("scaling")
    weak = [row for row in rows if row["kind"] == "weak"]
    several = [
        row | {"pace": prose.against(row.speedup_ratio, 1.0)}
        for row in weak
        if row["workers"] > 1 and row["status"] == "complete" and row["speedup_ratio"] is not None
    ]
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
    return Facts(missing, values or {"speedup_ratio": prose.nothing("ratio")}, said)


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
            strong=row.speedup_ratio, verdict=prose.compare(row.speedup_ratio, weak[base]))
        for row in strong
        if (base := (row["workers"], row["global_batch"])) in weak
    ]  # fmt: skip


def added(inputs: Inputs) -> list[Row]:
    """Return what N workers save of an epoch, and what Q3.1 finds added, at each N's least b."""
    rows = {
        row["workers"]: row
        for row in reversed(lab_rows(inputs, "communication"))
        if row["subtraction_s"] is not None
    }
    return [rows[n] | {"saved_s": rows[n]["base_epoch_s"] * (1 - 1 / n)} for n in sorted(rows)]


QUESTIONS = [
    Question(
        "Q2",
        facts,
        figures=["speedup"],
        formula=[
            r"\text{speed-up} = \frac{T_1}{T_N}, \qquad \text{efficiency} = \frac{T_1}{N \, T_N}"
        ],
        references=[AMDAHL, GUSTAFSON],
    )
]
