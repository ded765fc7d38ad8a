"""What one of two results predicts of the lab's cells, beside what the other measured in them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dpscale.compare.results import Results
from dpscale.reporting.inputs import rows_of

CELL = ["workers", "per_worker_batch"]
PREDICTED = ["transfer_s", "affordable_base_s"]
MEASURED = [
    f"{name}{end}" for name in ("exposed_s", "speedup_ratio") for end in ("", "_low", "_high")
]


class Predictions(NamedTuple):
    """Rows of the lab's cells; what the other did not measure is null. Both are folders."""

    predicted: str
    measured: str
    rows: Sequence[Mapping[str, Any]]


def predictions(a: Results, b: Results) -> Predictions | None:
    """Return what one predicts beside what the other, b where both could, measured; else None."""
    for one, other in ((a, b), (b, a)):
        if "measured" in set(other.lab_cells["checked"]) and len(one.lab_cells):
            theirs = other.lab_cells[CELL + MEASURED]
            rows = rows_of(one.lab_cells[CELL + PREDICTED].merge(theirs, on=CELL, how="left"))
            return Predictions(one.folder, other.folder, rows)
    return None
