"""Bytes that the network interfaces count, and steps under an observer of collectives: untimed."""

import socket
from collections import Counter
from pathlib import Path
from typing import Any

from dpscale.train.clock import make_clock
from dpscale.train.communication.collectives import OUTSIDE, Observer
from dpscale.train.data import Batch
from dpscale.train.loop import train_epoch
from dpscale.train.machine.device import machine_id
from dpscale.train.worker import Place, Replica

# The process's own network namespace; /sys/class/net may show another one's.
_COUNTERS, _NAMESPACE = Path("/proc/self/net/dev"), Path("/proc/self/ns/net")
_SENT_FIELD = 8  # of the fields after the colon: bytes sent

Sent = dict[str, dict[str, int]]  # by network namespace, by interface


def sent_bytes(place: Place) -> Sent:
    """Bytes sent so far by each interface of each network namespace, while all workers stand still.

    On rank 0; empty elsewhere. A namespace is counted once, however many workers are in it.
    """
    place.wait()
    # The host's name too: copies of one virtual machine can have a boot id in common.
    namespace = f"{socket.gethostname()} {machine_id()} {_NAMESPACE.readlink()}"
    namespaces = dict(place.gather((namespace, _own_counters())))
    place.wait()
    return namespaces


def _own_counters() -> dict[str, int]:
    lines = _COUNTERS.read_text().splitlines()[2:]  # two lines of heads
    named = (line.split(":", 1) for line in lines)
    return {name.strip(): int(fields.split()[_SENT_FIELD]) for name, fields in named}


def sent_between(before: Sent, after: Sent) -> dict[str, int]:
    """Bytes sent between two readings by interface name, summed over the namespaces; none of 0."""
    sent: Counter[str] = Counter()
    for namespace, interfaces in after.items():
        for name, count in interfaces.items():
            sent[name] += count - before[namespace].get(name, 0)
    return {name: count for name, count in sent.items() if count > 0}


def count_steps(
    observer: Observer, replica: Replica, batch: Batch, phase: str, iterations: range
) -> list[dict[str, Any]]:
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
