"""Where the agents of a run's nodes meet: each asks alone, and all come to the same answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpscale.launch import slurm
from dpscale.launch.interface import address_towards
from dpscale.processes import LOOPBACK, node_name

# Below the kernel's ephemeral ports; a job's own, so that jobs that share a node do not meet.
FIRST_PORT, PORTS = 20_000, 10_000


@dataclass(frozen=True)
class Meeting:
    """Where the agents of a run meet: at an address of the first node.

    node: number of this one among `names`; port: 0 lets the kernel choose one that is free.
    """

    names: Sequence[str]
    node: int
    address: str
    port: int

    @property
    def nodes(self) -> int:
        """How many nodes meet."""
        return len(self.names)

    @property
    def leads(self) -> bool:
        """Whether the others come to this node."""
        return self.node == 0


def meeting_place(nodes: int, environment: Mapping[str, str]) -> Meeting:
    """Return where the agents of so many nodes meet: one alone needs no network."""
    if nodes == 1:
        return Meeting([node_name()], 0, LOOPBACK, 0)
    names, node = slurm.node_names(environment), int(environment["SLURM_NODEID"])
    address = slurm.head_address(environment)
    if node == 0:  # its own name may lead to its loopback interface, where it does not
        address = address_towards(slurm.peer_address(environment)) or address
    return Meeting(names, node, address, FIRST_PORT + int(environment["SLURM_JOB_ID"]) % PORTS)
