"""Cells: the planned runs of one (workers, nodes, per-worker batch), taken together."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpscale.derive.columns import known

CELL = ["workers", "nodes", "per_worker_batch"]

# What a cell without a complete run is called, the most telling outcome first.
_BY_WEIGHT = [
    "complete", "out_of_memory", "exceeds_dataset", "diverged", "failed", "unavailable",
    "not run yet",
]  # fmt: skip


class Cell(NamedTuple):
    """One cell: its status, the runs of that status, and what they say (None: unknown)."""

    workers: int
    nodes: int | None
    per_worker_batch: int
    status: str
    runs: tuple[str, ...]
    train_samples: int | None
    payload_bytes: int | None
    oversubscribed: bool | None

    @property
    def global_batch(self) -> int:
        """Return N*b."""
        return self.workers * self.per_worker_batch


def in_study(runs: pd.DataFrame, *studies: str) -> pd.DataFrame:
    """Return the rows of `runs` of any of these studies; a run may belong to "one+another"."""
    belongs = [not set(str(study).split("+")).isdisjoint(studies) for study in runs["study"]]
    return runs[np.array(belongs, dtype=bool)]


def combined_status(statuses: Iterable[str]) -> str:
    """Return "complete" when any of the statuses is, else the most telling of them."""
    weights = {status: weight for weight, status in enumerate(_BY_WEIGHT)}
    return min(statuses, key=lambda status: weights.get(status, len(weights)))


def first_known(column: pd.Series) -> Any:
    """Return the first value of the column that is not null, or None."""
    return next((value for value in column if known(value) is not None), None)


def cells(runs: pd.DataFrame) -> list[Cell]:
    """Return the cells of these runs in ascending order of workers, nodes and batch."""
    found = []
    for (workers, nodes, batch), group in runs.groupby(CELL, dropna=False):
        status = combined_status(group["status"])
        alike = group[group["status"] == status]
        over = alike["oversubscribed"].dropna()
        nodes = None if known(nodes) is None else int(nodes)
        found.append(Cell(
            int(workers), nodes, int(batch), status, tuple(alike["run"]),
            first_known(alike["train_samples"]), first_known(alike["payload_bytes"]),
            bool(over.any()) if len(over) else None,
        ))  # fmt: skip
    return found


def one_worker_bases(found: Iterable[Cell]) -> dict[int, Cell]:
    """Return the one-worker cells on one node, keyed by per-worker batch."""
    return {cell.per_worker_batch: cell for cell in found
            if cell.workers == 1 and cell.nodes in (1, None)}  # fmt: skip


def rounds_of(cell: Cell | None, epoch_times: pd.DataFrame, arm: str) -> pd.Series:
    """Return the epoch seconds of every repeat of the cell's complete runs in one arm.

    Labelled by (run, repeat): equal labels of two arms are of the same round.
    """
    return of_rounds(cell, epoch_times, arm)["epoch_s"]


def of_rounds(cell: Cell | None, epoch_times: pd.DataFrame, arm: str) -> pd.DataFrame:
    """Return the rows of `epoch_times` of a cell's complete runs in one arm, by (run, repeat)."""
    chosen = epoch_times["arm"] == arm
    if cell is None or cell.status != "complete":
        chosen &= False
    else:
        chosen &= epoch_times["run"].isin(cell.runs)
    return epoch_times[chosen].set_index(["run", "repeat"])


def repeats_of(cell: Cell | None, epoch_times: pd.DataFrame, arm: str) -> np.ndarray:
    """Return the epoch seconds of every repeat of the cell's complete runs in one arm."""
    return rounds_of(cell, epoch_times, arm).to_numpy(dtype=float)
