"""Q3.2's compressed gradients: what the hooks do to the bytes and to the step, as measured."""

from dpscale.reporting.answer import Column, Table, Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, measured
from dpscale.reporting.answers.measured_table import BATCH, WORKERS, measured_table
from dpscale.reporting.answers.prose import Verdict
from dpscale.reporting.answers.q3_cells import at
from dpscale.units import format_value

NAMES = {"fp16": "fp16", "bf16": "bf16", "powersgd": "PowerSGD"}
HALF = 0.5
RATIOS = {"bytes_ratio": "Bytes", "step_ratio": "Step", "interface_ratio": "Interface"}
PACES: dict[Verdict, str] = {
    "above": "its step is slower here, {} as long",
    "below": "its step is faster here, {} as long",
    "indistinct": "its step is not told from the plain one, {} as long",
    "unknown": "too few repeats decide about its step, {} as long",
}


def measured_hooks(inputs: Inputs) -> list[Row]:
    """Return the rows of hooks with a time or bytes, by workers and batch."""
    rows = [
        row
        for row in inputs.rows("compression")
        if row.get("hook") and (row.get("step_ratio") is not None or row.get("bytes_ratio"))
    ]
    return sorted(rows, key=lambda row: (row["workers"], row["per_worker_batch"], row["hook"]))


def _ratio(inputs: Inputs, row: Row, column: str) -> Value:
    return measured(row, column, "ratio", inputs.runs_of(row))


def _bytes(row: Row) -> str:
    ratio = row.get("bytes_ratio")
    if ratio is None:
        return "has no counted bytes"
    if ratio == HALF:
        return "halves the bytes of the gradients as counted"
    if ratio < 1:
        return f"sends {format_value(ratio, 'fraction')} of the gradients' bytes as counted"
    if ratio == 1:
        return "sends as many bytes as the gradients have"
    return f"sends {format_value(ratio, 'ratio')} as many bytes as the gradients have"


def _step(inputs: Inputs, row: Row) -> str:
    ratio = _ratio(inputs, row, "step_ratio")
    if ratio.value is None:
        return "its step was not timed"
    return PACES[prose.against(ratio, 1.0)].format(prose.quantity(ratio))


def paragraph(inputs: Inputs) -> str:
    """Return what each hook does to bytes and step; empty where none was measured."""
    rows = measured_hooks(inputs)
    if not rows:
        return ""
    several = len({(row["workers"], row["per_worker_batch"]) for row in rows}) > 1
    parts = [
        f"{NAMES.get(row['hook'], row['hook'])}{f' at {at(row)}' if several else ''} "
        f"{_bytes(row)}, and {_step(inputs, row)}"
        for row in rows
    ]
    where = "" if several else f" at {at(rows[0])}"
    return (
        "Compressed gradients are smaller messages at the price of work before and after: fp16 "
        "and bf16 send numbers of 2 bytes, PowerSGD two thin factors of each matrix (Vogels et "
        f"al., 2019). In turns with the plain exchange{where}: {'; '.join(parts)}. Only a "
        "faster step is a gain; what a hook does to the accuracy is not measured here."
    )


def values(inputs: Inputs) -> dict[str, Value]:
    """Return the ratios of bytes and of step time of each hook to the plain exchange."""
    return {
        f"{row['hook']}_{column}_n{row['workers']}_b{row['per_worker_batch']}": _ratio(
            inputs, row, column
        )
        for row in measured_hooks(inputs)
        for column in RATIOS
        if row.get(column) is not None
    }


def tables(inputs: Inputs) -> list[Table]:
    """Return the table of the hooks; none where none was measured."""
    rows = measured_hooks(inputs)
    columns = [
        Column(key="hook", title="Hook"),
        WORKERS,
        BATCH,
        Column(key="payload_bytes", title="Gradients' bytes", unit="bytes"),
        Column(key="step_s", title="Step", unit="s"),
        *(Column(key=key, title=f"{title}, ratio", unit="ratio") for key, title in RATIOS.items()),
    ]
    caption = "Compressed gradients in one iteration, and their ratios to the plain exchange."
    return (
        [
            measured_table(
                inputs, caption, columns, rows, lambda row: {"hook": NAMES.get(row["hook"])}
            )
        ]
        if rows
        else []
    )
