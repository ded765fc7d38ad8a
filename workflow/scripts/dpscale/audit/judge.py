"""A table judged: what its times give, what is wrong in it, and what was assumed."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from dpscale.audit import bandwidths, communication, plausibility, speedups
from dpscale.audit.conventions import COMMUNICATION, Choice, Times
from dpscale.audit.derived import derived_row
from dpscale.audit.facts import Facts, Given, settled
from dpscale.audit.finding import CODES
from dpscale.audit.scales import RATES, rate_name
from dpscale.audit.split import Split, agreeing, split
from dpscale.audit.table import Row, Table
from dpscale.audit.traffic import Traffic, traffic
from dpscale.records.audit import Derived, Finding


@dataclass(frozen=True)
class Audit:
    """What an audit found: a derived row for each row of the table, findings, assumptions."""

    facts: Facts
    derived: list[Derived]
    findings: list[Finding]
    assumptions: list[str]

    def content(self) -> dict[str, Any]:
        """The audit as plain data for JSON; unknown is None."""
        return asdict(self)


@dataclass(frozen=True)
class _Judged:
    """A row with the times that it is judged by."""

    row: Row
    speedup: Times | None
    parts: Split | None
    flow: Traffic


def audit(table: Table, given: Given) -> Audit:
    """Return the audit of a table."""
    facts, stated = settled(given, table.comments, needs_epochs="steps" in table.columns)

    def fits(row: Row, times: Times) -> int:
        """How many printed numbers of a row follow from these times."""
        parts = split(row, times)
        return agreeing(row, parts) + bandwidths.follows(row, traffic(row, facts, parts))

    speedup_choice, split_choice = speedups.choice(table), Choice(table, COMMUNICATION, fits)
    rows = []
    for row in table:
        times = split_choice.of(row)
        parts = split(row, times) if times else None
        rows.append(_Judged(row, speedup_choice.of(row), parts, traffic(row, facts, parts)))
    factor = _rate_factor(table, rows)
    return Audit(
        facts,
        [derived_row(judged.row, judged.speedup, judged.parts, judged.flow) for judged in rows],
        [finding for judged in rows for finding in _findings(table, judged, facts, factor)],
        [*stated, *table.remarks, *_assumptions(rows, factor, table)],
    )


def _findings(table: Table, judged: _Judged, facts: Facts, factor: float) -> Iterator[Finding]:
    row = judged.row
    fast = list(speedups.findings(table, row, judged.speedup))
    superlinear = any(finding.code == "superlinear" for finding in fast)
    found = [
        *plausibility.findings(row, facts),
        *fast,
        *communication.findings(table, row, judged.parts, superlinear=superlinear),
        *bandwidths.findings(row, judged.flow, factor),
    ]
    yield from sorted(found, key=lambda finding: CODES.index(finding.code))


def _rate_factor(table: Table, rows: list[_Judged]) -> float:
    """The unit of bandwidths whose header states none, over GB/s: the one that most rows follow."""
    column = table.columns.get(bandwidths.PRINTED)
    if column is None or column.stated:
        return 1.0

    def followed(scale: float) -> int:
        """How many bandwidths are right where the unit is this one."""
        factor = scale / column.scale
        many = (judged for judged in rows if judged.row.workers > 1)
        return sum(bandwidths.follows(judged.row, judged.flow, factor) for judged in many)

    return max(RATES.values(), key=followed) / column.scale


def _assumptions(rows: list[_Judged], factor: float, table: Table) -> Iterator[str]:
    """How the rows were judged, each way once."""
    many = [judged for judged in rows if judged.row.workers > 1]
    for words, ways in (
        ("speed-ups", [judged.speedup for judged in many]),
        ("computation and communication", [j.parts and j.parts.times for j in many]),
    ):
        for way in dict.fromkeys(times.described() for times in ways if times):
            yield f"{words} rest on {way}"
        lacking = [j.row for j, times in zip(many, ways, strict=True) if times is None]
        if lacking:
            cells = ", ".join(f"({row.workers}, {row.per_worker_batch})" for row in lacking[:6])
            more = f" and {len(lacking) - 6} more" if len(lacking) > 6 else ""
            yield f"{words} of (N, b) = {cells}{more} are unknown: a time of 1 or of N is missing"
    if bandwidths.PRINTED in table.columns and factor != 1:
        unit = rate_name(table.columns[bandwidths.PRINTED].scale * factor)
        yield f"bandwidths are in {unit}, the unit that most of the column follows"
