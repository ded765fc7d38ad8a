"""Q5's timing: DataParallel against DistributedDataParallel on the same devices."""

import statistics

from dpscale.reporting.answer import Column, Table, Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import RESULTS, Inputs, Row

TITLES = {"data_parallel": "DataParallel", "distributed": "DistributedDataParallel"}


def _rows(inputs: Inputs) -> list[Row]:
    return [
        row for row in inputs.tidy_rows("runs", study="data_parallel") if row.get("arm") in TITLES
    ]


def missing(inputs: Inputs) -> list[str]:
    """Return one line for each planned run of the study without a result."""
    return [
        f"data_parallel, {TITLES[row['arm']]}: {row['status']}"
        for row in _rows(inputs)
        if row["status"] not in RESULTS
    ]


def _time(inputs: Inputs, row: Row) -> Value:
    """Median epoch time of a run, and the range of its repeats as low and high."""
    times = [one["epoch_s"] for one in inputs.rows("epoch_times", run=row["run"])]
    several = len(times) > 1
    return Value(
        value=statistics.median(times) if times else None,
        unit="s",
        runs=[row["run"]],
        low=min(times) if several else None,
        high=max(times) if several else None,
        n=len(times) or None,
        status=None if times else row["status"],
    )


def values(inputs: Inputs) -> dict[str, Value]:
    """Return the epoch time of each run of the study."""
    return {f"{row['arm']}_epoch_s": _time(inputs, row) for row in _rows(inputs)}


def paragraph(inputs: Inputs) -> str:
    """Return which of the two is faster, or why they could not be timed."""
    rows = _rows(inputs)
    if not rows:
        return (
            "The two were not timed against each other: the configuration plans no such run, "
            "since DataParallel needs several GPUs in one machine."
        )
    refused = [row for row in rows if row["status"] != "complete"]
    if refused:
        reasons = list(dict.fromkeys(row["message"] for row in refused if row.get("message")))
        why = f" ({'; '.join(reasons)})" if reasons else ""
        state = str(refused[0]["status"]).replace("_", " ")
        return (
            f"The two could not be timed against each other on this machine: the run's "
            f"outcome is {state}{why}."
        )
    times = {row["arm"]: _time(inputs, row) for row in rows}
    if len(times) < 2 or any(time.value is None for time in times.values()):
        return "Only one of the two has a time, so they are not compared."
    verdict = prose.compare(times["distributed"], times["data_parallel"])
    words = {
        "below": "DistributedDataParallel is faster",
        "above": "DataParallel is faster",
        "indistinct": "the two cannot be told apart",
        "unknown": "one repeat does not tell the two apart",
    }[verdict]
    both = prose.join([f"{prose.quantity(time)} with {TITLES[arm]}" for arm, time in times.items()])
    return (
        f"On the same devices and the same global batch an epoch without loading takes "
        f"{both}: {words}. Times are medians, brackets the range of the repeats."
    )


def tables(inputs: Inputs) -> list[Table]:
    """Return the table of the study's runs; none when no run is planned."""
    rows = _rows(inputs)
    columns = [
        Column(key="wrapper", title="Wrapper"),
        Column(key="outcome", title="Outcome"),
        Column(key="global_batch", title="Global batch B", unit="setting"),
        Column(key="epoch_s", title="Epoch without loading", unit="s"),
    ]
    cells = [
        {
            "wrapper": TITLES[row["arm"]],
            "outcome": str(row["status"]).replace("_", " "),
            "global_batch": row.get("global_batch"),
            "epoch_s": _time(inputs, row),
        }
        for row in rows
    ]
    return (
        [
            Table(
                caption="DataParallel against DistributedDataParallel.",
                columns=columns,
                rows=cells,
                runs=[[row["run"]] for row in rows],
            )
        ]
        if rows
        else []
    )
