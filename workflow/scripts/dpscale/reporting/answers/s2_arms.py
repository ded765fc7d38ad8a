"""S2's rows: the arms of the rate study by their settings, and their names in prose."""

from collections.abc import Sequence

from dpscale.reporting.answer import Value
from dpscale.reporting.answers.inputs import Inputs, Row, measured

STUDY = "lr_scaling"
WARMUPS = {
    "none": "no warm-up", "constant": "constant warm-up", "gradual": "gradual warm-up",
}  # fmt: skip
RULES = {"linear": "the linear rule", "sqrt": "the square-root rule", "fixed": "the fixed rate"}


def rows(inputs: Inputs, **cell: object) -> list[Row]:
    """Return the rows of the study with these settings."""
    return inputs.rows("lr_scaling", **cell)


def reference(inputs: Inputs) -> Row | None:
    """Return the row of the reference batch."""
    return next((row for row in rows(inputs) if row.get("reference")), None)


def large_batch(inputs: Inputs) -> int | None:
    """Return the batch at which the ways to train are compared."""
    return next((row["global_batch"] for row in rows(inputs) if row.get("large")), None)


def at_large(inputs: Inputs, *, zero_gamma: bool) -> list[Row]:
    """Return the arms of plain SGD at the large batch."""
    found = rows(inputs, global_batch=large_batch(inputs), role="arm", optimizer="sgd")
    return [row for row in found if bool(row.get("zero_gamma")) is zero_gamma]


def gradual(inputs: Inputs, rule: str, batch: int | None = None) -> list[Row]:
    """Return the arms of a rule with gradual warm-up and zero gamma, by batch."""
    found = rows(inputs, rule=rule, role="arm", optimizer="sgd", warmup="gradual")
    found = [row for row in found if row.get("zero_gamma") and batch in (None, row["global_batch"])]
    return sorted(found, key=lambda row: row["global_batch"])


def lars(inputs: Inputs) -> Row | None:
    """Return the LARS run whose rate was chosen on validation data, or the only one."""
    found = rows(inputs, optimizer="lars")
    chosen = [row for row in found if row.get("chosen")]
    if len(found) == 1:
        return found[0]
    return chosen[0] if chosen else None


def name(row: Row) -> str:
    """Return the name of a way to train at one batch, gains aside."""
    if row["rule"] == "linear":
        return WARMUPS[row["warmup"]]
    return RULES[row["rule"]]


def error(inputs: Inputs, row: Row, column: str = "test_error_frac") -> Value:
    """Return an error of a row with its interval."""
    runs = [run for run in str(row.get("runs") or "").split() if run]
    return measured(row, column, "fraction", runs, row.get("seeds"))


def of_standing(found: Sequence[Row], standing: str) -> list[Row]:
    """Return the rows that kept or lost the reference's error; a diverged seed has lost it."""
    return [
        row
        for row in found
        if row.get("kept") == standing or (standing == "lost" and row["status"] == "diverged")
    ]
