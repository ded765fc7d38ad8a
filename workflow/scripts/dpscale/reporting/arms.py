"""The arms of a training study, as rows of `accuracy`: one for each finished epoch of an arm.

`row.train_loss`, `row.train_accuracy_frac` and `row.test_accuracy_frac` are values over the seeds;
the other columns are those of the table.
"""

from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import RESULTS, Inputs, Row

MEASURES = {
    "train_loss": "number",
    "train_accuracy_frac": "fraction",
    "test_accuracy_frac": "fraction",
}
DIFFERENCES = {  # of two arms: its column and its unit, by the measure
    "train_loss": ("train_loss_difference", "number"),
    "train_accuracy_frac": ("train_accuracy_difference_frac", "points"),
    "test_accuracy_frac": ("test_accuracy_difference_frac", "points"),
}
SIDES = {name: f"{name.removesuffix('_frac')}_side" for name in MEASURES}  # of its difference


def history(inputs: Inputs, study: str, arm: str) -> list[Row]:
    """Return an arm's finished epochs in ascending order; none when it has no such epoch."""
    rows = inputs.rows("accuracy", study=study, arm=arm)
    finished = [row for row in rows if row["epoch"] is not None and row["train_loss"] is not None]
    return [_over_seeds(row) for row in sorted(finished, key=lambda row: row["epoch"])]


def _over_seeds(row: Row) -> Row:
    """The row with its measures as values.

    Without an interval where a seed diverged: the seeds left are no sample.
    """
    values = {name: row.value(name, unit) for name, unit in MEASURES.items()}
    if not whole(row):
        values = {name: value.without_interval() for name, value in values.items()}
    return row | values


def apart(row: Row | None) -> dict[str, Value]:
    """Return a row of differences as values by measure; without a row they are not measured."""
    found = row or Row(status="not run yet")
    return {name: found.value(*column) for name, column in DIFFERENCES.items()}


def sides(row: Row | None) -> dict[str, str]:
    """Return where a row of differences says that each measure lies; `unknown` without a row."""
    return {name: row[side] if row else "unknown" for name, side in SIDES.items()}


def all_learnt(rows: list[Row]) -> bool:
    """Return whether every arm fits all its training images, so that none can stand out by it."""
    return bool(rows) and all(row["learnt"] for row in rows)


def whole(row: Row) -> bool:
    """Return whether every seed of an arm came to its end."""
    return bool(row["status"] == "complete")


def outcome(inputs: Inputs, study: str, arm: str) -> str:
    """Return the status of an arm, `not run yet` when the study has no such arm."""
    rows = inputs.rows("accuracy", study=study, arm=arm)
    return str(rows[-1]["status"]) if rows else "not run yet"


def missing(inputs: Inputs, study: str, wanted: list[str]) -> list[str]:
    """Return one line for each wanted arm without a result: failed, or not run yet."""
    states = {arm: outcome(inputs, study, arm) for arm in wanted}
    return [f"{study}, {arm}: {state}" for arm, state in states.items() if state not in RESULTS]
