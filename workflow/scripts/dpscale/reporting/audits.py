"""Audits of hand-collected tables as sections of the report."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from dpscale.records.audit import BOUNDS, CODES, COLUMNS, Cause, Derived, Finding, Lesson
from dpscale.records.storage import about, read_json
from dpscale.reporting import words
from dpscale.reporting.answer import Answer, AnswerCell, AnswerTable, Column
from dpscale.vocabulary import words as kinds

FORMULAS = [
    r"S_N = \frac{T_1}{T_N}",
    r"T_\mathrm{comm} = T_N - \frac{T_1}{N}",
    r"\beta = \frac{2(N-1)}{N} \cdot \frac{X \cdot \mathrm{itemsize} \cdot \mathrm{iterations}}"
    r"{T_\mathrm{comm}}, \qquad \mathrm{iterations} = \left\lceil \frac{D}{N b} \right\rceil",
]
_UNITS = {"s": (" (s)", 1.0), "bytes/s": (" (GB/s)", 1e9)}  # of a terminal's columns
VOCABULARY = kinds("code", CODES) | kinds("bound", BOUNDS) | kinds("column", COLUMNS)
_TERM = r"(?:N\*)?T_[1N](?:/(?:T_[1N]|N|\(N\*T_N\)))?"
# What the words of `audit.j2` write as formulas.
_FORMULA = re.compile(
    rf"{_TERM}(?: - (?:{_TERM}|1\b))?|\b1/N\b|2\(N-1\)(?:/N)?(?:\*b)?|\b(?:2|10)\^\d+"
)
TORN = "loading_faster_than_without"  # two times, of which either may be the wrong one
LEAST_DIGITS, MOST_DIGITS = 4, 12  # of a number in the sentence
FOLLOWING = {"comm_s", "compute_s", "rate", "speedup"}  # what causes name that follows from times
PLACE = [Column(key="workers", title="N"), Column(key="batch", title="b", unit="count")]
CORRECTED = {
    "speedup": [
        Column(key="base_s", title="$T_1$", unit="s"),
        Column(key="epoch_s", title="$T_N$", unit="s"),
        Column(key="speedup_ratio", title="Speed-up", unit="ratio"),
        Column(key="efficiency_frac", title="Efficiency", unit="fraction"),
    ],
    "split": [
        Column(key="total_s", title="Total", unit="s"),
        Column(key="compute_s", title="Computation", unit="s"),
        Column(key="comm_s", title="Communication", unit="s"),
    ],
    "bandwidth": [
        Column(key="iterations", title="Iterations", unit="count"),
        Column(key="moved_bytes", title="Moved an iteration", unit="bytes"),
        Column(key="bandwidth_bytes_per_s", title="Bandwidth", unit="bytes/s"),
    ],
}


class _Audit(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    title: str
    derived: list[Derived]
    findings: list[Finding]
    lessons: list[Lesson]
    doubts: list[str]
    assumptions: list[str]
    digits: int
    printed: int
    checked: int

    @property
    def _named(self) -> set[str]:
        """The kinds of findings that a lesson is about."""
        return {lesson.finding.code for lesson in self.lessons}

    @property
    def grave(self) -> list[Finding]:
        """The findings but for those that are slight, unless a lesson is about them."""
        return [one for one in self.findings if not one.slight or one.code in self._named]

    @property
    def wrong_rows(self) -> int:
        """Rows with a number that cannot be right."""
        return len({_row(one) for one in self.grave if not _doubtful(one)})

    @property
    def doubtful_rows(self) -> int:
        """Rows with a number that is doubtful or cannot be right."""
        return len({*map(_row, self.grave)})

    @property
    def slight(self) -> list[Finding]:
        """The findings of the rows that have but slight ones."""
        grave = {*map(_row, self.grave)}
        return [one for one in self.findings if _row(one) not in grave]

    @property
    def others(self) -> list[list[Finding]]:
        """The grave findings that no lesson is about, by kind: the surest, then the farthest."""
        rest = [one for one in self.grave if one.code not in self._named]
        codes = dict.fromkeys(one.code for one in rest)
        kinds = [[one for one in rest if one.code == code] for code in codes]
        return sorted(
            kinds,
            key=lambda kind: (
                _doubtful(kind[0]),
                kind[0].code == TORN,
                -max(one.off_frac for one in kind),
            ),
        )

    @property
    def commonest(self) -> list[Finding]:
        """The kind that most findings are of, of several that which is farthest off."""
        return max(self.others, key=lambda kind: (not _doubtful(kind[0]), len(kind)))

    def off(self, kind: list[Finding]) -> str:
        """Return by how much the numbers of a kind are off; nothing where none is known."""
        found = sorted((one for one in kind if one.off_frac), key=lambda one: one.off_frac)
        percents = [f"{significant(100 * one.off_frac, 2)}%" for one in found]
        ends = list(dict.fromkeys(percents[:1] + percents[-1:]))
        bounded = "at least " if any(one.bound != "none" for one in found) else ""
        return f"off by {bounded}{(' to ' if found[2:] else ' and ').join(ends)}" if ends else ""

    def alone(self, code: str) -> int:
        """Return how many rows have findings of one kind alone; 0 where all that have some do."""
        rows: dict[tuple[int, int], set[str]] = {}
        for one in self.grave:
            rows.setdefault(_row(one), set()).add(one.code)
        alone = sum(codes == {code} for codes in rows.values())
        return alone if alone < len(rows) else 0

    def as_printed(self, finding: Finding) -> str:
        """Return the number that a finding's row prints, with its unit."""
        return f"{finding.printed:.12g} {finding.unit}".strip()

    def briefly(self, finding: Finding) -> list[str]:
        """Return the numbers that are printed and right, with the digits that part them."""
        pair = (finding.printed or 0.0, finding.expected or 0.0)
        for digits in range(LEAST_DIGITS, MOST_DIGITS):
            texts = [f"{significant(number, digits)} {finding.unit}".strip() for number in pair]
            if len({*texts}) == len({*pair}):
                break
        return texts

    def rounded(self, number: float, finding: Finding) -> str:
        """Return a number with as many digits as the times allow, and a finding's unit."""
        return f"{significant(number, self.digits)} {finding.unit}".strip()

    def expected(self, finding: Finding) -> str:
        """Return the number that is right, or a bound of it, with its unit."""
        return self.rounded(finding.expected or 0.0, finding)


