"""What S4 reads: arms, comparisons of arms, and how they are written."""

from dpscale.reporting.answer import Value
from dpscale.reporting.answers.inputs import Inputs, Row, measured
from dpscale.units import group_digits

POST_AGAINST_LARGE = "post-local against large"
DATASET = "CIFAR-10"  # each comparison once: the measured side is the same for every data set


def comparisons(inputs: Inputs, comparison: str) -> list[Row]:
    """Return a comparison in every regime, each once."""
    return inputs.rows("published_local_sgd", comparison=comparison, dataset=DATASET)


def difference(inputs: Inputs, row: Row) -> Value:
    """Return the measured difference of test accuracy of a comparison."""
    found = measured(row, "difference_frac", "fraction", inputs.runs_of(row), row.get("seeds"))
    return found if found.value is not None else found.model_copy(update={"status": "diverged"})


def regime(row: Row) -> str:
    """Return the regime of a row as prose: `with clean labels`."""
    noise = row["label_noise_frac"]
    return f"with {noise:.0%} wrong labels" if noise else "with clean labels"


def points(value: Value) -> str:
    """Return a difference as percentage points with its interval."""
    number = value.value
    if number is None:
        return "no number"
    ends = [end for end in (value.low, value.high) if end is not None]
    interval = f", {_signed(ends[0])} to {_signed(ends[1])}" if len(ends) == 2 else ""
    return f"{_signed(number)} percentage points{interval}"


def _signed(share: float) -> str:
    text = group_digits(100 * share, 2)
    return f"+{text}" if text[0].isdigit() else text


def arm_row(inputs: Inputs, row: Row, arm: str) -> Row | None:
    """Return an arm in the regime of a row, or None."""
    return next(
        iter(inputs.rows("local_sgd", arm=arm, label_noise_frac=row["label_noise_frac"])), None
    )


def arm_name(arm: Row) -> str:
    """Return an arm as prose, with its number in tables and figures: `A1, small mini-batch`."""
    return f"{arm['arm'][:2]}, {arm['title']}"


def value_of(inputs: Inputs, arm: Row, column: str, unit: str) -> Value:
    """Return a measurement of an arm."""
    return measured(arm, column, unit, inputs.runs_of(arm), arm.get("seeds"))
