"""Starts this node's workers of a run, as launch.py or srun asks for on each node."""

import argparse
import os
import sys
from pathlib import Path
from pkgutil import resolve_name

from dpscale.attempts import HISTORY, History
from dpscale.errors import one_line
from dpscale.forks import begin_together
from dpscale.launch import slurm
from dpscale.launch.command import may_fork, torchrun_arguments
from dpscale.launch.interface import use_loopback, use_route
from dpscale.launch.meeting import meeting_place
from dpscale.launch.temporary import temporary_folder
from dpscale.processes import AGENT, NODES, end_with_parent
from dpscale.records.storage import about
from dpscale.studies import measure_of, read_spec
from dpscale.train import import_for_forks
from dpscale.train.agent import start_workers

RUN = str(Path(__file__).with_name("run.py"))
IN_FORKS = ["--run-path", "--start-method=fork"]


@one_line("agent.py")
def main() -> None:
    """Read the command line, and start the workers of this node."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spec", type=Path, help="spec.json of the run")
    parser.add_argument("--nodes", type=int, default=1, help="nodes of the run")
    parser.add_argument("--workers", type=int, required=True, help="workers on all nodes together")
    parser.add_argument("--history", type=Path, help="folder to note a failure in")
    arguments = parser.parse_args()
    end_with_parent(os.getppid())
    os.environ[AGENT] = str(os.getpid())
    if arguments.nodes > 1:
        use_route(slurm.peer_address(os.environ))
    else:
        use_loopback()
    words = torchrun_arguments(arguments.nodes, arguments.workers)
    meeting = meeting_place(arguments.nodes, os.environ)
    os.environ[NODES] = "\n".join(meeting.names)
    if arguments.history:
        os.environ[HISTORY] = str(arguments.history)
    with about(arguments.spec):
        spec = read_spec(arguments.spec.read_bytes())
    ended = None
    if may_fork(spec):
        for needed in ("dpscale.train.run", measure_of(spec)):  # by all workers: imported once
            resolve_name(needed)
        import_for_forks()
        ended = begin_together(arguments.workers // arguments.nodes)
        words += IN_FORKS
    with temporary_folder() as folder:
        words += [f"--log-dir={folder}", RUN, str(arguments.spec)]
        failure = start_workers(words, meeting, ended)
    if failure:
        if arguments.history:
            History(arguments.history).note(failure)
        sys.exit(f"agent.py: {failure.described()}")


if __name__ == "__main__":
    main()
