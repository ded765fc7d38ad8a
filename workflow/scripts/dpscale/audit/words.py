"""An audit as people read it: what was assumed, what is wrong, and the corrected lab tables."""

from collections.abc import Iterator, Sequence

from dpscale.audit.finding import shown
from dpscale.audit.judge import Audit
from dpscale.records.audit import Derived, Finding

UNKNOWN = "–"


def described(audit: Audit, name: str) -> str:
    """Return the audit of the table of this name as text, its tables in Markdown."""
    rows, count = len(audit.derived), len(audit.findings)
    lines = [
        f"{name}: {rows} row{'s' * (rows != 1)}, {count or 'no'} finding{'s' * (count != 1)}",
        "",
        "Read and assumed:",
        *(f"- {line}" for line in audit.assumptions),
    ]
    if audit.findings:
        lines += ["", "Findings:"]
        lines += [f"{number}. {_said(f)}" for number, f in enumerate(audit.findings, start=1)]
    for title, head, cells in _tables(audit.derived):
        lines += ["", title, "", *markdown(head, cells)]
    return "\n".join(lines)


def _said(finding: Finding) -> str:
    printed = "" if finding.printed is None else f", {finding.column} {finding.printed:.12g}"
    expected = "" if finding.expected is None else f", expected {_number(finding.expected)}"
    unit = f" {finding.unit}" if finding.unit and (printed or expected) else ""
    place = f"N = {finding.workers}, b = {finding.per_worker_batch}"
    return f"{place}: {finding.code}{printed}{expected}{unit}: {finding.reason}"


def _tables(derived: Sequence[Derived]) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Title, head and cells of the lab's tables, as the times give them."""
    many = [row for row in derived if row.workers > 1]
    yield (
        "Q2. Speed-up T_1/T_N and parallel efficiency",
        ["N", "b", "T_1 (s)", "T_N (s)", "Speed-up", "Efficiency"],
        [
            [*_place(r), *map(_number, (r.base_s, r.epoch_s, r.speedup_ratio, r.efficiency_frac))]
            for r in derived
        ],
    )
    yield (
        "Q3.1. Computation T_1/N and communication T_N - T_1/N, per epoch",
        ["N", "b", "T_N (s)", "Computation (s)", "Communication (s)"],
        [[*_place(r), *map(_number, (r.total_s, r.compute_s, r.comm_s))] for r in many],
    )
    yield (
        "Q3.2. Bandwidth 2(N-1)/N X itemsize iterations / communication (GB = 10^9 bytes)",
        ["N", "b", "Iterations", "Bytes an iteration", "Bandwidth (GB/s)"],
        [
            [
                *_place(r),
                _number(r.iterations),
                f"{r.moved_bytes:.0f}",
                _number(r.bandwidth_bytes_per_s and r.bandwidth_bytes_per_s / 1e9),
            ]
            for r in many
        ],
    )


def _place(row: Derived) -> list[str]:
    return [str(row.workers), str(row.per_worker_batch)]


def _number(value: float | None) -> str:
    return UNKNOWN if value is None else shown(value)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table, its columns flush right."""
    widths = [max(2, *map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [head, [f"{'-' * (width - 1)}:" for width in widths], *rows]
    return [
        f"| {' | '.join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))} |"
        for line in lines
    ]