def significant(number: float, digits: int) -> str:
    """Return a number with so many significant digits, or with all before the point."""
    return f"{number:.{max(digits, len(f'{abs(number):.0f}'))}g}"


def worded(found: Any) -> Any:
    """Return an audit of `dpscale.audit` with words for its causes and for what it assumed."""
    say = words.macros("audit.j2", {})

    def by(table: Mapping[str, str], cause: Cause) -> str:
        of = {name: say.SPOKEN.get(value, value) for name, value in cause.of.items()}
        follow = {name: of[name] for name in FOLLOWING & of.keys() if of[name] is not None}
        of |= {name: significant(number, found.digits) for name, number in follow.items()}
        return words.squeezed(say.doubted(cause, table[cause.kind].format(**of)))

    def explained(one: Finding) -> Finding:
        return replace(
            one,
            reason="; ".join(by(say.CAUSES, why) for why in one.reason if isinstance(why, Cause)),
        )

    return replace(
        found,
        findings=[explained(one) for one in found.findings],
        lessons=[replace(one, finding=explained(one.finding)) for one in found.lessons],
        doubts=[by(say.ASSUMED, one) for one in found.doubts],
        assumptions=[by(say.ASSUMED, one) for one in found.assumptions],
    )


def _doubtful(finding: Finding) -> bool:
    """Whether caches may do it: a speed-up beyond N, or times that leave less than nothing."""
    unprinted = finding.code == "negative_comm" and finding.printed is None
    return unprinted or finding.code == "superlinear"


def _row(finding: Finding) -> tuple[int, int]:
    return finding.workers, finding.per_worker_batch


def audit_section(path: Path, number: int) -> Answer:
    """Return the section T<number> of the audit in a file that audit_table.py wrote."""
    content = read_json(path)
    with about(path):
        audit = _Audit.model_validate(content)
    say = words.macros("audit.j2", {})
    return Answer(
        id=f"T{number}",
        title=_plain(audit.title),
        question=_plain(f"{audit.title}: do its numbers follow from its times?"),
        sentence=_typeset(words.squeezed(say.sentence(audit))),
        short=_typeset(words.squeezed(say.short(audit))),
        paragraphs=[*map(_typeset, words.paragraphs(say.assumed(audit)))],
        method=[*map(_typeset, words.paragraphs(say.read(audit)))],
        formula=FORMULAS if number == 1 else [],
        tables=[*_findings(audit, say), _corrected(audit, say)],
    )


def terminal_text(content: Mapping[str, Any], name: str) -> str:
    """Return an audit, as audit_table.py writes it, as lines for a terminal: tables in Markdown."""
    audit, say = _Audit.model_validate(content), words.macros("audit.j2", {})
    tables = [
        (_bare(table.caption), _markdown(table, audit.digits))
        for table in _terminal_tables(audit, say)
    ]
    facts = {"audit": audit, "name": name, "tables": tables}
    sentence = words.squeezed(say.sentence(audit))
    page = words.environment().get_template("audit.txt.j2")
    return page.render(**facts, sentence=sentence).rstrip("\n")


def _plain(text: str) -> str:
    """A text without formulas: other people's words are no TeX."""
    return text.replace("$", r"\$")


def _typeset(text: str) -> str:
    """A text whose formulas, which a terminal shows as they are, are TeX, and no other."""
    return _FORMULA.sub(lambda found: f"${_tex(found[0])}$", _plain(text))


