"""DataParallel against DistributedDataParallel on the same devices."""

from collections.abc import Sequence
from itertools import chain
from statistics import median as median_of

from dpscale.derive.statistics import interval_columns, median, median_ratio
from dpscale.reporting import intervals
from dpscale.reporting.inputs import Inputs, Row
from dpscale.reporting.words import by

WRAPPERS = {"data_parallel": "DataParallel", "distributed": "DistributedDataParallel"}


def timed(inputs: Inputs) -> list[Row]:
    """Return both wrappers' runs with the median epoch of their repeats."""
    return [
        _timed(inputs, own)
        for arm, own in by(inputs.tidy_rows("runs", study="data_parallel"), "arm")
        if arm in WRAPPERS
    ]


def compared(inputs: Inputs) -> Row | None:
    """Return DataParallel's epoch over that of DistributedDataParallel, with a verdict.

    None where either has no time.
    """
    by_arm = dict(by(inputs.tidy_rows("runs", study="data_parallel"), "arm"))
    launches = [by_arm.get(arm, []) for arm in WRAPPERS]
    times = [_times(inputs, own) for own in launches]
    if not all(times):
        return None
    ratio = median_ratio(*times)
    row = Row(interval_columns("slower_ratio", ratio), repeats=ratio.repeats,
              runs=" ".join(one["run"] for own in launches for one in own))  # fmt: skip
    return row | {"verdict": intervals.against(row.slower_ratio, 1.0)}


def _times(inputs: Inputs, launches: Sequence[Row]) -> list[float]:
    """The median epoch of each launch; of a single one its repeats."""
    epochs = [
        [one["epoch_s"] for one in inputs.rows("epoch_times", run=row["run"])] for row in launches
    ]
    known = [[seconds for seconds in own if seconds is not None] for own in epochs]
    times = [own for own in known if own]
    return [median_of(own) for own in times] if len(times) > 1 else [*chain(*times)]


def _timed(inputs: Inputs, launches: Sequence[Row]) -> Row:
    row, epoch = launches[0], median(_times(inputs, launches))
    more = {
        "runs": " ".join(one["run"] for one in launches), "wrapper": WRAPPERS[row["arm"]],
        "seeds": None, "outcome": row["status"].replace("_", " "), "repeats": epoch.repeats or None,
    }  # fmt: skip
    return row | more | interval_columns("epoch_s", epoch)
