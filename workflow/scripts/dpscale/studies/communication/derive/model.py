"""The ring model of the lab's steps: computation and transfer of each cell that was measured."""

from typing import Any

import pandas as pd

from dpscale.derive.cells import CELL, Cell, cells, in_study
from dpscale.derive.columns import known
from dpscale.derive.ring import StepModel, share_of


def with_cells(
    communication: pd.DataFrame, runs: pd.DataFrame
) -> list[tuple[dict[str, Any], Cell]]:
    """Return the rows of several workers of `communication`, each with its cell of the runs."""
    by_key = {cell[:3]: cell for cell in cells(in_study(runs, "scaling"))}
    rows = communication[communication["workers"] > 1].to_dict("records")
    return [(row, by_key[tuple(known(row[name]) for name in CELL)]) for row in rows]


def step_models(
    communication: pd.DataFrame, phases: pd.DataFrame, buckets: pd.DataFrame, runs: pd.DataFrame
) -> dict[int, StepModel]:
    """Return, by b, the model of the fewest workers of several that were measured arm by arm."""
    measured = communication.dropna(subset=["epoch_s", "exposed_s", "compute_s"])
    backward = phases[(phases["phase"] == "backward") & (phases["arm"] == "noop_hook")]
    backward_frac = backward.dropna(subset="share_frac").set_index("run")["share_frac"]
    by_run = {run: own.sort_values("index") for run, own in buckets.groupby("run")}
    found: dict[int, StepModel] = {}
    for row, cell in with_cells(measured.sort_values(["workers", "nodes"]), runs):
        run = cell.runs[0]
        compute_s = (row["epoch_s"] - row["exposed_s"]) / cell.iterations
        if run not in backward_frac or run not in by_run or compute_s <= 0:
            continue
        model = StepModel(
            cell=cell,
            compute_s=compute_s,
            backward_s=compute_s * float(backward_frac[run]),
            solo_s=row["compute_s"] / cell.iterations,
            exposed_s=row["exposed_s"] / cell.iterations,
            share=share_of(runs, cell),
            bucket_bytes=tuple(by_run[run]["bytes"].astype(int)),
            ready_frac=tuple(by_run[run]["ready_frac"].astype(float)),
        )
        found.setdefault(cell.per_worker_batch, model)
    return found
