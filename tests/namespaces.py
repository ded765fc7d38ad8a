"""Network namespaces on this machine: made, joined by a switch, emptied and removed."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress

from patience import until


def lacking(tools: Mapping[str, str]) -> str | None:
    """Why namespaces cannot be used here, or None; tools: with Debian's package of each."""
    if os.geteuid() != 0:
        return "needs root"
    for tool, package in tools.items():
        if shutil.which(tool) is None:
            return f"needs {tool} (Debian: {package})"
    return None


def run(*command: str) -> str:
    """What a command prints; RuntimeError with its complaint where it fails."""
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {ended.stderr.strip()}")
    return ended.stdout


def make_switch(switch: str) -> None:
    """A namespace with a bridge, br0, for cables to be plugged into."""
    run("ip", "netns", "add", switch)
    run("ip", "-n", switch, "link", "add", "br0", "type", "bridge")
    run("ip", "-n", switch, "link", "set", "br0", "up")


def join(switch: str, node: str, *, port: str, interface: str, address: str) -> None:
    """A namespace and its cable: `port` on the switch, `interface` with an address on the node."""
    run("ip", "netns", "add", node)
    run(
        "ip",
        "link",
        "add",
        interface,
        "netns",
        node,
        "type",
        "veth",
        "peer",
        "name",
        port,
        "netns",
        switch,
    )
    run("ip", "-n", switch, "link", "set", port, "master", "br0", "up")
    run("ip", "-n", node, "addr", "add", f"{address}/24", "dev", interface)
    for up in (interface, "lo"):
        run("ip", "-n", node, "link", "set", up, "up")


def inside(namespace: str) -> list[int]:
    """Ids of the processes in a namespace; none where it does not exist."""
    listed = subprocess.run(
        ["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False
    )
    return [int(process) for process in listed.stdout.split()]


def kill_inside(namespace: str) -> None:
    """Kill all processes in a namespace of one's own; returns when they are gone."""

    def gone() -> bool:
        for process in (processes := inside(namespace)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return not processes

    until(gone)


def remove(names: Iterable[str]) -> None:
    """Remove namespaces, those that are there."""
    for name in names:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
