"""What audit_table.py writes of a hand-collected table, row by row, and the report reads."""

from dataclasses import dataclass, field
from typing import Any

CODES = (  # of findings
    "speedup_mismatch",
    "speedup_times_workers",
    "compute_mismatch",
    "comm_mismatch",
    "sum_mismatch",
    "negative_comm",
    "bandwidth_mismatch",
    "bandwidth_wrong_unit",
    "bandwidth_one_iteration",
    "bandwidth_fractional",
    "bandwidth_implausible",
    "batch_exceeds_dataset",
    "loading_faster_than_without",
    "steps_mismatch",
    "superlinear",
)
# Printed columns that follow from times.
COLUMNS = ("printed_speedup", "printed_compute_s", "printed_comm_s", "printed_bandwidth_gb_per_s")
# What the expected number of a finding is: what is right, or the least or most that can be, or that
# is usual.
BOUNDS = ("none", "least", "most", "usual")
NOTED_FRAC = 0.05  # off by less is small: nothing that a table teaches first


@dataclass(frozen=True)
class Cause:
    """What is behind a wrong number, or was assumed; report/audit.j2 has its words.

    of: what they name: numbers, or columns and other keys of SPOKEN there; nearly: the number as
    printed, and as this cause would give it, where they differ; perhaps: chance may do it.
    """

    kind: str
    of: dict[str, Any] = field(default_factory=dict)
    nearly: tuple[float, float] | None = None
    perhaps: bool = False


def cause(kind: str, **of: Any) -> Cause:
    """Return a cause of a kind, with what its words name."""
    return Cause(kind, of)


@dataclass(frozen=True)
class Derived:
    """A row of the corrected tables; None where the table gives too little to know it.

    iterations: of an epoch, with the last partial one, which sends all gradients too.
    base_s and epoch_s are the T_1 and T_N of the speed-up, total_s is computation and
    communication together. holds_loading: of these two times that of N workers alone is with
    loading, so that comm_s is an upper bound and the bandwidth a lower one.
    """

    workers: int
    per_worker_batch: int
    base_s: float | None
    epoch_s: float | None
    speedup_ratio: float | None
    efficiency_frac: float | None
    total_s: float | None
    compute_s: float | None
    comm_s: float | None
    iterations: int
    moved_bytes: float
    bandwidth_bytes_per_s: float | None
    holds_loading: bool = False


@dataclass(frozen=True)
class Finding:
    """What is wrong in a row; printed and expected are in `unit`, None where unknown.

    reason: its causes, or the words for them. Of some codes the number expected is but a bound.
    """

    workers: int
    per_worker_batch: int
    code: str
    printed: float | None
    expected: float | None
    reason: tuple[Cause, ...] | str
    column: str
    unit: str = ""

    @property
    def bound(self) -> str:
        """Which of BOUNDS the expected number is."""
        bounded = {
            "loading_faster_than_without": "least",
            "batch_exceeds_dataset": "most",
            "superlinear": "usual",
        }
        return bounded.get(self.code, "none")

    @property
    def off_frac(self) -> float:
        """How far a printed number is off, as a share of the right one; 0 where there is none."""
        if self.printed is None or not self.expected:
            return 0.0
        return abs(self.printed / self.expected - 1)

    @property
    def slight(self) -> bool:
        """Whether a last partial iteration is all that a printed number lacks, and little of it."""
        return self.code == "bandwidth_fractional" and 0 < self.off_frac <= NOTED_FRAC


@dataclass(frozen=True)
class Lesson:
    """A column of which every printed number is wrong by one cause, of this kind.

    finding: that of the column's first number.
    """

    kind: str
    finding: Finding
