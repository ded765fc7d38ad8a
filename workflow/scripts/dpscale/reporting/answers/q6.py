"""Q6: every message of distributed training, with its bytes and its purpose."""

from dpscale.reporting.answer import Answer, Column, Table, Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, lacking, measured
from dpscale.reporting.answers.measured_table import WORKERS, measured_table
from dpscale.reporting.answers.q6_ledger import (
    GRADIENTS,
    PHASES,
    listed,
    named,
    payload_of,
    phases,
    protocol,
    purposes_of,
    sums,
)
from dpscale.reporting.answers.references import LI, PATARASUK
from dpscale.units import format_value

QUESTION = "What is passed on the network, and are gradients the only messages?"
# The bytes of one steady iteration, summed over all workers.
SUMS = {
    "gradient_bytes": "Formula, gradients",
    "predicted_bytes": "Formula, with buffers",
    "ledger_bytes": "Ledger",
    "interface_bytes": "Interface",
}
FORMULA = [
    r"\text{bytes of the gradients per iteration} = 2 (N - 1) \, S",
    r"\text{bytes of all workers per iteration} = "
    r"2 (N - 1) \, S + (N - 1) \, S_{\text{buffers}}",
]


def answer(inputs: Inputs) -> Answer:
    """Return the answer to Q6."""
    rows, wires = inputs.rows("ledger"), inputs.rows("wire")
    steady = [row for row in rows if row.get("phase") == "steady" and row.get("bytes")]
    missing = lacking(rows, {"workers": "N"}, "ledger")
    missing += [] if steady or missing else ["ledger: no steady iteration"]
    values, tables = _values(inputs, rows, wires), _tables(inputs, rows, wires)
    if missing:
        return prose.withheld(
            id="Q6",
            question=QUESTION,
            missing=missing,
            values=values,
            tables=tables,
            figures=["ledger"],
            formula=FORMULA,
        )
    workers = max(row["workers"] for row in steady)
    own = [row for row in rows if row["workers"] == workers]
    paragraphs = [phases(own), payload_of(inputs, own), sums(wires), protocol(workers)]
    return Answer(
        id="Q6",
        question=QUESTION,
        sentence=_sentence(own, workers),
        paragraphs=[text for text in paragraphs if text],
        formula=FORMULA,
        values=values,
        tables=tables,
        figures=["ledger"],
        references=[LI, PATARASUK],
    )


def _sentence(own: list[Row], workers: int) -> str:
    purposes = purposes_of(own, "steady")
    others = {name: size for name, size in purposes.items() if name != GRADIENTS}
    gradients = format_value(purposes.get(GRADIENTS, 0), "bytes_exact")
    before = [
        name
        for name in dict.fromkeys(
            name for phase in PHASES if phase != "steady" for name in purposes_of(own, phase)
        )
        if name != GRADIENTS and name not in others
    ]
    earlier = prose.join([named(name) for name in before])
    if others:
        share = format_value(sum(others.values()) / sum(purposes.values()), "fraction")
        extra = f"; construction and the first iterations also pass {earlier}" if before else ""
        return (
            f"No: with N = {workers} a steady iteration passes {gradients} of gradients and "
            f"besides them {listed(others)}, {share} of its bytes{extra}."
        )
    if before:
        return (
            f"In a steady iteration yes: with N = {workers} it passes {gradients} of gradients "
            "and nothing else; construction and the first iterations also pass "
            f"{earlier}."
        )
    return (
        f"Yes: with N = {workers} a steady iteration passes {gradients} of gradients and "
        "nothing else, and no other message was seen before it."
    )


def _values(inputs: Inputs, rows: list[Row], wires: list[Row]) -> dict[str, Value]:
    values = {}
    for row in rows:
        if row.get("purpose"):
            parts = (row["phase"], row["operation"], row["purpose"], row.get("dtype"))
            name = " ".join(str(part) for part in parts if part).replace(" ", "_")
            values[f"{name}_bytes_n{row['workers']}"] = measured(
                row, "bytes", "bytes_exact", inputs.runs_of(row)
            )
    for row in wires:
        for column in SUMS:
            values[f"{column}_n{row['workers']}"] = measured(
                row, column, "bytes_exact", inputs.runs_of(row), row.get("iterations")
            )
    return values or {"steady_bytes": prose.nothing("bytes_exact")}


def _tables(inputs: Inputs, rows: list[Row], wires: list[Row]) -> list[Table]:
    texts = {"phase": "Phase", "operation": "Operation", "dtype": "Type", "purpose": "Purpose"}
    ledger = [
        WORKERS,
        *(Column(key=key, title=title) for key, title in texts.items()),
        Column(key="calls", title="Calls", unit="count"),
        Column(key="bytes", title="Payload", unit="bytes_exact"),
    ]
    wire = [WORKERS, *(Column(key=key, title=SUMS[key], unit="bytes_exact") for key in SUMS)]
    made = [
        (
            "Every collective, by phase; the steady phase is one iteration.",
            ledger,
            [row for row in rows if row.get("purpose")],
        ),
        ("Bytes sent by all workers in one steady iteration.", wire, wires),
    ]
    return [
        measured_table(inputs, caption, columns, chosen)
        for caption, columns, chosen in made
        if chosen
    ]
