"""Bandwidth: what the communication seconds say about the bytes that a worker moved."""

from typing import Any

import pandas as pd

from dpscale.derive.cells import Cell, cells, in_study
from dpscale.derive.columns import Columns, as_table, floats, integers, known, texts
from dpscale.derive.formulas import bandwidth as bytes_per_second
from dpscale.derive.formulas import iterations_per_epoch, ring_allreduce_bytes
from dpscale.derive.same_machine import require_same_machine

COLUMNS: Columns = (
    integers("workers nodes per_worker_batch")
    | floats("iterations")
    | integers("payload_bytes")
    | floats("moved_bytes lab_bytes_per_s busbw_bytes_per_s link_bytes_per_s")
    | floats("lab_bytes_per_s_low lab_bytes_per_s_high")
    | texts("status note runs")
)


def _note(
    part: pd.Series, communication_s: float | None, slowest_s: float | None, fastest_s: float | None
) -> str | None:
    """Return why the bandwidth or a bound of it is unknown, or None."""
    if part["status"] != "complete":
        return None
    if communication_s is None:
        base = known(part["base_status"]) or "not planned"
        return f"the one-worker run of this batch: {base}"
    if communication_s <= 0:
        return "communication by subtraction is not above zero"
    if slowest_s is None or fastest_s is None:
        return "fewer than 2 repeats: no interval"
    return "communication is below the noise: no upper bound" if fastest_s <= 0 else None


def _row(part: pd.Series, cell: Cell | None) -> dict[str, Any]:
    """Return one row from a row of `communication` and the cell of its runs."""
    workers = int(part["workers"])
    names = ["subtraction_s", "subtraction_s_high", "subtraction_s_low"]
    communication_s, slowest_s, fastest_s = (known(part[name]) for name in names)
    samples, payload = (cell.train_samples, cell.payload_bytes) if cell else (None, None)
    moved = None if payload is None else ring_allreduce_bytes(payload, workers)
    iterations = None
    if samples is not None:
        iterations = iterations_per_epoch(samples, workers, int(part["per_worker_batch"]))

    def rate(seconds: float | None) -> float | None:
        if moved is None or iterations is None or seconds is None or seconds <= 0:
            return None
        return bytes_per_second(moved, iterations, seconds)

    lab = rate(communication_s)
    return {
        "workers": workers,
        "nodes": part["nodes"],
        "per_worker_batch": part["per_worker_batch"],
        "iterations": iterations,
        "payload_bytes": payload,
        "moved_bytes": moved,
        "lab_bytes_per_s": lab,
        "lab_bytes_per_s_low": None if lab is None else rate(slowest_s),
        "lab_bytes_per_s_high": None if lab is None else rate(fastest_s),
        "status": part["status"],
        "note": _note(part, communication_s, slowest_s, fastest_s),
        "runs": part["runs"],
    }


def bandwidth(communication: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the bytes per second behind each row of `communication`.

    lab_bytes_per_s = 2(N-1)/N * S * iterations / subtraction_s, with iterations = D/(N*b), the
    scale of the epoch of D samples whose seconds these are. Null where the subtraction is not
    above zero, with the reason in `note`; the upper bound is null where the subtraction's lower
    bound is not above zero. Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, "scaling")
    require_same_machine(planned)
    by_cell = {(c.workers, c.nodes, c.per_worker_batch): c for c in cells(planned)}
    rows = []
    for _, part in communication.iterrows():
        nodes = known(part["nodes"])
        key = (int(part["workers"]), None if nodes is None else int(nodes),
               int(part["per_worker_batch"]))  # fmt: skip
        rows.append(_row(part, by_cell.get(key)))
    return as_table(rows, COLUMNS)
