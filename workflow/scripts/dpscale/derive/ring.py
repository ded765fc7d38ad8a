"""One step of DDP as the ring model sees it: computation, and what of the transfer shows.

Buckets fill during the backward pass and go over the link one after another, each as soon as it is
full and the one before it is through (Li et al., PyTorch Distributed, VLDB 2020, section 4.2.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from dpscale.derive.cells import Cell
from dpscale.derive.formulas import device_share, ring_allreduce_seconds
from dpscale.units import format_value

# A model that misses a measured number of workers by more than this says nothing about others.
LARGEST_ERROR = 0.25


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

    def step(self, ring: Ring, workers: int, *, nodes: int | None, share: float) -> "Predicted":
        """Return the step of another number of workers, of which `share` are on a device.

        Workers that share devices compute slower by as many as there are on one. Within one
        machine the link's bandwidth is that of its memory and devices, and shared alike; a network
        between nodes is not.
        """
        observed, slower = self.observed(ring), share / self.share
        if nodes == 1:
            ring = ring._replace(beta_bytes_per_s=ring.beta_bytes_per_s / slower)
        ideal = self.transfer(ring, workers, slower=slower)
        return Predicted(self.compute_s * slower, ideal, exposed_seconds(ideal, observed), observed)


class Predicted(NamedTuple):
    """A step that was not measured: its computation, and what of the transfer it waits for."""

    compute_s: float
    transfer: Transfer
    exposed_s: float
    observed: Observed

    @property
    def seconds(self) -> float:
        """Return the seconds of the step."""
        return self.compute_s + self.exposed_s


def fitted_ring(link: pd.DataFrame, workers: int) -> Ring | None:
    """Return the fit of `link` for this number of workers, or None."""
    fits = link[(link["workers"] == workers) & link["beta_bytes_per_s"].notna()]
    columns = fits[["alpha_s", "beta_bytes_per_s", "smallest_bytes"]].astype(float)
    return Ring(*columns.iloc[0]) if len(fits) else None


def refusal(scores: pd.Series, fit: StepModel, own: Ring | None) -> str | None:
    """Return why nothing is predicted at all, or None."""
    if own is None:
        return f"the link has no fit at N = {fit.cell.workers}"
    if scores.empty:
        return "no prediction could be scored on a measured number of workers"
    if fit.share > 1:
        return f"the {fit.cell.workers} workers of the fit shared a device"
    worst = float(scores.abs().max())
    if worst > LARGEST_ERROR:
        return f"the model missed a measured number of workers by over {LARGEST_ERROR:.0%}"
    return None


def beyond_the_fit(fit: StepModel, ring: Ring, workers: int) -> str | None:
    """Return why the fitted latency and rate do not reach to the messages of so many workers.

    A ring sends an N-th of a bucket at a time; the fit has seen no smaller piece than its
    smallest message gave.
    """
    piece = sum(fit.bucket_bytes) / len(fit.bucket_bytes) / workers
    least = ring.smallest_bytes / fit.cell.workers
    if piece >= least:
        return None
    given, seen = (format_value(size, "bytes") for size in (piece, least))
    return f"pieces of {given} are below the fit's smallest, {seen}"


def share_of(runs: pd.DataFrame, cell: Cell) -> float:
    """Return how many workers of a cell share a device; 1 where it is unknown."""
    counts = runs.loc[runs["run"].isin(cell.runs), ["workers_per_machine", "devices_per_machine"]]
    known_counts = counts.dropna().astype(float)
    return device_share(*known_counts.iloc[0]) if len(known_counts) else 1.0
