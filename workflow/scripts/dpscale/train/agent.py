"""One node's share of a run: torchrun, and which of its workers ended first and why."""

import os
import sys
from collections.abc import Sequence

from torch.distributed import run as torchrun
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

from dpscale.attempts import Cause, Failure, cause_of, root
from dpscale.processes import node_name


def start_workers(arguments: Sequence[str]) -> Failure | None:
    """Run torchrun here with these arguments, and return what ended a worker, if anything did."""
    node = node_name()
    try:
        torchrun.run(torchrun.parse_args(list(arguments)))
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


def begin_together(forks: int) -> None:
    """Let the next so many forks of this process begin once all of them exist.

    A fork keeps for ever a lock that another thread of its parent holds at that moment. The thread
    of torchrun's store asks the resolver of the C library for the name of each worker that
    connects, and a worker that was forked meanwhile never resolved a name: it hung, one time in
    some hundred runs of four workers. So none connects while another is being forked.
    """
    left = forks
    begin, hold = os.pipe()

    def in_parent() -> None:
        """Let them begin after the last."""
        nonlocal left
        left -= 1
        if left == 0:
            os.close(hold)

    def in_fork() -> None:
        """Wait for the other end of the pipe to be closed by all."""
        nonlocal left
        if left > 0:  # not a fork of a fork
            left = 0
            os.close(hold)
            os.read(begin, 1)
            os.close(begin)

    os.register_at_fork(after_in_parent=in_parent, after_in_child=in_fork)


def _failure(rank: int, failure: ProcessFailure, node: str) -> Failure:
    message = failure.message
    if isinstance(message, dict):
        message = str(message.get("message", ""))
    line = " ".join(str(message).split())
    return Failure(cause=cause_of(failure.exitcode, line), node=node, rank=rank, message=line)
