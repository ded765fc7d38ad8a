"""Q1: the time of an epoch against the batch size, and the largest batch that fits."""

from dpscale.reporting.answer import Answer, Column, Table, Value
from dpscale.reporting.answers import prose, q1_boundary, q1_reasons
from dpscale.reporting.answers.inputs import Inputs, Row, lacking, measured
from dpscale.reporting.answers.q1_trend import Trend, epoch_time, trend
from dpscale.reporting.answers.references import PASZKE

QUESTION = (
    "How does the time of one training epoch on one device change with the batch size, "
    "and which batch is the largest that fits?"
)
FORMULA = [
    r"T = D \, \frac{\sum_i t_i}{\sum_i n_i}, \qquad \text{throughput} = \frac{D}{T}",
]


def _at(row: Row) -> str:
    return f"{prose.quantity(epoch_time(row))} at b = {row['per_worker_batch']}"


def shape_clause(found: Trend) -> str:
    """Return the clause that says how the time of an epoch changes with the batch size."""
    first, knee, best, last = (
        _at(row) for row in (found.first, found.knee, found.best, found.last)
    )
    flat_from = found.knee["per_worker_batch"]
    return {
        "single": f"Only one batch size has a time: the epoch takes {first}",
        "unknown": f"The epoch takes {first} and {last}, from too few repeats to call the two "
        "different",
        "same": f"The time of an epoch does not change measurably with the batch size: {first} "
        f"and {last}",
        "rises": f"The time of an epoch rises with the batch size, from {first} to {last}",
        "falls": f"The time of an epoch falls over the whole sweep, from {first} to {last}",
        "falls then flat": f"The time of an epoch falls from {first} to {knee} and is flat, "
        f"within the intervals, from b = {flat_from} on",
        "falls then rises": f"The time of an epoch falls from {first} to {best} and then rises "
        f"to {last}",
    }[found.shape]


def boundary_clause(boundary: Row) -> str:
    """Return the clause on the largest batch that fits, and what limits it."""
    largest = boundary.get("largest_fit_batch")
    if largest is None:
        return "no batch of the sweep fits"
    if boundary.get("limit") == "memory":
        failed = boundary.get("smallest_failed_batch")
        beyond = f" (b = {failed} does not)" if failed is not None else ""
        return f"the largest batch that fits in memory is b = {largest}{beyond}"
    return (
        f"every batch up to b = {largest} fits, and the number of training images, not "
        "memory, ends the sweep"
    )


def answer(inputs: Inputs) -> Answer:
    """Return the answer to Q1."""
    rows, boundary = inputs.rows("sweep"), (inputs.rows("boundary") or [Row()])[0]
    complete = [row for row in rows if row["status"] == "complete"]
    missing = lacking(rows, {"per_worker_batch": "b"}, "sweep")
    missing += [] if complete or missing else ["sweep: no batch size has a time"]
    missing += [] if boundary.get("limit") or missing else ["boundary: not found yet"]
    values, tables = _values(inputs, rows, boundary), [_table(inputs, rows)]
    if missing:
        return prose.withheld(
            id="Q1",
            question=QUESTION,
            missing=missing,
            values=values,
            tables=tables,
            figures=["batch_sweep"],
            formula=FORMULA,
        )
    found = trend(complete)
    return Answer(
        id="Q1",
        question=QUESTION,
        sentence=f"{shape_clause(found)}; {boundary_clause(boundary)}.",
        paragraphs=[
            q1_reasons.protocol(inputs, complete),
            q1_reasons.launches(found),
            q1_reasons.after_the_knee(found, complete),
            q1_boundary.boundary(boundary, rows),
            q1_boundary.device(complete),
        ],
        formula=FORMULA,
        values=values,
        tables=[*tables, q1_reasons.phase_table(complete)],
        figures=["batch_sweep"],
        references=[PASZKE],
    )


def _runs(inputs: Inputs, row: Row) -> list[str]:
    return inputs.runs_of(row, study="sweep", per_worker_batch=row["per_worker_batch"])


def _values(inputs: Inputs, rows: list[Row], boundary: Row) -> dict[str, Value]:
    probes = inputs.runs(study="sweep") + inputs.runs(study="boundary")
    values = {
        name: measured(boundary, name, "count", probes)
        for name in (
            "largest_fit_batch",
            "smallest_failed_batch",
            "fit_confirmations",
            "failure_confirmations",
        )
    }
    values["memory_budget"] = measured(boundary, "memory_budget_bytes", "bytes_binary", probes)
    units = {
        "epoch_s": "s",
        "samples_per_s": "samples/s",
        "peak_memory_bytes": "bytes_binary",
        "utilisation_frac": "fraction",
        "steps_per_epoch": "count",
        "update_s": "s",
    }
    for row in rows:
        for column, unit in units.items():
            values[f"{column}_b{row['per_worker_batch']}"] = measured(
                row, column, unit, _runs(inputs, row), row.get("repeats")
            )
    return values


def _table(inputs: Inputs, rows: list[Row]) -> Table:
    columns = [
        Column(key="per_worker_batch", title="Batch b", unit="setting"),
        Column(key="status", title="Outcome"),
        Column(key="steps_per_epoch", title="Iterations per epoch", unit="count"),
        Column(key="epoch_s", title="Epoch", unit="s"),
        Column(key="samples_per_s", title="Throughput", unit="samples/s"),
        Column(key="peak_memory_bytes", title="Peak memory", unit="bytes_binary"),
        Column(key="utilisation_frac", title="Device utilisation", unit="fraction"),
    ]
    cells = [
        {
            "per_worker_batch": row["per_worker_batch"],
            "status": str(row["status"]).replace("_", " "),
            **{
                column.key: measured(
                    row, column.key, column.unit, _runs(inputs, row), row.get("repeats")
                )
                for column in columns[2:]
            },
        }
        for row in rows
    ]
    return Table(
        caption="One epoch on one device without data loading, by batch size.",
        columns=columns,
        rows=cells,
        runs=[_runs(inputs, row) for row in rows],
    )
