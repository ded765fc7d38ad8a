"""The timeline of one step of DDP: buckets that fill during the backward pass, and their transfer.

Buckets go over the link one after another, each as soon as it is full and the one before it is
through (Li et al., PyTorch Distributed, VLDB 2020, section 4.2.3).
"""

from collections.abc import Sequence
from typing import NamedTuple


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
