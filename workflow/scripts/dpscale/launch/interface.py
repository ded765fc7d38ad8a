"""The network interface of this node that its workers use: the one that leads to their peers."""

import ipaddress
import os
import socket
from contextlib import suppress

from dpscale.launch.command import LaunchError
from dpscale.processes import LOOPBACK, interface_address


def use_loopback() -> None:
    """Have gloo and NCCL listen where this machine alone can reach them.

    Without it gloo looks for the address of the host's name, and listens there. Gloo does so
    whatever the user set for several nodes; NCCL's sockets only begin a run, by what is set.
    torch's stores ask for the name of 127.0.0.1 as they connect, and /etc/hosts seldom tells it
    of an address that is mapped to IPv6: a name server that is silent is waited for a second, once,
    where each run would wait for ten.
    """
    os.environ.setdefault("RES_OPTIONS", "timeout:1 attempts:1")
    if name := interface_of(LOOPBACK):
        os.environ["GLOO_SOCKET_IFNAME"] = name
        os.environ.setdefault("NCCL_SOCKET_IFNAME", name)


def use_route(address: str) -> None:
    """Have gloo use the interface that leads to another node, where there is a route to it.

    What the user set is left alone, and so is NCCL, which knows InfiniBand from Ethernet. Raises
    LaunchError where the address is this node itself, as that of a name in /etc/hosts may be.
    """
    if "GLOO_SOCKET_IFNAME" in os.environ or (source := address_towards(address)) is None:
        return
    if ipaddress.ip_address(source).is_loopback:
        raise LaunchError(
            f"{address}, another node's address, leads back to this node ({source}); mend "
            "/etc/hosts or NodeAddr in slurm.conf, or name the interface between the nodes in "
            "GLOO_SOCKET_IFNAME"
        )
    if name := interface_of(source):
        os.environ["GLOO_SOCKET_IFNAME"] = name


def address_towards(address: str) -> str | None:
    """Return the IPv4 address that this node has in the eyes of `address`; None if unknown."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, 9))  # sends nothing: it only chooses the route
        except OSError:
            return None
        return str(probe.getsockname()[0])


def interface_of(address: str) -> str | None:
    """Return the interface of this node that has an IPv4 address; None where none has it."""
    for _, name in socket.if_nameindex():
        with suppress(OSError):  # an interface without an address
            if interface_address(name) == address:
                return name
    return None
