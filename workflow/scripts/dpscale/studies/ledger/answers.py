"""Q6: the bytes of every message by phase and purpose, and their sum beside the formula."""

from collections import Counter
from typing import Any

from dpscale.reporting.answer import Value, nothing
from dpscale.reporting.inputs import Inputs, Row, lacking, measured
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import LI, PATARASUK
from dpscale.studies.ledger.derive import GRADIENTS, PHASES

# The bytes of one steady iteration, summed over all workers.
SUMS = ("gradient_bytes", "predicted_bytes", "ledger_bytes", "interface_bytes")


def facts_q6(inputs: Inputs) -> Facts:
    """Return the messages of the most workers by phase, and each N's sums beside the formula."""
    rows, wires = inputs.rows("ledger"), inputs.rows("wire")
    steady = [row for row in rows if row["phase"] == "steady" and row["bytes"]]
    missing = lacking(rows, {"workers": "N"}, "ledger")
    missing += [] if steady or missing else ["ledger: no steady iteration"]
    found = values(rows, wires) or {"steady_bytes": nothing("bytes_exact")}
    said: dict[str, Any] = {"rows": rows, "wires": wires}
    if not missing:
        workers = max(row["workers"] for row in steady)
        own = [row for row in rows if row["workers"] == workers]
        said |= messages(inputs, own) | {"workers": workers, "own": own, "sums": sums(wires)}
        said["sent_besides"] = sent_besides(wires, workers)
    return Facts(missing, found, said)


def values(rows: list[Row], wires: list[Row]) -> dict[str, Value]:
    """Return the bytes of each collective, and the sums of each N."""
    found = {}
    for row in rows:
        if row["purpose"]:
            parts = (row["phase"], row["operation"], row["purpose"], row["dtype"])
            name = " ".join(part for part in parts if part).replace(" ", "_")
            found[f"{name}_bytes_n{row['workers']}"] = row.value("bytes", "bytes_exact")
    for row in wires:
        for column in SUMS:
            found[f"{column}_n{row['workers']}"] = measured(
                row, column, "bytes_exact", row.runs, row["iterations"]
            )
    return found


def messages(inputs: Inputs, own: list[Row]) -> dict[str, Any]:
    """Return the bytes of each phase and purpose, over operations and types, and the gradients
    of a steady iteration beside its other messages and beside the trainable parameters."""
    sizes = Counter[tuple[str, str]]()
    for phase in PHASES:
        for row in own:
            if row["phase"] == phase and row["bytes"]:
                sizes[phase, row["purpose"]] += row["bytes"]
    total = sum(size for (phase, _), size in sizes.items() if phase == "steady")
    gradients = sizes["steady", GRADIENTS]
    whole = Row(runs=" ".join(dict.fromkeys(row["runs"] for row in own)))
    return {
        "messages": [
            Row(phase=phase, purpose=purpose, bytes=_exact(size, whole))
            for (phase, purpose), size in sizes.items()
            if size
        ],
        "gradients": _exact(gradients, whole),
        "besides": Value(value=(total - gradients) / total, unit="fraction", runs=whole.runs),
        "payload": [
            run
            | {
                "runs": run["run"],
                "each": run["payload_bytes"] / run["parameters"],
                **deviation(wire, "bucket"),
                "gap": _exact(abs(gradients - run["payload_bytes"]), whole),
            }
            for run in inputs.tidy_rows("runs", run=own[0]["runs"])[:1]
            for wire in inputs.rows("wire", runs=run["run"])
            if gradients and run["payload_bytes"] and run["parameters"]
        ],
    }


def sent_besides(wires: list[Row], workers: int) -> Value | None:
    """Return the share of what all workers send in a steady iteration that is no gradient.

    By the formula; None where it has no sum, or where nothing else is sent.
    """
    for row in wires:
        if row["workers"] == workers and row["predicted_bytes"] and row["gradient_bytes"]:
            share = 1 - row["gradient_bytes"] / row["predicted_bytes"]
            return Value(value=share, unit="fraction", runs=row.runs) if share else None
    return None


def sums(wires: list[Row]) -> list[Row]:
    """Return each N with a formula, and how the ledger and the interface deviate from it."""
    return [
        row | {"ledger": deviation(row, "ledger"), "counted": deviation(row, "interface")}
        for row in wires
        if row["predicted_bytes"]
    ]


def deviation(row: Row, name: str) -> Row:
    """Return where a number lies against another by the table, and their gap as a fraction."""
    gap = row[f"{name}_gap_frac"]
    known = {} if gap is None else {"gap_frac": abs(gap), "runs": row["runs"]}
    return Row(verdict=row[f"{name}_side"], **known)


def _exact(size: float, row: Row) -> Value:
    return Value(value=size, unit="bytes_exact", runs=row.runs)


QUESTIONS = [
    Question(
        "Q6",
        facts_q6,
        formula=[
            r"\text{bytes of the gradients per iteration} = 2 (N - 1) \, S",
            r"\text{bytes of all workers per iteration} = "
            r"2 (N - 1) \, S + (N - 1) \, S_{\text{buffers}}",
        ],
        references=[LI, PATARASUK],
        vocabulary={"verdict": "wire.ledger_side"},
    )
]
