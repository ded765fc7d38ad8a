"""Nodes on one machine, joined by links of a known rate.

A node is a network namespace; a bridge in a namespace of its own is the switch, and a veth pair
with a token bucket (tc tbf) at both ends is each node's cable. Needs root, ip, tc and setpriv.

By hand: python tests/network/rig.py --nodes 2 --rate 1gbit -- SCRIPT ARGUMENTS runs SCRIPT under
torchrun with one agent a node. See docs/network-rig.md.
"""

import argparse
import itertools
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[1]))
from namespaces import inside, join, kill_inside, lacking, make_switch, remove, run
from patience import HANG_S

TOOLS = {"ip": "iproute2", "tc": "iproute2", "setpriv": "util-linux"}
PREFIX = "dpr"  # of the namespaces' names; the process's id follows
BURST, LATENCY = "256kb", "50ms"
NETWORK = "10.77.0"
# The machine's own may be BBR, with which the all-reduce of gloo scatters below what TCP carries
# at 100 Mbit/s (docs/network-rig.md); Reno is in every kernel, and a namespace may choose it.
CONGESTION_CONTROL = "reno"
_PORTS = itertools.count(29600)


class Ended(NamedTuple):
    """How a process on a node ended."""

    status: int
    output: str
    errors: str


def missing() -> str | None:
    """Why the rig cannot be built here, or None."""
    if reason := lacking(TOOLS):
        return reason
    try:
        with Rig(1, "1gbit"):
            return None
    except RuntimeError as error:
        return str(error)


class Rig:
    """Nodes 0 to nodes-1 with addresses 10.77.0.1 on; each link has `rate` in each direction.

    Everything is removed at the end of the block. What runs on the nodes of a rig that is killed is
    told to end, and the nodes are removed at the start of the next rig, once nothing runs there.
    Raises RuntimeError where the system refuses a namespace or the shaping.
    """

    def __init__(self, nodes: int, rate: str) -> None:
        self.nodes, self._rate = nodes, rate
        self._switch = f"{PREFIX}{os.getpid()}s"
        self._running: list[subprocess.Popen[str]] = []

    def __enter__(self) -> "Rig":
        _remove_leftovers()
        try:
            make_switch(self._switch)
            for node in range(self.nodes):
                self._join(node)
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._remove()

    def address(self, node: int) -> str:
        """IPv4 address of a node."""
        return f"{NETWORK}.{node + 1}"

    def interface(self, node: int) -> str:
        """Name of a node's interface."""
        return f"n{node}"

    def set_rate(self, rate: str) -> None:
        """Change the rate of all links, as tc writes it: 100mbit, 1gbit."""
        self._rate = rate
        for node in range(self.nodes):
            self._shape(node, "change")

    def start(
        self, node: int, command: Sequence[str], *, shown: bool = False, **environment: str
    ) -> "subprocess.Popen[str]":
        """Start a command on a node, in a process group of its own.

        shown: its output appears as it comes, and is not kept.
        """
        variables = os.environ | {"GLOO_SOCKET_IFNAME": self.interface(node), **environment}
        output = None if shown else subprocess.PIPE
        process = subprocess.Popen(
            # Told to end by the kernel when the rig itself is killed.
            [
                "setpriv",
                "--pdeathsig",
                "TERM",
                "ip",
                "netns",
                "exec",
                self._namespace(node),
                *command,
            ],
            stdout=output,
            stderr=output,
            text=True,
            env=variables,
            start_new_session=True,
        )
        self._running.append(process)
        return process

    def torchrun(
        self,
        script: Path | str,
        *arguments: object,
        nodes: int | None = None,
        per_node: int = 1,
        timeout_s: float = HANG_S,
        shown: bool = False,
    ) -> list[Ended]:
        """Run a script under torchrun, an agent on each of the first nodes (default: all).

        Returns how each agent ended, by node; shown: the output appears as it comes instead.

        Raises TimeoutExpired; all that runs on the nodes is ended then.
        """
        port, count = next(_PORTS), nodes or self.nodes
        agents = [
            self.start(
                node,
                [
                    sys.executable,
                    "-m",
                    "torch.distributed.run",
                    f"--nnodes={count}",
                    f"--nproc-per-node={per_node}",
                    f"--node-rank={node}",
                    f"--master-addr={self.address(0)}",
                    f"--master-port={port}",
                    "--run-path",
                    "--start-method=fork",  # of the agent, which has torch at hand
                    str(script),
                    *map(str, arguments),
                ],
                shown=shown,
                OMP_NUM_THREADS="1",
                PYTHONPATH=str(Path(script).parent),  # as of a script that is started by itself
            )
            for node in range(count)
        ]
        with ThreadPoolExecutor(count) as readers:  # no pipe fills up while another is read
            try:
                return list(readers.map(lambda agent: _ended(agent, timeout_s), agents))
            except BaseException:
                self._end_all()
                raise

    def _namespace(self, node: int) -> str:
        return f"{PREFIX}{os.getpid()}n{node}"

    def _join(self, node: int) -> None:
        """A node, its cable to the switch, and the shaping at both ends."""
        namespace = self._namespace(node)
        join(
            self._switch,
            namespace,
            port=f"p{node}",
            interface=self.interface(node),
            address=self.address(node),
        )
        run(
            "ip",
            "netns",
            "exec",
            namespace,
            "sh",
            "-c",
            f"echo {CONGESTION_CONTROL} > /proc/sys/net/ipv4/tcp_congestion_control",
        )
        self._shape(node, "add")

    def _shape(self, node: int, verb: str) -> None:
        ends = (self._namespace(node), self.interface(node)), (self._switch, f"p{node}")
        for namespace, interface in ends:
            run(
                "tc",
                "-n",
                namespace,
                "qdisc",
                verb,
                "dev",
                interface,
                "root",
                "tbf",
                "rate",
                self._rate,
                "burst",
                BURST,
                "latency",
                LATENCY,
            )

    def _end_all(self) -> None:
        """Kill what was started, and what that started: torchrun's workers leave its group."""
        for process in self._running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        for node in range(self.nodes):
            kill_inside(self._namespace(node))
        for process in self._running:
            process.wait()
        self._running.clear()

    def _remove(self) -> None:
        self._end_all()
        remove([self._switch, *(self._namespace(node) for node in range(self.nodes))])


