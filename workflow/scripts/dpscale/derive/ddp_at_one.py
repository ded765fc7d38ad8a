"""DDP around one worker: what the wrapper costs where there is nobody to talk to."""

import pandas as pd

from dpscale.derive.cells import by_arm_and_run, cells, in_study, rounds_of
from dpscale.derive.columns import Columns, as_table, floats, integers, texts
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import UNKNOWN, median, paired_median_ratio

COLUMNS: Columns = (
    integers("per_worker_batch")
    | texts("status")
    | floats("bare_epoch_s ddp_epoch_s overhead_frac overhead_frac_low overhead_frac_high")
    | integers("repeats")
    | texts("runs")
)


def ddp_at_one(epoch_times: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one worker's epoch with and without DDP; overhead_frac = with / without - 1.

    Seconds of an epoch of D samples without loading, medians of interleaved repeats; null where
    DDP at one worker was not measured. Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, "scaling")
    require_same_machine(planned)
    times = by_arm_and_run(epoch_times)
    rows = []
    for cell in cells(planned[planned["workers"] == 1]):
        bare = rounds_of(cell, times, "without_loading")
        wrapped = rounds_of(cell, times, "ddp_of_one")
        ratio = paired_median_ratio(wrapped, bare) if len(wrapped) and len(bare) else UNKNOWN
        over = [None if bound is None else bound - 1 for bound in ratio[:3]]
        rows.append({
            "per_worker_batch": cell.per_worker_batch, "status": cell.status,
            "bare_epoch_s": median(bare).value, "ddp_epoch_s": median(wrapped).value,
            "overhead_frac": over[0], "overhead_frac_low": over[1], "overhead_frac_high": over[2],
            "repeats": len(wrapped) or None, "runs": " ".join(cell.runs),
        })  # fmt: skip
    return as_table(rows, COLUMNS)
