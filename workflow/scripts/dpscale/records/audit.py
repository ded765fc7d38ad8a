"""What audit_table.py writes of a hand-collected table, row by row, and the report reads."""

from dataclasses import dataclass

COLUMNS = (  # that findings are about
    "per_worker_batch",
    "epoch_s",
    "steps",
    "printed_speedup",
    "printed_compute_s",
    "printed_comm_s",
    "printed_compute_s + printed_comm_s",
    "printed_bandwidth_gb_per_s",
)
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
    "bandwidth_implausible",
    "batch_exceeds_dataset",
    "loading_faster_than_without",
    "steps_mismatch",
    "superlinear",
)


@dataclass(frozen=True)
class Derived:
    """A row of the corrected tables; None where the table gives too little to know it.

    iterations: of an epoch, with the last partial one; the bandwidth counts that by its share.
    base_s and epoch_s are the T_1 and T_N of the speed-up, total_s is computation and
    communication together.
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


@dataclass(frozen=True)
class Finding:
    """What is wrong in a row; printed and expected are in `unit`, None where unknown."""

    workers: int
    per_worker_batch: int
    code: str
    printed: float | None
    expected: float | None
    reason: str
    column: str
    unit: str = ""
