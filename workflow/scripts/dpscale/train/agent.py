"""One node's share of a run: torchrun, and which of its workers ended first and why."""

import select
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

from torch.distributed import PrefixStore, TCPStore
from torch.distributed import run as torchrun
from torch.distributed.elastic.agent.server import RunResult, WorkerGroup
from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from torch.distributed.elastic.rendezvous import (
    RendezvousHandler,
    RendezvousInfo,
    RendezvousStoreInfo,
    rendezvous_handler_registry,
)
from torch.distributed.launcher import api as launcher

from dpscale.attempts import Cause, Failure, cause_of, root
from dpscale.launch.meeting import Meeting
from dpscale.processes import node_name, seconds_of

MEETING_S = seconds_of("DPSCALE_MEETING_S", 300)
LOOK_S = 1  # from one look for a worker that failed before its peers ended to the next
AFTER_LOOK_S = 0.001  # torchrun's own sleep between looks, beside which ours is one
REACHED_S = 10  # for a connection to an address of this node itself


class RendezvousError(RuntimeError):
    """The agents did not meet."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.described())
        self.failure = failure


class Rendezvous(RendezvousHandler):
    """Where the agents of all nodes meet: a store of the first one, at an address known to all.

    The store listens on that address alone, and nobody unpickles what is in it; torchrun's own
    listen everywhere, and its default one unpickles. Workers use the same store.
    """

    use_agent_store = True

    def __init__(self, meeting: Meeting) -> None:
        self._meeting = meeting

    def next_rendezvous(self) -> RendezvousInfo:
        """Return the store when all nodes have come; raises RendezvousError."""
        meeting, patience = self._meeting, timedelta(seconds=MEETING_S)
        listener = self._listen() if meeting.leads else None
        port = listener.getsockname()[1] if listener else meeting.port
        try:
            store = TCPStore(
                meeting.address,
                port,
                is_master=meeting.leads,
                wait_for_workers=False,
                timeout=patience,
                master_listen_fd=listener.detach() if listener else None,
            )
        except RuntimeError as error:  # the first node is not there
            raise self._absent(0) from error
        try:
            store.set(f"node/{meeting.node}", "")
            store.wait([f"node/{node}" for node in range(meeting.nodes)], patience)
        except RuntimeError as error:
            raise self._absent(self._first_missing(store)) from error
        return RendezvousInfo(
            PrefixStore("agents", store),
            meeting.node,
            meeting.nodes,
            RendezvousStoreInfo(meeting.address, port),
        )

    def _listen(self) -> socket.socket:
        """A socket that can be reached, as a loopback interface that is down cannot."""
        address, port = self._meeting.address, self._meeting.port
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            listener = socket.create_server((address, port), family=family)
            with socket.create_connection(listener.getsockname()[:2], REACHED_S):
                listener.accept()[0].close()
            return listener
        except OSError as error:
            message = f"cannot listen for workers at {address}:{port}: {error}"
            node = self._meeting.names[0]
            failure = Failure(cause=Cause.NETWORK, node=node, message=message)
            raise RendezvousError(failure) from error

    def _first_missing(self, store: TCPStore) -> int:
        """The first node that has not come; where the store does not tell, that of the store."""
        with suppress(RuntimeError, ValueError):  # or all have come at last
            here = [store.check([f"node/{node}"]) for node in range(self._meeting.nodes)]
            return here.index(False)
        return 0

    def _absent(self, node: int) -> RendezvousError:
        meeting = self._meeting
        message = (
            f"did not come to the rendezvous at {meeting.address} within {MEETING_S:.0f} s; it is "
            "down, or a firewall or the route between the nodes is in the way"
        )
        return RendezvousError(
            Failure(cause=Cause.SILENT, node=meeting.names[node], message=message)
        )

    def get_backend(self) -> str:
        """Return the name that torchrun knows it by."""
        return "dpscale"

    def is_closed(self) -> bool:
        """Return False: nothing is ever started again."""
        return False

    def set_closed(self) -> None:
        """Do nothing; workers end by their agent."""

    def num_nodes_waiting(self) -> int:
        """Return 0: all nodes come at the start."""
        return 0

    def get_run_id(self) -> str:
        """Return nothing: no store is shared by runs."""
        return ""

    def shutdown(self) -> bool:
        """Return True; the store ends with the agent."""
        return True


class Agent(LocalElasticAgent):
    """torchrun's agent, which sleeps until its workers have ended.

    torchrun's own looks ten times a second, beside what is timed, and has all of them wait for its
    next look once they are done.
    """

    def __init__(self, *arguments: Any, ended: int, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._ended = ended

    def _monitor_workers(self, worker_group: WorkerGroup) -> RunResult:
        select.select([self._ended], [], [], LOOK_S)
        return super()._monitor_workers(worker_group)


def start_workers(
    arguments: Sequence[str], meeting: Meeting, ended: int | None = None
) -> Failure | None:
    """Run torchrun here with these arguments, and return what ended a worker, if anything did.

    ended: a descriptor that can be read when all workers have ended; None: torchrun has to look.
    """
    if ended is not None:
        vars(launcher)["LocalElasticAgent"] = partial(Agent, ended=ended)
        arguments = [f"--monitor-interval={AFTER_LOOK_S}", *arguments]
    node = node_name()
    rendezvous = Rendezvous(meeting)
    rendezvous_handler_registry.register(rendezvous.get_backend(), lambda _: rendezvous)
    # torchrun tells its events with the full name of this host, which nobody reads and which takes
    # seconds where names cannot be resolved.
    socket.getfqdn = lambda name="": name or socket.gethostname()
    backend = ["--rdzv-backend", rendezvous.get_backend(), "--rdzv-endpoint", meeting.address]
    try:
        torchrun.run(torchrun.parse_args([*backend, *arguments]))
    except RendezvousError as error:
        return error.failure
    except ChildFailedError as error:
        print(error, file=sys.stderr, flush=True)  # torchrun's own account of every worker
        failed = [_failure(rank, one, node) for rank, one in error.failures.items()]
        # torchrun ends the peers of a failed worker by SIGTERM, and may list them as failed too.
        return root([one for one in failed if one.cause != Cause.CANCELLED] or failed)
    except SignalException as error:
        return Failure(cause=Cause.CANCELLED, node=node, message=f"told to end ({error.sigval})")
    except Exception as error:  # the rendezvous: another node did not come, or went
        message = f"{type(error).__name__}: {error}"
        return Failure(cause=cause_of(1, message), node=node, message=message)
    return None


def _failure(rank: int, failure: ProcessFailure, node: str) -> Failure:
    message = failure.message
    if isinstance(message, dict):
        message = str(message.get("message", ""))
    line = " ".join(str(message).split())
    return Failure(cause=cause_of(failure.exitcode, line), node=node, rank=rank, message=line)
