"""Communication: an epoch's seconds split into computation and communication by subtraction."""

from typing import Any

import pandas as pd

from dpscale.derive.cells import Cell, cells, in_study, one_worker_bases, repeats_of
from dpscale.derive.columns import Columns, as_table, flags, floats, integers, texts
from dpscale.derive.formulas import communication_seconds, compute_seconds
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import UNKNOWN, Estimate, median, median_difference, verdict

COLUMNS: Columns = (
    integers("workers nodes per_worker_batch")
    | texts("status")
    | floats("epoch_s compute_s subtraction_s subtraction_s_low subtraction_s_high")
    | floats("exposed_s overhead_s contention_s span_s base_epoch_s")
    | flags("below_noise oversubscribed")
    | texts("runs base_status base_runs")
    | floats("epoch_s_low epoch_s_high")
)
ARM = "without_loading"


def _subtraction(cell: Cell, base: Cell | None, epoch_times: pd.DataFrame) -> Estimate:
    """Return T_N - T_1/N of the medians, with the interval of the two samples resampled."""
    of_cell, of_base = (repeats_of(one, epoch_times, ARM) for one in (cell, base))
    if not len(of_cell) or not len(of_base):
        return UNKNOWN
    return median_difference(of_cell, compute_seconds(of_base, cell.workers))


def _row(cell: Cell, base: Cell | None, epoch_times: pd.DataFrame) -> dict[str, Any]:
    epoch = median(repeats_of(cell, epoch_times, ARM))
    epoch_s = epoch.value
    base_epoch_s = median(repeats_of(base, epoch_times, ARM)).value
    split = _subtraction(cell, base, epoch_times)
    where = verdict(split.low, split.high, 0.0)
    compute_s = None if base_epoch_s is None else compute_seconds(base_epoch_s, cell.workers)
    # From the same two medians as compute_s, so that the two parts add up to the whole exactly
    subtraction_s = None
    if epoch_s is not None and base_epoch_s is not None:
        subtraction_s = communication_seconds(base_epoch_s, epoch_s, cell.workers)
    return {
        "workers": cell.workers,
        "nodes": cell.nodes,
        "per_worker_batch": cell.per_worker_batch,
        "status": cell.status,
        "epoch_s": epoch_s,
        "compute_s": compute_s if cell.status == "complete" else None,
        "subtraction_s": subtraction_s,
        "subtraction_s_low": split.low,
        "subtraction_s_high": split.high,
        "base_epoch_s": base_epoch_s,
        "below_noise": None if where == "unknown" else where == "indistinct",
        "oversubscribed": cell.oversubscribed,
        "runs": " ".join(cell.runs),
        "base_status": base.status if base else None,
        "base_runs": " ".join(base.runs) if base else None,
        "epoch_s_low": epoch.low,
        "epoch_s_high": epoch.high,
    }


def communication(epoch_times: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return compute_s = T_1/N and subtraction_s = T_N - T_1/N of the planned cells of N >= 2.

    Seconds of an epoch of D samples without loading; T_1 is one worker's with the same b. One row
    for each (workers, nodes, b) whose b one worker is planned to run too. below_noise says that
    the interval of the subtraction covers 0, and is null where there is no interval. The direct
    measurements (exposed, overhead, contention, span) are null until they are measured.
    Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, "scaling")
    require_same_machine(planned)
    found = cells(planned)
    bases = one_worker_bases(found)
    rows = [_row(cell, bases[cell.per_worker_batch], epoch_times)
            for cell in found
            if cell.workers >= 2 and cell.per_worker_batch in bases]  # fmt: skip
    return as_table(rows, COLUMNS)
