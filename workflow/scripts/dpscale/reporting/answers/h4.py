"""H4: the bottlenecks, from measured shares of an epoch."""

from dpscale.reporting.answer import Answer, Column, Value
from dpscale.reporting.answers import assignment, prose
from dpscale.reporting.answers.inputs import Inputs, Row, lacking
from dpscale.reporting.answers.measured_table import WORKERS, measured_table
from dpscale.reporting.answers.references import LI

QUESTION = "What are the bottlenecks, by the measured shares of an epoch?"
FORMULA = [
    r"T_N = T_{\text{load}} + T_{\text{copy}} + T_{\text{sharing}} + T_{\text{stragglers}} + "
    r"T_{\text{overhead}} + T_{\text{exposed}} + T_{\text{compute}}"
]
TABLE = "assignment_split"
PARTS = {
    "computation": "computation",
    "load": "loading",
    "copy": "the copy to the device",
    "sharing": "sharing the machine",
    "stragglers": "stragglers",
    "overhead": "the overhead of DDP",
    "exposed": "exposed communication",
}
HEADS = {"copy": "Copy", "sharing": "Sharing", "overhead": "Overhead", "exposed": "Exposed"}
LOSSES = [part for part in PARTS if part != "computation"]
REMEDIES = {
    "load": "Against loading: more loading processes, loading ahead, or data kept ready in memory.",
    "copy": "Against the copy: pinned memory, copies that overlap computation, smaller types.",
    "sharing": "Against sharing: fewer workers than cores or devices, or a machine with one for "
    "each; no faster network helps.",
    "stragglers": "Against stragglers: equal devices and equal work, nothing else on the machine, "
    "or averaging less often.",
    "overhead": "Against the overhead of DDP: a larger batch per worker, which makes fewer steps, "
    "or fewer and larger buckets.",
    "exposed": "Against exposed communication: a larger batch per worker, compressed gradients, "
    "averaging less often, or a faster link.",
}


def answer(inputs: Inputs) -> Answer:
    """Return the answer to H4."""
    rows = sorted(inputs.rows(TABLE), key=lambda row: (row["nodes"] or 1, row["workers"]))
    found = [row for row in assignment.complete(rows) if row.get("computation_frac") is not None]
    missing = lacking(rows, {"workers": "N", "nodes": "nodes"}, TABLE)
    missing += [] if found or missing else [f"{TABLE}: no number of workers was split"]
    units = {f"{part}_frac": "fraction" for part in PARTS} | {"epoch_s": "s"}
    values = assignment.values(inputs, rows, units)
    table = measured_table(
        inputs,
        "Where an epoch with loading goes: shares, which add up to all of it.",
        [
            WORKERS,
            Column(key="epoch_s", title="Epoch", unit="s"),
            *(
                Column(key=f"{part}_frac", title=HEADS.get(part) or prose.capitalised(words),
                       unit="fraction")
                for part, words in PARTS.items()
            ),
        ],
        rows,
    )  # fmt: skip
    if missing:
        return prose.withheld(
            id="H4", question=QUESTION, missing=missing, values=values, tables=[table],
            figures=[TABLE], formula=FORMULA,
        )  # fmt: skip
    texts = [
        _meaning(),
        _ranking(inputs, found),
        _remedies(inputs, found),
        assignment.shared_devices(rows),
        assignment.without(rows),
    ]
    return Answer(
        id="H4",
        question=QUESTION,
        sentence=_sentence(inputs, found),
        paragraphs=[text for text in texts if text],
        formula=FORMULA,
        values=values,
        tables=[table],
        figures=[TABLE],
        references=[LI],
    )


def share(inputs: Inputs, row: Row, part: str) -> Value:
    """Return the share of a part of an epoch."""
    return assignment.value(inputs, row, f"{part}_frac", "fraction")


def losses(inputs: Inputs, row: Row) -> list[str]:
    """Return the parts beside computation that their intervals place above zero, largest first."""
    shares = {part: share(inputs, row, part) for part in LOSSES}
    shown = [part for part in LOSSES if prose.against(shares[part], 0.0) == "above"]
    return sorted(shown, key=lambda part: -float(shares[part].value or 0))


def _named(inputs: Inputs, row: Row, part: str) -> str:
    return f"{PARTS[part]} ({prose.bare(share(inputs, row, part))})"


def _leading(inputs: Inputs, row: Row) -> list[str]:
    """The largest loss, and the second where intervals do not tell it from the first."""
    first, *rest = losses(inputs, row) or [""]
    if not first:
        return []
    ties = [
        part
        for part in rest
        if prose.compare(share(inputs, row, part), share(inputs, row, first)) != "below"
    ]
    return [first, *ties]


def _sentence(inputs: Inputs, rows: list[Row]) -> str:
    clauses = []
    for row in rows:
        compute = prose.bare(share(inputs, row, "computation"))
        parts = _leading(inputs, row)
        named = prose.join([_named(inputs, row, part) for part in parts], "or")
        largest = (
            "no other part is told from zero"
            if not parts
            else f"the largest loss is {named}" + (", not told apart" if len(parts) > 1 else "")
        )
        clauses.append(f"at {assignment.place(row)} computation is {compute} of an epoch and "
                       f"{largest}")  # fmt: skip
    return prose.capitalised("; ".join(clauses)) + "."


def _meaning() -> str:
    return (
        "Loading and copying are phases of the steps of an epoch with loading, means over the "
        "workers. The rest comes from arms interleaved in the same run, as in Q3.1: exposed "
        "communication is what DDP takes beyond DDP that sends nothing, overhead what that takes "
        "beyond copies that never talk to each other, stragglers the slowest of those copies less "
        "their mean, and sharing what else such copies cost each other on one machine. Computation "
        "is what is left. Communication hidden behind computation costs no time and is in no "
        "share."
    )


def _ranking(inputs: Inputs, rows: list[Row]) -> str:
    texts = []
    for row in rows:
        parts = losses(inputs, row)
        hidden = [PARTS[part] for part in LOSSES if part not in parts and row["workers"] > 1]
        named = prose.join([_named(inputs, row, part) for part in parts]) or "no loss"
        noise = (
            f"; {prose.join(hidden)} {prose.verb(len(hidden), 'is', 'are')} not told from zero"
            if hidden
            else ""
        )
        texts.append(f"at {assignment.place(row)} {named}{noise}")
    return f"By size, as far as intervals place them above zero: {'; '.join(texts)}."


def _remedies(inputs: Inputs, rows: list[Row]) -> str:
    last = rows[-1]
    parts = _leading(inputs, last)
    if not parts:
        return (
            f"At {assignment.place(last)} nothing but computation is told from zero, so only more "
            "or faster devices, or less work, shorten an epoch."
        )
    return " ".join([f"At {assignment.place(last)}:", *(REMEDIES[part] for part in parts)])
