"""S2's tables: every arm, the elbows, and the published results beside them."""

from dpscale.reporting.answer import Cell, Column, Table
from dpscale.reporting.answers import s2_verdicts
from dpscale.reporting.answers.inputs import Inputs, Row
from dpscale.reporting.answers.measured_table import measured_table

ARMS = [
    Column(key="global_batch", title="Global batch kn", unit="setting"),
    Column(key="way", title="Rule"),
    Column(key="warmup", title="Warm-up"),
    Column(key="gamma", title="Last gain"),
    Column(key="lr", title="Rate", unit="number"),
    Column(key="steps", title="Updates", unit="count"),
    Column(key="train_loss", title="Training loss", unit="number"),
    Column(key="validation_error_frac", title="Validation error", unit="fraction"),
    Column(key="test_error_frac", title="Test error", unit="fraction"),
    Column(key="difference_frac", title="Less reference", unit="fraction"),
    Column(key="standing", title="Reference error"),
]
ELBOWS = [
    Column(key="rule", title="Rule"),
    Column(key="reference_batch", title="Reference kn", unit="setting"),
    Column(key="elbow_batch", title="Kept up to kn", unit="setting"),
    Column(key="lost_batch", title="Lost from kn", unit="setting"),
    Column(key="largest_batch", title="Largest kn", unit="setting"),
]


def tables(inputs: Inputs, rows: list[Row]) -> list[Table]:
    """Return the tables of the answer; the first one has every run of the study."""
    if not rows:
        return []
    arms = measured_table(
        inputs,
        "Every way to train, after its last epoch: medians over the seeds. Of rates tried at one "
        "batch, the one with the least validation error is marked as chosen.",
        ARMS,
        sorted(rows, key=lambda row: row["global_batch"]),
        _words,
    )
    elbows = [_without_nulls(row) for row in inputs.rows("lr_scaling_elbow")]
    made = [arms]
    if elbows:
        caption = "Up to which batch a rule with gradual warm-up keeps the reference's error."
        made.append(measured_table(inputs, caption, ELBOWS, elbows))
    return made + s2_verdicts.tables(inputs)


def _words(row: Row) -> dict[str, Cell]:
    way = "LARS" if row["optimizer"] == "lars" else row["rule"]
    if row["role"] == "search":
        way = f"{way}, {'chosen' if row.get('chosen') else 'tried'}"
    standing = "the reference" if row.get("reference") else row.get("kept") or "no interval"
    return {
        "way": way,
        "gamma": "zero" if row.get("zero_gamma") else "one",
        "standing": "lost, diverged" if row["status"] == "diverged" else standing,
    }


def _without_nulls(row: Row) -> Row:
    """The row of an elbow whose nulls say that no batch was found."""
    return row | {"status": "none found" if row["status"] == "complete" else row["status"]}