def _ended(process: "subprocess.Popen[str]", timeout_s: float) -> Ended:
    output, errors = process.communicate(timeout=timeout_s)
    return Ended(process.returncode, output or "", errors or "")


def _remove_leftovers() -> None:
    """Namespaces of rigs whose process is gone: it was killed before it could remove them.

    One in which something still runs is left alone: that belongs to somebody else.
    """
    names = [line.split()[0] for line in run("ip", "netns", "list").splitlines() if line.split()]
    for name in names:
        named = re.fullmatch(rf"{PREFIX}(\d+)(s|n\d+)", name)
        if named and not Path(f"/proc/{named[1]}").exists() and not inside(name):
            remove([name])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=2, help="nodes (default: %(default)s)")
    parser.add_argument("--rate", default="1gbit", help="of each link, as tc writes it: 200mbit")
    parser.add_argument("--per-node", type=int, default=1, help="workers a node")
    parser.add_argument(
        "--timeout-s",
        type=float,
        default=3600.0,
        help="end it after so many seconds (default: %(default)s)",
    )
    parser.add_argument("command", nargs="+", metavar="SCRIPT", help="script and its arguments")
    given = parser.parse_args()
    if reason := missing():
        parser.exit(2, f"rig.py: {reason}\n")
    # An end from outside tears the rig down too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    script, *arguments = given.command
    try:
        with Rig(given.nodes, given.rate) as rig:
            ended = rig.torchrun(
                script, *arguments, per_node=given.per_node, timeout_s=given.timeout_s, shown=True
            )
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        parser.exit(1, f"rig.py: {error}\n")
    except KeyboardInterrupt:
        parser.exit(128 + signal.SIGINT)
    for node, one in enumerate(ended):
        if one.status != 0:
            print(f"rig.py: node {node} ended with {one.status}", file=sys.stderr)
    sys.exit(any(one.status != 0 for one in ended))


if __name__ == "__main__":
    main()
