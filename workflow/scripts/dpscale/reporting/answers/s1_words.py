"""S1 in words: the names of its searches, and what their fits and contrasts say."""

from collections.abc import Callable, Iterable

from dpscale.reporting.answer import Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, measured

STUDY = "steps_to_goal"
OPTIMIZERS = {"sgd": "plain SGD", "momentum": "momentum", "nesterov": "Nesterov momentum"}


def optimizer(row: Row, key: str = "optimizer") -> str:
    """Return an optimiser's name."""
    return OPTIMIZERS.get(row[key], str(row[key]))


def search(row: Row) -> str:
    """Return a search's name: `mlp with plain SGD`."""
    return f"{row['model']} with {optimizer(row)}"


def value(inputs: Inputs, row: Row, column: str, unit: str = "number") -> Value:
    """Return a row's measurement, with its interval and runs."""
    return measured(row, column, unit, inputs.runs_of(row), row.get("repeats"))


def shown(inputs: Inputs, row: Row, column: str, unit: str = "number") -> str:
    """Return a row's measurement in words."""
    return prose.quantity(value(inputs, row, column, unit))


def grouped(rows: Iterable[Row], kind: Callable[[Row], str]) -> dict[str, list[Row]]:
    """Return the rows by kind, in the order met."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(kind(row), []).append(row)
    return found


def fits(inputs: Inputs) -> list[Row]:
    """Return the searches whose steps bend, so that their fit has a B_crit."""
    return [row for row in inputs.rows("scaling_fit") if row.get("b_crit") is not None]


def verdicts(inputs: Inputs, claim: str) -> list[Row]:
    """Return what was decided on a published claim, search by search."""
    return inputs.rows("scaling_verdicts", claim=claim)


def ratio_kind(row: Row, column: str = "b_crit_ratio") -> prose.Verdict:
    """Return whether a ratio's interval lies above 1, below it or across it."""
    ends = {name: row.get(f"{column}{name}") for name in ("", "_low", "_high")}
    ratio = Value(value=ends[""], unit="ratio", low=ends["_low"], high=ends["_high"])
    return prose.against(ratio, 1.0)
