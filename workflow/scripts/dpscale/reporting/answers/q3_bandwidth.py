"""Q3.2: the bandwidth behind the communication time of an epoch, and what the link can do."""

from dpscale.reporting.answer import Answer, Column, Table, Value
from dpscale.reporting.answers import (
    prose,
    q3_bandwidth_reasons,
    q3_compression,
    q3_link,
    q3_rates,
    q3_variants,
    q3_what_if,
)
from dpscale.reporting.answers.inputs import Inputs, Row, lacking, measured
from dpscale.reporting.answers.measured_table import BATCH, WORKERS, measured_table
from dpscale.reporting.answers.q3_bandwidth_reasons import rate
from dpscale.reporting.answers.q3_cells import (
    REASONS,
    at,
    finding,
    grouped,
    key_of,
    lab_rows,
    seconds,
    without_base,
)
from dpscale.reporting.answers.references import LI, PATARASUK, THAKUR, VOGELS

QUESTION = (
    "By which formulas do the all-reduce's time and bandwidth follow, and how much "
    "bandwidth does each number of workers and batch per worker use?"
)
FORMULA = [
    r"t_{\text{all-reduce}} \ge \frac{2 (N - 1)}{N} \cdot \frac{X \cdot \text{itemsize}}{\beta}"
    r" = \frac{2 (N - 1)}{N} \cdot \frac{S}{\beta}",
    r"\beta = \frac{2 (N - 1)}{N} \cdot S \cdot \frac{D}{N b} \cdot "
    r"\frac{1}{T_{\text{communication}}}",
]


def answer(inputs: Inputs) -> Answer:
    """Return the answer to Q3.2."""
    rows = _rows(inputs)
    usable = [row for row in rows if row.get("subtraction_s") is not None]
    missing = _missing(inputs, rows)
    missing += [] if usable or missing else ["bandwidth: no cell has a communication time"]
    values, tables, figures = _values(inputs, rows), _tables(inputs, rows), _figures(inputs)
    formula = [*FORMULA, *(q3_link.FORMULA if q3_link.fitted(inputs) else [])]
    if missing:
        return prose.withheld(
            id="Q3.2",
            question=QUESTION,
            missing=missing,
            values=values,
            tables=tables,
            figures=figures,
            formula=formula,
        )
    return Answer(
        id="Q3.2",
        question=QUESTION,
        sentence=_sentence(inputs, usable),
        paragraphs=[text for text in _paragraphs(inputs, usable) if text],
        formula=formula,
        values=values,
        tables=tables,
        figures=figures,
        references=_references(inputs),
    )


def _rows(inputs: Inputs) -> list[Row]:
    """Rows of `bandwidth` with the communication time of their cell."""
    parts = {key_of(row): row for row in lab_rows(inputs, "communication")}
    return [
        parts[key_of(row)] | row for row in lab_rows(inputs, "bandwidth") if key_of(row) in parts
    ]


def _missing(inputs: Inputs, rows: list[Row]) -> list[str]:
    names = {"workers": "N", "per_worker_batch": "b"}
    found = lacking(rows, names, "communication") + without_base(rows)
    found += lacking(inputs.rows("link"), {"workers": "N"}, "link")
    found += lacking(inputs.rows("compression"), names, "compression")
    return list(dict.fromkeys(found))


def _reason(inputs: Inputs, row: Row) -> str | None:
    """Why a cell has no bandwidth, although its subtraction is known; None when it has one."""
    time = seconds(inputs, row, "subtraction_s")
    return None if time.value is None else REASONS.get(finding(time))


def _decided(inputs: Inputs, usable: list[Row]) -> list[Row]:
    return [row for row in usable if _reason(inputs, row) is None]


def _sentence(inputs: Inputs, usable: list[Row]) -> str:
    decided = _decided(inputs, usable)
    parts = [_range(inputs, decided)] if decided else []
    for reason, group in grouped(usable, lambda row: _reason(inputs, row)).items():
        cells = prose.cells([(row["workers"], row["per_worker_batch"]) for row in group])
        if reason:
            parts.append(f"no bandwidth follows where the communication time is {reason} ({cells})")
    parts.append(q3_rates.clause(usable))
    return f"{prose.capitalised('; '.join(part for part in parts if part))}."


