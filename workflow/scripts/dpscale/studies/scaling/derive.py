"""Scaling: epoch time, speed-up and efficiency of every planned cell, weak and strong."""

from typing import Any

import pandas as pd

from dpscale.derive.cells import (
    Cell,
    by_arm_and_run,
    cells,
    in_study,
    launches_of,
    one_worker_bases,
    rounds_of,
)
from dpscale.derive.columns import Columns, as_table, flags, floats, integers, texts
from dpscale.derive.formulas import efficiency
from dpscale.derive.rows import RowsByKey
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import UNKNOWN, Estimate, median, median_ratio
from dpscale.derive.tables import Table
from dpscale.vocabulary import words

COLUMNS: Columns = (
    words("kind", ("weak", "strong"))
    | integers("workers nodes per_worker_batch global_batch")
    | texts("status")
    | floats("epoch_s epoch_s_low epoch_s_high")
    | floats("speedup_ratio speedup_ratio_low speedup_ratio_high efficiency_frac")
    | flags("oversubscribed")
    | texts("runs")
    | integers("repeats")
    | floats("efficiency_frac_low efficiency_frac_high")
    | texts("base_status base_runs")
    | integers("launches")
    | floats("launch_spread_frac")
)
ARM = "with_loading"


def _speedup(cell: Cell, base: Cell | None, times: RowsByKey) -> Estimate:
    """Return T_1/T_N of the cell against its base; the base against itself is exactly 1."""
    of_cell, of_base = (rounds_of(one, times, ARM) for one in (cell, base))
    if cell == base and len(of_cell):
        return Estimate(1.0, 1.0, 1.0, len(of_cell))
    return median_ratio(of_base, of_cell) if len(of_cell) and len(of_base) else UNKNOWN


def _row(kind: str, cell: Cell, base: Cell | None, times: RowsByKey) -> dict[str, Any]:
    time = median(rounds_of(cell, times, ARM))
    ratio = _speedup(cell, base, times)
    share = [None if bound is None else efficiency(bound, cell.workers) for bound in ratio[:3]]
    return {
        "kind": kind,
        "workers": cell.workers,
        "nodes": cell.nodes,
        "per_worker_batch": cell.per_worker_batch,
        "global_batch": cell.global_batch,
        "status": cell.status,
        "epoch_s": time.value,
        "epoch_s_low": time.low,
        "epoch_s_high": time.high,
        "speedup_ratio": ratio.value,
        "speedup_ratio_low": ratio.low,
        "speedup_ratio_high": ratio.high,
        "efficiency_frac": share[0],
        "oversubscribed": cell.oversubscribed,
        "runs": " ".join(cell.runs),
        "repeats": time.repeats,
        "efficiency_frac_low": share[1],
        "efficiency_frac_high": share[2],
        "base_status": base.status if base else None,
        "base_runs": " ".join(base.runs) if base else None,
        **launches_of(cell, times, ARM),
    }


def scaling(epoch_times: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return speed-up T_1/T_N and efficiency of every planned cell, loading included.

    Weak rows keep b: their base is one worker with the same b. Strong rows keep B: their base is
    one worker with b = B. A cell planned for a strong series only (no one-worker run of its b is
    planned) has no weak row. A cell that did not run is a row with its status and nulls.
    Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, "scaling")
    require_same_machine(planned)
    found = cells(planned)
    bases = one_worker_bases(found)
    times = by_arm_and_run(epoch_times)
    rows = []
    for cell in found:
        base = bases.get(cell.per_worker_batch)
        if base or cell.global_batch not in bases:
            rows.append(_row("weak", cell, base, times))
    for cell in sorted(found, key=lambda one: (one.global_batch, one.workers, one.nodes or 1)):
        if cell.global_batch in bases:
            rows.append(_row("strong", cell, bases[cell.global_batch], times))
    return as_table(rows, COLUMNS)


TABLES = {
    "scaling": Table(scaling, ["epoch_times", "runs"], COLUMNS),
}
