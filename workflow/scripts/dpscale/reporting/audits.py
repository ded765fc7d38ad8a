"""Audits of hand-collected tables as sections of the report."""

from collections import Counter
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from dpscale.records.audit import Derived, Finding
from dpscale.records.storage import about, read_json
from dpscale.reporting.answer import Answer, AnswerCell, AnswerTable, Column
from dpscale.units.text import SPACE

FORMULAS = [
    r"S_N = \frac{T_1}{T_N}",
    r"T_\mathrm{comm} = T_N - \frac{T_1}{N}",
    r"\beta = \frac{2(N-1)}{N} \cdot \frac{X \cdot \mathrm{itemsize} \cdot \mathrm{iterations}}"
    r"{T_\mathrm{comm}}",
]
DOUBTFUL = ("superlinear",)  # codes of what can be right, and seldom is
PLACE = [Column(key="workers", title="N"), Column(key="batch", title="b", unit="count")]


class _Audit(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    title: str
    derived: list[Derived]
    findings: list[Finding]
    assumptions: list[str]
    printed: int
    checked: int


def audit_section(path: Path, number: int) -> Answer:
    """Return the section T<number> of the audit in a file that audit_table.py wrote."""
    content = read_json(path)
    with about(path):
        audit = _Audit.model_validate(content)
    return Answer(
        id=f"T{number}",
        question=_plain(audit.title),
        sentence=_plain(_sentence(audit)),
        paragraphs=[_plain(f"Read and assumed: {'; '.join(audit.assumptions)}.")],
        formula=FORMULAS if number == 1 else [],
        tables=[_findings(audit.findings)] * bool(audit.findings) + _corrected(audit.derived),
    )


def _plain(text: str) -> str:
    """A text without formulas: other people's words are no TeX."""
    return text.replace("$", r"\$")


def _words(code: str) -> str:
    return code.replace("_", " ")


def _sentence(audit: _Audit) -> str:
    rows = len(audit.derived)
    if not audit.findings:
        return _clean(audit)
    kinds = Counter(_words(finding.code) for finding in audit.findings)
    wrong = _rows([finding for finding in audit.findings if finding.code not in DOUBTFUL])
    listed = ", ".join(f"{count} × {kind}" if count > 1 else kind for kind, count in kinds.items())
    if not wrong:
        return f"{_rows(audit.findings)} of {rows} rows hold a doubtful number: {listed}."
    return f"{wrong} of {rows} rows hold a number that cannot be right: {listed}."


def _rows(findings: list[Finding]) -> int:
    return len({(finding.workers, finding.per_worker_batch) for finding in findings})


def _clean(audit: _Audit) -> str:
    """What the table without a finding was checked for."""
    if not audit.printed:
        return "The table prints no number that follows from its times: nothing could be checked."
    lacking = "with the times of one worker and of N"
    if not audit.checked:
        return f"Nothing could be checked: no one of {audit.printed} numbers is in a row {lacking}."
    if audit.checked == audit.printed:
        return f"All {audit.printed} printed numbers follow from the times beside them."
    return (
        f"The {audit.checked} of {audit.printed} printed numbers that could be checked follow from "
        f"the times; no other is in a row {lacking}."
    )


def _shown(number: float | None, unit: str, digits: int) -> str | None:
    return None if number is None else f"{number:.{digits}g}{SPACE}{unit}".strip()


def _findings(findings: list[Finding]) -> AnswerTable:
    rows: list[dict[str, AnswerCell]] = [
        {
            **_place(finding),
            "code": _words(finding.code),
            "printed": _shown(finding.printed, finding.unit, 12),
            "expected": _shown(finding.expected, finding.unit, 6),
            "reason": finding.reason,
        }
        for finding in findings
    ]
    titles = {"code": "Finding", "printed": "Printed", "expected": "Expected", "reason": "Why"}
    columns = [Column(key=key, title=title) for key, title in titles.items()]
    return AnswerTable(caption="What cannot be right.", columns=[*PLACE, *columns], rows=rows)


def _corrected(derived: list[Derived]) -> list[AnswerTable]:
    many = [row for row in derived if row.workers > 1]
    return [
        _table(
            derived,
            "Q2, corrected: speed-up and efficiency as the times give them.",
            Column(key="base_s", title="$T_1$", unit="s"),
            Column(key="epoch_s", title="$T_N$", unit="s"),
            Column(key="speedup_ratio", title="Speed-up", unit="ratio"),
            Column(key="efficiency_frac", title="Efficiency", unit="fraction"),
        ),
        _table(
            many,
            "Q3.1, corrected: computation and communication of an epoch.",
            Column(key="total_s", title="$T_N$", unit="s"),
            Column(key="compute_s", title="Computation", unit="s"),
            Column(key="comm_s", title="Communication", unit="s"),
        ),
        _table(
            many,
            "Q3.2, corrected: bandwidth that the communication time means; a last partial "
            "iteration counts by its share.",
            Column(key="iterations", title="Iterations", unit="count"),
            Column(key="moved_bytes", title="Moved an iteration", unit="bytes"),
            Column(key="bandwidth_bytes_per_s", title="Bandwidth", unit="bytes/s"),
        ),
    ]


def _place(row: Derived | Finding) -> dict[str, AnswerCell]:
    return {"workers": row.workers, "batch": row.per_worker_batch}


def _table(derived: list[Derived], caption: str, *columns: Column) -> AnswerTable:
    rows = [_place(row) | {c.key: getattr(row, c.key) for c in columns} for row in derived]
    return AnswerTable(caption=caption, columns=[*PLACE, *columns], rows=rows)
