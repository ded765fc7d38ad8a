"""What raw TCP carries over the links of a rig, the ceiling of all that is measured on them."""

import sys
from pathlib import Path

from patience import HANG_S
from rig import Rig

CEILING = Path(__file__).with_name("tcp_ceiling.py")


def tcp_ceiling(rig: Rig) -> float:
    """Bytes per second of one TCP connection from each node to the next, all at the same time.

    That of the slowest. All at once, since the nodes share one machine: at some Gbit/s its cores
    carry less over all links together than over one.
    """
    command = [sys.executable, str(CEILING)]
    following = [(node + 1) % rig.nodes for node in range(rig.nodes)]
    receivers = [rig.start(node, [*command, "receive", rig.address(node)]) for node in following]
    senders = [
        rig.start(node, [*command, "send", rig.address(to)]) for node, to in enumerate(following)
    ]
    rates = []
    for receiver in receivers:
        output, errors = receiver.communicate(timeout=HANG_S)
        assert receiver.returncode == 0, errors
        rates.append(float(output))
    for sender in senders:
        sender.communicate(timeout=HANG_S)
    return min(rates)
