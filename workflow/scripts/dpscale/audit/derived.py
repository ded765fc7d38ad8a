"""What a row's times give, by the formulas of the lab."""

from dpscale.audit.conventions import Times
from dpscale.audit.split import Split
from dpscale.audit.table import Row
from dpscale.audit.traffic import Traffic
from dpscale.derive.formulas import efficiency, speedup
from dpscale.records.audit import Derived


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
