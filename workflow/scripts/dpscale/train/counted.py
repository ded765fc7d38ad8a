"""Steps under an observer of collectives and the counters of the network interfaces, untimed."""

from typing import Any

from dpscale.train.clock import make_clock
from dpscale.train.collectives import OUTSIDE, Observer
from dpscale.train.data import Batch
from dpscale.train.interfaces import sent_between, sent_bytes
from dpscale.train.loop import train_epoch
from dpscale.train.worker import Replica

Rows = list[dict[str, Any]]


def count_steps(
    observer: Observer, replica: Replica, batch: Batch, phase: str, iterations: range
) -> Rows:
    """Trains a step for each iteration under the observer; the rows of interface bytes.

    No rows on workers other than rank 0, and none with NCCL, which sends over NVLink, PCIe or
    InfiniBand, past the counters of the kernel.
    """
    place, clock = replica.place, make_clock(replica.place.device)
    before = sent_bytes(place)
    for iteration in iterations:
        observer.start(phase, iteration)
        train_epoch(replica, [batch], clock)
        observer.start(OUTSIDE)
    after = sent_bytes(place)
    if place.device.type == "cuda" or not place.leads:
        return []
    return [
        {"phase": phase, "iterations": len(iterations), "interface": name, "sent_bytes": count}
        for name, count in sent_between(before, after).items()
    ]
