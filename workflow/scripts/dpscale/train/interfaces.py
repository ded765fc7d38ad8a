"""Byte counters of the network interfaces, and which workers share a machine."""

import socket
from collections import Counter
from pathlib import Path

from dpscale.train.worker import Place

# The process's own network namespace; /sys/class/net may show another one's.
_COUNTERS = Path("/proc/self/net/dev")
_NAMESPACE = Path("/proc/self/ns/net")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_SENT_FIELD = 8  # of the fields after the colon: bytes sent

Sent = dict[str, dict[str, int]]  # by network namespace, by interface


def machine_id() -> str:
    """What all processes under one kernel share, in containers and network namespaces too."""
    return _BOOT_ID.read_text().strip() if _BOOT_ID.exists() else socket.gethostname()


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


def sent_between(before: Sent, after: Sent) -> dict[str, int]:
    """Bytes sent between two readings by interface name, summed over the namespaces; none of 0."""
    sent: Counter[str] = Counter()
    for namespace, interfaces in after.items():
        for name, count in interfaces.items():
            sent[name] += count - before[namespace].get(name, 0)
    return {name: count for name, count in sent.items() if count > 0}


def _own_counters() -> dict[str, int]:
    lines = _COUNTERS.read_text().splitlines()[2:]  # two lines of heads
    named = (line.split(":", 1) for line in lines)
    return {name.strip(): int(fields.split()[_SENT_FIELD]) for name, fields in named}
