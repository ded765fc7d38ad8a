"""One step of DDP as the ring model sees it: computation, and what of the transfer shows.

Buckets fill during the backward pass and go over the link one after another, each as soon as it is
full and the one before it is through (Li et al., PyTorch Distributed, VLDB 2020, section 4.2.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from dpscale.derive.cells import CELL, Cell, cells, in_study
from dpscale.derive.columns import known
from dpscale.derive.formulas import device_share, ring_allreduce_seconds


class Transfer(NamedTuple):
    """Seconds of all buckets together, and those that reach beyond the backward pass."""

    total_s: float
    exposed_s: float

    @property
    def hidden_s(self) -> float:
        """Return the seconds that lie within the backward pass."""
        return self.total_s - self.exposed_s


class Observed(NamedTuple):
    """What a measured step shows of the transfer.

    overlap_frac: how much of what could be hidden was hidden, 0 to 1; stretch_ratio: how many times
    longer than alone the transfer takes beside training, 1 or more.
    """

    overlap_frac: float
    stretch_ratio: float


def transfer(ready_s: Sequence[float], bucket_s: Sequence[float], backward_s: float) -> Transfer:
    """Return the transfer of buckets that are full at ready_s and take bucket_s each.

    All seconds from the start of the backward pass, which ends at backward_s. Nothing slows the
    transfer or the backward pass down: the most that can be hidden.
    """
    end_s = 0.0
    for ready, taken in zip(ready_s, bucket_s, strict=True):
        end_s = max(end_s, ready) + taken
    total_s = float(sum(bucket_s))
    return Transfer(total_s, min(max(0.0, end_s - backward_s), total_s))


def observe(ideal: Transfer, exposed_s: float) -> Observed:
    """Return what exposed_s, measured, says about the transfer.

    More than the whole transfer alone: nothing is hidden, and it is stretched. Where nothing could
    be hidden, the overlap is taken for whole.
    """
    if ideal.total_s > 0 and exposed_s > ideal.total_s:
        return Observed(0.0, exposed_s / ideal.total_s)
    if ideal.hidden_s <= 0:
        return Observed(1.0, 1.0)
    return Observed(min(max((ideal.total_s - exposed_s) / ideal.hidden_s, 0.0), 1.0), 1.0)


def exposed_seconds(ideal: Transfer, observed: Observed) -> float:
    """Return the seconds of a transfer that a step waits for, when it behaves as observed."""
    return observed.stretch_ratio * ideal.total_s - observed.overlap_frac * ideal.hidden_s


def averaging_seconds(ideal: Transfer, observed: Observed, every: int) -> float:
    """Return the seconds of a step that wait where parameters are averaged every so many steps.

    An average goes in the buckets of the gradients, stretched as they are, and nothing hides it: so
    waiting falls by no more than the traffic.
    """
    return observed.stretch_ratio * ideal.total_s / every


class Ring(NamedTuple):
    """A link of known latency and rate; of a fitted one, the smallest message that the fit saw."""

    alpha_s: float
    beta_bytes_per_s: float
    smallest_bytes: float = 0.0

    def seconds(self, size: float, workers: int) -> float:
        """Return the seconds of the all-reduce of so many bytes."""
        return ring_allreduce_seconds(float(size), workers, self.alpha_s, self.beta_bytes_per_s)


@dataclass(frozen=True)
class StepModel:
    """What one measured cell (workers, b) says about a step; all times are of one step."""

    cell: Cell
    compute_s: float  # DDP that sends nothing
    backward_s: float  # the part of it in which buckets fill
    solo_s: float  # one worker alone
    exposed_s: float  # measured
    share: float  # workers on a device
    bucket_bytes: tuple[int, ...]
    ready_frac: tuple[float, ...]

    def transfer(
        self, ring: Ring, workers: int, *, slower: float = 1.0, bytes_ratio: float = 1.0
    ) -> Transfer:
        """Return the ideal transfer of the buckets among so many workers.

        Computation is `slower` times as long, and the buckets `bytes_ratio` times as large.
        """
        backward_s = self.backward_s * slower
        ready = [frac * backward_s for frac in self.ready_frac]
        taken = [ring.seconds(round(size * bytes_ratio), workers) for size in self.bucket_bytes]
        return transfer(ready, taken, backward_s)

    def observed(self, ring: Ring) -> Observed:
        """Return what the cell's measured exposure says about its transfer on this link."""
        return observe(self.transfer(ring, self.cell.workers), self.exposed_s)


def with_cells(
    communication: pd.DataFrame, runs: pd.DataFrame
) -> list[tuple[dict[str, Any], Cell]]:
    """Return the rows of several workers of `communication`, each with its cell of the runs."""
    by_key = {cell[:3]: cell for cell in cells(in_study(runs, "scaling"))}
    rows = communication[communication["workers"] > 1].to_dict("records")
    return [(row, by_key[tuple(known(row[name]) for name in CELL)]) for row in rows]


def share_of(runs: pd.DataFrame, cell: Cell) -> float:
    """Return how many workers of a cell share a device; 1 where it is unknown."""
    counts = runs.loc[runs["run"].isin(cell.runs), ["workers_per_machine", "devices_per_machine"]]
    known_counts = counts.dropna().astype(float)
    return device_share(*known_counts.iloc[0]) if len(known_counts) else 1.0


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
