"""Published figures of the assignment beside this machine's, in H1 to H6."""

from collections.abc import Sequence

from dpscale.reporting.answer import Cell, Column, Table, Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.assignment import place
from dpscale.reporting.answers.inputs import Inputs, Row, measured
from dpscale.units import group_digits
from dpscale.units.text import SPACE

TITLES = {
    "utilisation_frac": ("utilisation", "fraction"),
    "steps": ("steps", "count"),
    "speedup_ratio": ("speed-up", "number"),
    "train_s": ("training time", "s"),
    "efficiency_frac": ("scaling efficiency", "fraction"),
    "test_accuracy_frac": ("test accuracy", "fraction"),
}


def figures(inputs: Inputs, *quantities: str, nodes: int | None = None) -> list[Row]:
    """Return the published figures of some quantities (on so many nodes), with their verdicts."""
    return [
        row
        for row in inputs.rows("assignment_published")
        if row["quantity"] in quantities and nodes in (None, row["nodes"])
    ]


def _measured_here(row: Row, runs: list[str]) -> Value:
    """This machine's number beside a published one."""
    found = measured(row, "measured", TITLES[row["quantity"]][1], runs)
    if found.low == found.high:  # a count
        found = found.model_copy(update={"low": None, "high": None})
    return found


def _as_printed(row: Row) -> str:
    """A published number with the digits that it was published with, and its interval."""
    unit, number = TITLES[row["quantity"]][1], float(row["published"])
    if unit == "count":
        return group_digits(number)
    if unit != "fraction":
        return f"{number:.6g}" + (f"{SPACE}{unit}" if unit == "s" else "")
    ends = [100 * float(row[f"published_{end}"]) for end in ("low", "high")]
    between = f" ({ends[0]:.4g} to {ends[1]:.4g})" if ends[0] < ends[1] else ""
    return f"{100 * number:.4g}%{between}"


def table(inputs: Inputs, rows: Sequence[Row]) -> list[Table]:
    """Return the table of published figures beside this machine's; none without a row."""
    if not rows:
        return []
    columns = [
        Column(key="quantity", title="Quantity"),
        Column(key="workers", title="Workers N", unit="setting"),
        Column(key="nodes", title="Nodes", unit="setting"),
        Column(key="batch", title="b", unit="setting"),
        Column(key="epochs", title="Epochs", unit="setting"),
        Column(key="published", title="Published"),
        Column(key="measured", title="Measured here"),
        Column(key="verdict", title="Verdict"),
    ]
    cells: list[dict[str, Cell]] = [
        {
            "quantity": TITLES[row["quantity"]][0],
            "workers": row["workers"],
            "nodes": row["nodes"],
            "batch": row["per_worker_batch"],
            "epochs": row["epochs"],
            "published": _as_printed(row),
            "measured": _measured_here(row, inputs.runs_of(row)),
            "verdict": row["verdict"] + (f": {row['reason']}" if row.get("reason") else ""),
        }
        for row in rows
    ]
    return [
        Table(
            caption="Published figures, quoted and not measured here, beside this machine's.",
            columns=columns,
            rows=cells,
            runs=[inputs.runs_of(row) for row in rows],
        )
    ]


def text(rows: Sequence[Row]) -> str:
    """Return what the comparison with the published figures says; empty without a row."""
    if not rows:
        return ""
    counts = {
        verdict: sum(row["verdict"] == verdict for row in rows)
        for verdict in ("agrees", "disagrees", "not decidable", "contradicts itself")
    }
    judged = [
        f"{prose.number_word(number)} {words}"
        for verdict, words in (
            ("agrees", prose.verb(counts["agrees"], "agrees", "agree")),
            ("disagrees", prose.verb(counts["disagrees"], "disagrees", "disagree")),
            ("not decidable", prose.verb(counts["not decidable"], "is", "are") + " not decidable"),
        )
        if (number := counts[verdict])
    ]
    reasons = list(
        dict.fromkeys(row["reason"] for row in rows if row["verdict"] == "not decidable")
    )
    parts = []
    if judged:
        because = f" ({'; '.join(reasons)})" if reasons else ""
        parts.append(
            f"Of the published figures, from GPUs of a cluster whose model is not named, "
            f"{prose.join(judged)}{because}."
        )
    for row in rows:
        if row["verdict"] == "contradicts itself":
            quoted = _as_printed(row)
            what, label = TITLES[row["quantity"]][0], place(row)
            parts.append(
                f"The published figure for the {what} at {label}, {quoted}, contradicts others: "
                f"{row['reason']}."
            )
    return " ".join(parts)
