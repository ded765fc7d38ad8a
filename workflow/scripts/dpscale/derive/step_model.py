"""One step of N workers as the ring model sees it: computation, and what of the transfer shows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dpscale.derive.cells import Cell, cells, in_study
from dpscale.derive.columns import known
from dpscale.derive.formulas import device_share, iterations_per_epoch
from dpscale.derive.overlap import Observed, Transfer, exposed_seconds, observe, transfer
from dpscale.derive.rows import RowsByKey

BucketSeconds = Callable[[int], float]  # seconds of the all-reduce of a bucket of these bytes


@dataclass(frozen=True)
class StepModel:
    """What one measured cell (workers, b) says about a step; all times are of one step."""

    workers: int
    nodes: int | None
    per_worker_batch: int
    compute_s: float  # DDP that sends nothing
    backward_s: float  # the part of it in which buckets fill
    solo_s: float  # one worker alone
    exposed_s: float  # measured
    share: float  # workers on a device
    bucket_bytes: tuple[int, ...]
    ready_frac: tuple[float, ...]
    run: str

    def transfer(self, bucket_s: BucketSeconds, *, slower: float = 1.0) -> Transfer:
        """Return the ideal transfer of the buckets, computation being `slower` times as long."""
        backward_s = self.backward_s * slower
        ready = [frac * backward_s for frac in self.ready_frac]
        return transfer(ready, [bucket_s(size) for size in self.bucket_bytes], backward_s)

    def observed(self, bucket_s: BucketSeconds) -> Observed:
        """Return what this cell's measured exposure says about its transfer."""
        return observe(self.transfer(bucket_s), self.exposed_s)

    def communication(
        self, bucket_s: BucketSeconds, observed: Observed, *, slower: float = 1.0
    ) -> tuple[float, float]:
        """Return the seconds of all buckets together, and those that a step waits for."""
        ideal = self.transfer(bucket_s, slower=slower)
        return ideal.total_s, exposed_seconds(ideal, observed)


def share_of(runs: RowsByKey, names: Sequence[str]) -> float:
    """Return how many workers share a device in these runs; 1 where it is unknown."""
    own = runs.of(*names).dropna(subset=["workers_per_machine", "devices_per_machine"])
    if own.empty:
        return 1.0
    first = own.iloc[0]
    return device_share(float(first["workers_per_machine"]), float(first["devices_per_machine"]))


def step_models(
    communication: pd.DataFrame, phases: pd.DataFrame, buckets: pd.DataFrame, runs: pd.DataFrame
) -> dict[int, list[StepModel]]:
    """Return the models of the complete cells of N >= 2 with all arms, by b, ascending in N."""
    by_cell = {(c.workers, c.nodes, c.per_worker_batch): c
               for c in cells(in_study(runs, "scaling"))}  # fmt: skip
    by_arm = RowsByKey(phases[phases["phase"] == "backward"], "run", "arm")
    by_run = [RowsByKey(table, "run") for table in (buckets, runs)]
    found: dict[int, list[StepModel]] = {}
    for _, row in communication.sort_values(["workers", "nodes"]).iterrows():
        nodes = known(row["nodes"])
        batch = int(row["per_worker_batch"])
        cell = by_cell.get((int(row["workers"]), None if nodes is None else int(nodes), batch))
        model = _model(row, cell, by_arm, *by_run) if cell and cell.workers > 1 else None
        if model:
            found.setdefault(batch, []).append(model)
    return found


def _model(
    row: Any, cell: Cell, backward: RowsByKey, buckets: RowsByKey, runs: RowsByKey
) -> StepModel | None:
    own = buckets.of(*cell.runs[:1]).sort_values("index")
    measured = [known(row[name]) for name in ("epoch_s", "exposed_s", "compute_s")]
    if own.empty or cell.train_samples is None or None in measured:
        return None
    epoch_s, exposed_s, solo_share_s = measured
    iterations = iterations_per_epoch(cell.train_samples, cell.workers, cell.per_worker_batch)
    compute_s = (epoch_s - exposed_s) / iterations
    backward_frac = _backward_frac(backward, cell.runs[0])
    if backward_frac is None or compute_s <= 0:
        return None
    return StepModel(
        workers=cell.workers,
        nodes=cell.nodes,
        per_worker_batch=cell.per_worker_batch,
        compute_s=compute_s,
        backward_s=compute_s * backward_frac,
        solo_s=solo_share_s / iterations,
        exposed_s=exposed_s / iterations,
        share=share_of(runs, cell.runs),
        bucket_bytes=tuple(int(size) for size in own["bytes"]),
        ready_frac=tuple(float(frac) for frac in own["ready_frac"]),
        run=cell.runs[0],
    )


def _backward_frac(backward: RowsByKey, run: str) -> float | None:
    """Return the share of the backward pass in a step of DDP that sends nothing."""
    share = backward.of((run, "noop_hook"))["share_frac"].dropna()
    return float(share.iloc[0]) if len(share) else None
