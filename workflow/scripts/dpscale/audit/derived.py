"""What a row's times give, by the formulas of the lab."""

from dataclasses import dataclass

from dpscale.audit.conventions import Times
from dpscale.audit.split import Split
from dpscale.audit.table import Row
from dpscale.audit.traffic import Traffic
from dpscale.derive.formulas import efficiency, speedup


@dataclass(frozen=True)
class Derived:
    """A row of the corrected tables; None where the table gives too little to know it.

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
    iterations: float
    moved_bytes: float
    bandwidth_bytes_per_s: float | None


def derived_row(row: Row, times: Times | None, parts: Split | None, flow: Traffic) -> Derived:
    """Return what the chosen times of speed-up and split give."""
    ratio = speedup(times.base.value, times.total.value) if times else None
    return Derived(
        workers=row.workers,
        per_worker_batch=row.per_worker_batch,
        base_s=times.base.value if times else None,
        epoch_s=times.total.value if times else _measured(row, "epoch_s", "nodata_s"),
        speedup_ratio=ratio,
        efficiency_frac=None if ratio is None else efficiency(ratio, row.workers),
        total_s=parts.times.total.value if parts else _measured(row, "nodata_s", "epoch_s"),
        compute_s=parts.compute_s if parts else None,
        comm_s=parts.comm_s if parts else None,
        iterations=flow.iterations[0],
        moved_bytes=flow.moved_bytes,
        bandwidth_bytes_per_s=flow.rate,
    )


def _measured(row: Row, *names: str) -> float | None:
    """The first of these times that the row has."""
    return next((row.cells[name].value for name in names if name in row.cells), None)