def _range(inputs: Inputs, decided: list[Row]) -> str:
    ranked = sorted(decided, key=lambda row: row["lab_bytes_per_s"])
    low, high = (
        f"{prose.quantity(rate(inputs, row))} at {at(row)}" for row in (ranked[0], ranked[-1])
    )
    range_text = f"is {low}" if len(ranked) == 1 else f"ranges from {low} to {high}"
    return (
        "the bandwidth that the bytes of a ring all-reduce and the lab's communication time "
        f"give {range_text}"
    )


def _paragraphs(inputs: Inputs, usable: list[Row]) -> list[str]:
    reasons, decided = q3_bandwidth_reasons, _decided(inputs, usable)
    alone = q3_rates.alone(usable)
    return [
        reasons.formulas(),
        reasons.terms(usable),
        reasons.consistency(inputs, decided, explained=bool(alone)),
        q3_rates.against_alone(inputs, decided),
        q3_rates.against_link(inputs, usable),
        q3_rates.no_rate_of_exposed() if alone else "",
        reasons.absent(usable, decided),
        q3_link.paragraph(inputs),
        q3_link.latency_or_bytes(inputs, usable),
        q3_compression.paragraph(inputs),
        *q3_what_if.paragraphs(inputs),
        q3_variants.paragraph(inputs),
    ]


def _references(inputs: Inputs) -> list[str]:
    works = [PATARASUK, LI]
    works += [THAKUR] if q3_link.fitted(inputs) else []
    return works + ([VOGELS] if q3_compression.measured_hooks(inputs) else [])


def _figures(inputs: Inputs) -> list[str]:
    shown = {
        "link_fit": q3_link.fitted(inputs),
        "compression": q3_compression.measured_hooks(inputs),
        "what_if": q3_what_if.predicted(inputs),
    }
    return ["bandwidth", *(name for name, rows in shown.items() if rows)]


def _values(inputs: Inputs, rows: list[Row]) -> dict[str, Value]:
    values = {}
    for row in rows:
        cell, reason = f"n{row['workers']}_b{row['per_worker_batch']}", _reason(inputs, row)
        values[f"lab_bytes_per_s_{cell}"] = _lab_rate(inputs, row, reason)
        values |= {f"{name}_{cell}": value for name, value in q3_rates.values(row).items()}
    for module in (q3_link, q3_compression, q3_what_if):
        values |= module.values(inputs)
    return values or {"lab_bytes_per_s": prose.nothing("bytes/s")}


def _lab_rate(inputs: Inputs, row: Row, reason: str | None) -> Value:
    changed = {"lab_bytes_per_s": None, "status": reason} if reason else {}
    return measured(
        row | changed, "lab_bytes_per_s", "bytes/s", inputs.runs_of(row), row.get("repeats")
    )


def _tables(inputs: Inputs, rows: list[Row]) -> list[Table]:
    columns = [
        WORKERS,
        BATCH,
        Column(key="iterations", title="Iterations D/(N·b)", unit="count"),
        Column(key="payload_bytes", title="S per iteration", unit="bytes"),
        Column(key="moved_bytes", title="Moved per iteration", unit="bytes"),
        Column(key="subtraction_s", title="Communication", unit="s"),
        Column(key="lab_bytes_per_s", title="Bandwidth", unit="bytes/s"),
    ]
    lab = measured_table(
        inputs,
        "Bandwidth from the communication time by subtraction.",
        columns,
        rows,
        lambda row: {"lab_bytes_per_s": _lab_rate(inputs, row, _reason(inputs, row))},
    )
    further = [
        table
        for module in (q3_link, q3_compression, q3_what_if, q3_variants)
        for table in module.tables(inputs)
    ]
    return [lab, *q3_rates.rates_table(inputs, rows), *further]