def _tex(formula: str) -> str:
    return re.sub(r"\^(\d+)", r"^{\1}", formula.replace("*", r" \cdot "))


def _findings(audit: _Audit, say: Any) -> list[AnswerTable]:
    """The table of what is wrong, and one of the rows in which all that is wrong is slight: in the
    appendix, unless nothing else is wrong."""
    slight = audit.slight
    kinds = {"findings": [one for one in audit.findings if one not in slight], "slight": slight}
    tables = [_found(audit, say, name, found) for name, found in kinds.items() if found]
    return [table.model_copy(update={"further": table is not tables[0]}) for table in tables]


def _unbroken(text: str, unit: str) -> str:
    """A text whose number and unit stand on one line."""
    return text.replace(f" {unit}", f"\u00a0{unit}") if unit else text


def _found(audit: _Audit, say: Any, caption: str, findings: list[Finding]) -> AnswerTable:
    rows: list[dict[str, AnswerCell]] = [
        {
            **_place(finding),
            "code": say.KINDS[finding.code],
            "printed": None
            if finding.printed is None
            else _unbroken(audit.as_printed(finding), finding.unit),
            "expected": None
            if finding.expected is None
            else _unbroken(str(say.right(audit, finding)), finding.unit),
            "reason": _typeset(str(finding.reason)),
        }
        for finding in findings
    ]
    titles = {"code": "Wrong", "printed": "Printed", "expected": "Right", "reason": "Why"}
    if caption == "slight":  # which says what is wrong in all of them
        del titles["code"]
        rows = [{key: row[key] for key in row if key != "code"} for row in rows]
    columns = [Column(key=k, title=title, formulas=k == "reason") for k, title in titles.items()]
    return AnswerTable(caption=say.CAPTIONS[caption], columns=[*PLACE, *columns], rows=rows)


def _terminal_tables(audit: _Audit, say: Any) -> list[AnswerTable]:
    """The corrected table as a terminal is wide: a table a question."""
    many = [row for row in audit.derived if row.workers > 1]
    return [
        _table(audit.derived if name == "speedup" else many, say.CAPTIONS[name], *columns)
        for name, columns in CORRECTED.items()
    ]


def _corrected(audit: _Audit, say: Any) -> AnswerTable:
    """What the times give, in one table; of one worker its speed-up alone.

    A row of one worker is left out where other rows hold its time as their T_1.
    """
    columns = [one for of_question in CORRECTED.values() for one in of_question]
    held = {(row.per_worker_batch, row.base_s) for row in audit.derived if row.workers > 1}
    derived = [
        row
        for row in audit.derived
        if row.workers > 1 or (row.per_worker_batch, row.base_s) not in held
    ]
    table = _table(derived, say.CAPTIONS["corrected"], *columns)
    alone = dict.fromkeys(one.key for one in columns[len(CORRECTED["speedup"]) :])
    rows = [row | alone if row["workers"] == 1 else row for row in table.rows]
    torn = {_row(one) for one in audit.findings if one.code == TORN}
    for row in rows:  # what every N is set beside is one worker's
        if {(row["workers"], row["batch"]), (1, row["batch"])} & torn:
            row["batch"] = f"{row['batch']} †"
    loaded = any(row.holds_loading for row in derived)
    notes = [say.CAPTIONS[name] for name, shown in (("loaded", loaded), ("torn", torn)) if shown]
    caption = " ".join([_typeset(table.caption), *notes])
    return table.model_copy(update={"rows": rows, "caption": caption})


def _place(row: Derived | Finding) -> dict[str, AnswerCell]:
    return {"workers": row.workers, "batch": row.per_worker_batch}


def _table(derived: list[Derived], caption: str, *columns: Column) -> AnswerTable:
    rows = [_place(row) | {c.key: getattr(row, c.key) for c in columns} for row in derived]
    return AnswerTable(caption=words.squeezed(caption), columns=[*PLACE, *columns], rows=rows)


def _markdown(table: AnswerTable, digits: int) -> list[str]:
    """The lines of a table in Markdown, its columns flush right."""
    head = [_bare(one.title) + _UNITS.get(one.unit, ("", 1.0))[0] for one in table.columns]
    texts = [[_cell(row[one.key], one.unit, digits) for one in table.columns] for row in table.rows]
    widths = [max(2, *map(len, column)) for column in zip(head, *texts, strict=True)]
    lines = [head, [f"{'-' * (width - 1)}:" for width in widths], *texts]
    return [
        f"| {' | '.join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))} |"
        for line in lines
    ]


def _cell(value: AnswerCell, unit: str, digits: int) -> str:
    if value is None:
        return "–"
    if not isinstance(value, float):
        return str(value)
    scaled = value / _UNITS.get(unit, ("", 1.0))[1]
    return f"{value:.0f}" if unit == "bytes" else significant(scaled, digits)


def _bare(text: str) -> str:
    """A title without the marks of a formula."""
    return text.replace("$", "")
