"""DataParallel against DistributedDataParallel on the same devices."""

import statistics

from dpscale.reporting.inputs import Inputs, Row

WRAPPERS = {"data_parallel": "DataParallel", "distributed": "DistributedDataParallel"}


def timed(inputs: Inputs) -> list[Row]:
    """Return both wrappers' runs with the median epoch, and the range of repeats as interval."""
    rows = inputs.tidy_rows("runs", study="data_parallel")
    return [_timed(inputs, row) for row in rows if row["arm"] in WRAPPERS]


def _timed(inputs: Inputs, row: Row) -> Row:
    times = [one["epoch_s"] for one in inputs.rows("epoch_times", run=row["run"])]
    several = len(times) > 1
    return row | {
        "runs": row["run"], "wrapper": WRAPPERS[row["arm"]],
        "outcome": row["status"].replace("_", " "), "repeats": len(times) or None, "seeds": None,
        "epoch_s": statistics.median(times) if times else None,
        "epoch_s_low": min(times) if several else None,
        "epoch_s_high": max(times) if several else None,
    }  # fmt: skip
