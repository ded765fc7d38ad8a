"""The network interface of this node that leads to another."""

import os
import socket
from contextlib import suppress

from dpscale.processes import interface_address


def use_route(torchrun_arguments: list[str]) -> None:
    """Have gloo use the interface that leads to torchrun's --master-addr, if there is one.

    What the user set is left alone, and so is NCCL, which knows InfiniBand from Ethernet.
    """
    addresses = [word.partition("=")[2] for word in torchrun_arguments if "--master-addr=" in word]
    if addresses and (name := interface_towards(addresses[0])):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", name)


def interface_towards(address: str) -> str | None:
    """Return the interface whose address this node has in the eyes of `address`; None if unknown.

    A host name often resolves to a loopback address, which no other node can reach.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, 9))  # sends nothing: it only chooses the route
        except OSError:
            return None
        own = probe.getsockname()[0]
    for _, name in socket.if_nameindex():
        with suppress(OSError):  # an interface without an address
            if interface_address(name) == own:
                return name
    return None
