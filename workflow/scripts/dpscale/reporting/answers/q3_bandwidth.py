"""Q3.2: the bandwidth behind the communication time of an epoch."""

from dpscale.reporting.answer import Answer, Column, Table, Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, lacking, measured
from dpscale.reporting.answers.q3_bandwidth_reasons import (
    Pair,
    consistency,
    formulas,
    peaks,
    rate,
    terms,
)
from dpscale.reporting.answers.q3_subtraction import finding, lab_rows, subtraction, without_base
from dpscale.reporting.answers.references import LI, PATARASUK

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
REASONS = {
    "below noise": "below the noise",
    "negative": "negative",
    "undecided": "not told from zero for want of repeats",
}


def answer(inputs: Inputs) -> Answer:
    """Return the answer to Q3.2."""
    parts = {_cell(row): row for row in lab_rows(inputs, "communication")}
    pairs = [
        (row, parts[_cell(row)]) for row in lab_rows(inputs, "bandwidth") if _cell(row) in parts
    ]
    found = [row for _, row in pairs]
    missing = lacking(found, {"workers": "N", "per_worker_batch": "b"}, "communication")
    missing = list(dict.fromkeys(missing + without_base([part for _, part in pairs])))
    usable = [pair for pair in pairs if pair[1].get("subtraction_s") is not None]
    missing += [] if usable or missing else ["bandwidth: no cell has a communication time"]
    values, tables = _values(inputs, pairs), [_table(inputs, pairs)]
    if missing:
        return prose.withheld(
            id="Q3.2",
            question=QUESTION,
            missing=missing,
            values=values,
            tables=tables,
            figures=["bandwidth"],
            formula=FORMULA,
        )
    decided = [row for row, part in usable if finding(inputs, part) == "communication"]
    return Answer(
        id="Q3.2",
        question=QUESTION,
        sentence=_sentence(inputs, decided, usable),
        paragraphs=[
            text
            for text in (
                formulas(),
                terms(usable),
                consistency(inputs, decided),
                peaks(usable, decided),
            )
            if text
        ],
        formula=FORMULA,
        values=values,
        tables=tables,
        figures=["bandwidth"],
        references=[PATARASUK, LI],
    )


def _cell(row: Row) -> tuple[object, ...]:
    return row["workers"], row.get("nodes"), row["per_worker_batch"]


def _where(row: Row) -> str:
    return f"N = {row['workers']}, b = {row['per_worker_batch']}"


def _sentence(inputs: Inputs, decided: list[Row], usable: list[Pair]) -> str:
    groups: dict[str, list[tuple[int, int]]] = {}
    for row, part in usable:
        kind = finding(inputs, part)
        if kind != "communication":
            groups.setdefault(REASONS[kind], []).append((row["workers"], row["per_worker_batch"]))
    none = "; ".join(
        f"no bandwidth follows where the communication time is {reason} ({prose.cells(cells)})"
        for reason, cells in groups.items()
    )
    if not decided:
        return f"{prose.capitalised(none)}."
    ranked = sorted(decided, key=lambda row: row["lab_bytes_per_s"])
    low, high = (
        f"{prose.quantity(rate(inputs, row))} at {_where(row)}" for row in (ranked[0], ranked[-1])
    )
    range_text = low if len(ranked) == 1 else f"from {low} to {high}"
    verb = "is" if len(ranked) == 1 else "ranges"
    tail = f"; {none}" if none else ""
    return (
        f"The bandwidth that the bytes of a ring all-reduce and the lab's communication time "
        f"give {verb} {range_text}{tail}."
    )


def _values(inputs: Inputs, pairs: list[Pair]) -> dict[str, Value]:
    values = {
        f"lab_bytes_per_s_n{row['workers']}_b{row['per_worker_batch']}": measured(
            {**row, "lab_bytes_per_s": None, "status": reason} if reason else row,
            "lab_bytes_per_s",
            "bytes/s",
            inputs.runs_of(part),
            inputs.repeats(part, "without_loading"),
        )
        for row, part in pairs
        for reason in [_reason(inputs, part)]
    }
    return values or {"lab_bytes_per_s": prose.nothing("bytes/s")}


def _reason(inputs: Inputs, part: Row) -> str | None:
    """Why a cell has no bandwidth, although its subtraction is known; None when it has one."""
    if part.get("subtraction_s") is None:
        return None
    return REASONS.get(finding(inputs, part))


def _table(inputs: Inputs, pairs: list[Pair]) -> Table:
    columns = [
        Column(key="workers", title="Workers N", unit="setting"),
        Column(key="per_worker_batch", title="Batch per worker b", unit="setting"),
        Column(key="iterations", title="Iterations D/(N·b)", unit="count"),
        Column(key="payload_bytes", title="S per iteration", unit="bytes"),
        Column(key="moved_bytes", title="Moved per iteration", unit="bytes"),
        Column(key="subtraction_s", title="Communication", unit="s"),
        Column(key="lab_bytes_per_s", title="Bandwidth", unit="bytes/s"),
        Column(key="busbw_bytes_per_s", title="Buckets alone", unit="bytes/s"),
        Column(key="link_bytes_per_s", title="Link", unit="bytes/s"),
    ]
    cells = []
    for row, part in pairs:
        runs, reason = inputs.runs_of(part), _reason(inputs, part)
        cells.append(
            {column.key: measured(row, column.key, column.unit, runs) for column in columns}
            | {"subtraction_s": subtraction(inputs, part)}
            | (
                {"lab_bytes_per_s": Value(value=None, unit="bytes/s", runs=runs, status=reason)}
                if reason
                else {}
            )
        )
    return Table(
        caption="Bandwidth from the communication time by subtraction.",
        columns=columns,
        rows=cells,
        runs=[inputs.runs_of(part) for _, part in pairs],
    )
