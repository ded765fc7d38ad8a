"""Compression: what hooks that shrink gradients do to the bytes and to the step, as measured."""

from typing import Any

import pandas as pd

from dpscale.derive.cells import Cell, by_arm_and_run, cells, in_study, rounds_of
from dpscale.derive.columns import Columns, as_table, floats, integers, known, texts
from dpscale.derive.formulas import iterations_per_epoch
from dpscale.derive.rows import RowsByKey
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import UNKNOWN, Estimate, median, paired_median_ratio

COLUMNS: Columns = (
    integers("workers nodes per_worker_batch")
    | texts("hook status")
    | floats("step_s step_s_low step_s_high base_step_s")
    | floats("step_ratio step_ratio_low step_ratio_high")
    | floats("payload_bytes base_payload_bytes bytes_ratio")
    | floats("interface_bytes base_interface_bytes interface_ratio")
    | texts("runs")
)
BASE = "without_loading"
GRADIENTS = "gradient bucket"


def _payload(collectives: pd.DataFrame, runs: tuple[str, ...], arm: str) -> float | None:
    """Return the gradients' bytes of one counted iteration of an arm."""
    own = collectives[
        collectives["run"].isin(runs)
        & (collectives["timed_arm"] == arm)
        & (collectives["purpose"] == GRADIENTS)
    ]
    iterations = own.groupby(["run", "iteration"]).ngroups
    return float(own["bytes"].sum()) / iterations if iterations else None


def _interface(wire: pd.DataFrame, runs: tuple[str, ...], arm: str) -> float | None:
    """Return the bytes that the interfaces sent in one counted iteration of an arm."""
    own = wire[wire["run"].isin(runs) & (wire["timed_arm"] == arm)]
    iterations = own.groupby("run")["iterations"].first().sum()
    return float(own["sent_bytes"].sum() / iterations) if len(own) and iterations else None


def _ratio(value: float | None, base: float | None) -> float | None:
    return value / base if value is not None and base else None


def _row(
    cell: Cell, hook: str, times: RowsByKey, collectives: pd.DataFrame, wire: pd.DataFrame
) -> dict[str, Any]:
    own, base = rounds_of(cell, times, hook), rounds_of(cell, times, BASE)
    step = ratio = UNKNOWN
    base_step = None
    if len(own) and len(base) and cell.train_samples is not None:
        iterations = iterations_per_epoch(cell.train_samples, cell.workers, cell.per_worker_batch)
        step = Estimate(*median(own / iterations))
        base_step = median(base / iterations).value
        ratio = paired_median_ratio(own, base)
    payload, base_payload = (_payload(collectives, cell.runs, arm) for arm in (hook, BASE))
    sent, base_sent = (_interface(wire, cell.runs, arm) for arm in (hook, BASE))
    return {
        "workers": cell.workers, "nodes": cell.nodes, "per_worker_batch": cell.per_worker_batch,
        "hook": hook, "status": cell.status, "runs": " ".join(cell.runs),
        "step_s": step.value, "step_s_low": step.low, "step_s_high": step.high,
        "base_step_s": base_step, "step_ratio": ratio.value, "step_ratio_low": ratio.low,
        "step_ratio_high": ratio.high,
        "payload_bytes": payload, "base_payload_bytes": base_payload,
        "bytes_ratio": _ratio(payload, base_payload),
        "interface_bytes": sent, "base_interface_bytes": base_sent,
        "interface_ratio": _ratio(sent, base_sent),
    }  # fmt: skip


def compression(
    epoch_times: pd.DataFrame, collectives: pd.DataFrame, wire: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return step time and bytes of each compression hook beside those of plain DDP.

    Step seconds are medians, step_ratio = hook / plain of the same rounds; payload_bytes are those
    of the gradients of one worker in one counted step, interface_bytes those of all workers
    together. A run without a record is one row with its status. Null where unknown.
    Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, "compression")
    require_same_machine(planned)
    times = by_arm_and_run(epoch_times)
    rows = []
    for cell in cells(planned):
        own = epoch_times[epoch_times["run"].isin(cell.runs)]
        hooks = [arm for arm in dict.fromkeys(own["arm"]) if known(arm) and arm != BASE]
        if cell.status != "complete" or not hooks:
            rows.append({"workers": cell.workers, "nodes": cell.nodes, "status": cell.status,
                         "per_worker_batch": cell.per_worker_batch,
                         "runs": " ".join(cell.runs)})  # fmt: skip
            continue
        rows += [_row(cell, hook, times, collectives, wire) for hook in sorted(hooks)]
    return as_table(rows, COLUMNS)
