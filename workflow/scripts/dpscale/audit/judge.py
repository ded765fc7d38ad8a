"""A table judged: what its times give, what is wrong in it and what was assumed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dpscale.audit.bandwidths import PRINTED, Traffic, bandwidths
from dpscale.audit.cells import RATES, SheetCell, rate_name
from dpscale.audit.communication import COMM, COMPUTE, Split, communication, summed
from dpscale.audit.conventions import (
    COMMUNICATION,
    EPOCH,
    SPEEDUP,
    Facts,
    Given,
    Times,
    chosen,
    settled,
)
from dpscale.audit.table import TIMES, Setting, TimingRow, TimingTable
from dpscale.audit.timings import PRINTED as PRINTED_SPEEDUP
from dpscale.audit.timings import impossible, spared, speedup_fits, speedups
from dpscale.derive.formulas import efficiency, loader_steps, speedup
from dpscale.records.audit import COLUMNS, NOTED_FRAC, Cause, Derived, Finding, Lesson, cause

MOST_CELLS = 6  # that are named where something is unknown
LEAST_DIGITS, MOST_DIGITS = 4, 6  # that a number is printed with
UNEXPLAINED = {"speedup", "compute", "comm", "rate", "no_rate"}  # causes that name no mistake


@dataclass(frozen=True)
class Audit:
    """What an audit found: a derived row for each row of the table, findings, assumptions.

    lessons: columns that are wrong throughout, by one cause. doubts: what is no finding, and yet
    not to be relied on. digits: significant ones that the times allow a number that follows from
    them. printed: numbers of the table that follow from its others; checked: those that have
    something to be compared with: a time, or of two parts without one worker's time their sum.
    """

    facts: Facts
    derived: list[Derived]
    findings: list[Finding]
    lessons: list[Lesson]
    doubts: list[Cause]
    assumptions: list[Cause]
    digits: int
    printed: int
    checked: int


def audit(table: TimingTable, given: Given) -> Audit:
    """Return the audit of a table."""
    facts, stated = settled(given, table)

    def fits(row: TimingRow, times: Times) -> int:
        """How many printed numbers of a row follow from these times."""
        parts = Split(row, times)
        agreeing = row.meets(COMPUTE, parts.compute) + row.meets(COMM, parts.comm)
        return agreeing + Traffic(row, facts, parts).follows()

    fast, split = chosen(table, SPEEDUP, speedup_fits), chosen(table, COMMUNICATION, fits)
    parts = {place: Split(table.rows[place], times) for place, times in split.items()}
    flows = {place: Traffic(row, facts, parts.get(place)) for place, row in table.rows.items()}
    factor = _rate_factor(table, flows)
    findings = list(_findings(table, flows, fast, factor))
    refuted = _refuted(table, findings)
    resting = [place for place, times in fast.items() if _rests_on(times, refuted)]
    beside = _beside(table, findings)
    doubted = [place for place, times in split.items() if _rests_on(times, beside)]
    return Audit(
        facts,
        [
            _derived(flow, None if place in resting else fast.get(place), refuted)
            for place, flow in flows.items()
        ],
        findings,
        list(_lessons(table, findings)),
        [
            *_copies(table),
            *spared(table.rows.values(), fast),
            *_resting("refuted", resting),
            *_resting("beside_refuted", doubted),
        ],
        [*stated, *table.remarks, *_assumptions(table, fast, split, factor)],
        _digits(table),
        *_counts(flows, fast),
    )


def _digits(table: TimingTable) -> int:
    """The significant digits of the roughest time, within what a reader needs and can read."""
    times = [row.cells[name] for row in table.rows.values() for name in TIMES if name in row.cells]
    roughest = min((cell.digits for cell in times), default=LEAST_DIGITS)
    return min(max(roughest, LEAST_DIGITS), MOST_DIGITS)


def _lessons(table: TimingTable, findings: Sequence[Finding]) -> Iterator[Lesson]:
    """The columns of which all printed numbers of several workers are wrong by one known cause.

    None whose first number is nearly right all the same: that is no lesson to begin with.
    """
    for column in COLUMNS:
        printed = [p for p, row in table.rows.items() if p[0] > 1 and column in row.cells]
        found = {(f.workers, f.per_worker_batch): f for f in findings if f.column == column}
        if len(printed) > 1 and set(printed) <= found.keys():
            first = [why for place in printed for why in found[place].reason[:1]]
            causes = [why for why in first if isinstance(why, Cause)]
            kinds = {why.kind for why in causes}
            sure = not any(why.perhaps or why.nearly for why in causes)
            if _far_off(found[printed[0]]) and sure and len(kinds) == 1 and not kinds & UNEXPLAINED:
                yield Lesson(kinds.pop(), found[printed[0]])


def _far_off(finding: Finding) -> bool:
    """Whether a printed number is wrong by more than hardly anybody would notice."""
    return not (finding.printed and finding.expected) or finding.off_frac > NOTED_FRAC


def _counts(flows: dict[Setting, Traffic], fast: dict[Setting, Times]) -> tuple[int, int]:
    """How many printed numbers follow from others, and how many of these could be compared."""
    comparable = []
    for place, flow in flows.items():
        parts = flow.parts is not None or bool(summed(flow.row))
        known = {
            "steps": True,
            PRINTED_SPEEDUP: place in fast,
            COMPUTE: parts,
            COMM: parts,
            PRINTED: bool(flow.comms) or flow.row.workers == 1,
        }
        comparable += [there for name, there in known.items() if name in flow.row.cells]
    return len(comparable), sum(comparable)


def _refuted(table: TimingTable, findings: Sequence[Finding]) -> list[SheetCell]:
    """The times that cannot be right whatever else is: nothing follows from them."""
    cells = []
    for finding in findings:
        measured = table.rows[finding.workers, finding.per_worker_batch].cells
        columns = {"batch_exceeds_dataset": TIMES, "loading_faster_than_without": [EPOCH]}
        cells += [measured[name] for name in columns.get(finding.code, ()) if name in measured]
    return cells


def _beside(table: TimingTable, findings: Sequence[Finding]) -> list[SheetCell]:
    """The times without loading of epochs that loading seems to shorten: either may be wrong."""
    settings = [
        (finding.workers, finding.per_worker_batch)
        for finding in findings
        if finding.code == "loading_faster_than_without"
    ]
    cells = [table.rows[place].cells for place in settings]
    return [of[name] for of in cells for name in TIMES if name != EPOCH and name in of]


def _rests_on(times: Times, refuted: Sequence[SheetCell]) -> bool:
    return any(cell is times.base or cell is times.total for cell in refuted)


def _resting(kind: str, places: Sequence[Setting]) -> Iterator[Cause]:
    """What is left out, or as doubtful, for a time that cannot be right."""
    if places:
        yield cause(kind, cells=", ".join(map(str, places)))


def _derived(flow: Traffic, times: Times | None, refuted: Sequence[SheetCell]) -> Derived:
    row, parts = flow.row, flow.parts
    if parts and _rests_on(parts.times, refuted):
        flow, parts = replace(flow, parts=None), None
    sound = {
        name: cell.value
        for name, cell in row.cells.items()
        if not any(cell is one for one in refuted)
    }
    epoch_s, nodata_s = sound.get("epoch_s"), sound.get("nodata_s")
    ratio = speedup(times.base.value, times.total.value) if times else None
    return Derived(
        workers=row.workers,
        per_worker_batch=row.per_worker_batch,
        base_s=times.base.value if times else None,
        epoch_s=times.total.value if times else epoch_s or nodata_s,
        speedup_ratio=ratio,
        efficiency_frac=None if ratio is None else efficiency(ratio, row.workers),
        total_s=parts.times.total.value if parts else nodata_s or epoch_s,
        compute_s=parts.compute_s if parts else None,
        comm_s=parts.comm_s if parts else None,
        iterations=loader_steps(flow.facts.samples, row.global_batch),
        moved_bytes=flow.moved_bytes,
        bandwidth_bytes_per_s=flow.rate,
        holds_loading=parts is not None and parts.times.holds_loading,
    )


def _findings(
    table: TimingTable, flows: dict[Setting, Traffic], fast: dict[Setting, Times], factor: float
) -> Iterator[Finding]:
    for place, flow in flows.items():
        yield from impossible(flow.row, flow.facts)
        found = list(speedups(table, flow.row, fast.get(place)))
        superlinear = any(finding.code == "superlinear" for finding in found)
        yield from found
        yield from communication(table, flow.row, flow.parts, superlinear=superlinear)
        yield from bandwidths(flow, factor)


def _rate_factor(table: TimingTable, flows: dict[Setting, Traffic]) -> float:
    """The unit of bandwidths whose header states none, over GB/s: the one that most rows follow."""
    column = table.columns.get(PRINTED)
    if column is None or column.stated:
        return 1.0
    many = [flow for flow in flows.values() if flow.row.workers > 1]
    factors = [scale / column.scale for scale in RATES.values()]
    return max(factors, key=lambda factor: sum(flow.follows(factor) for flow in many))


def _assumptions(
    table: TimingTable, fast: dict[Setting, Times], split: dict[Setting, Times], factor: float
) -> Iterator[Cause]:
    """How the rows were judged, each way once."""
    many = [place for place in table.rows if place[0] > 1]
    for what, ways in (("speedups", fast), ("parts", split)):
        rest_on = {ways[place].way: ways[place].named for place in many if place in ways}
        yield from (cause("rest_on", what=what, **way) for way in rest_on.values())
        if lacking := [place for place in many if place not in ways]:
            named = [*map(str, lacking[:MOST_CELLS]), *["…"] * (len(lacking) > MOST_CELLS)]
            yield cause("unknown", what=what, cells=", ".join(named))
    if factor != 1:
        yield cause("rate_unit", unit=rate_name(table.columns[PRINTED].scale * factor))


def _copies(table: TimingTable) -> Iterator[Cause]:
    """Times that may be copies of others."""
    if copied := [place[1] for place, row in table.rows.items() if _copied(row)]:
        yield cause("copied", batches=", ".join(map(str, copied)))


def _copied(row: TimingRow) -> bool:
    """Return whether one worker's time with loading is to the digit one without."""
    loaded = row.cells.get(EPOCH)
    bare = [row.cells[name] for name in TIMES if name != EPOCH and name in row.cells]
    return row.workers == 1 and loaded is not None and any(c.typed == loaded.typed for c in bare)
