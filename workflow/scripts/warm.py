"""Imports what every run imports, and starts runs as forks of itself; the Snakefile starts it."""

import argparse
import signal
import socket

import pandas  # noqa: F401 (each run writes its steps by it)
import psutil  # noqa: F401 (who launches a run looks at its processes while it is timed)

from dpscale.launch import warm
from dpscale.launch.machine import machine  # noqa: F401 (what launches a run is a fork, too)
from dpscale.launch.supervise import supervise  # noqa: F401
from dpscale.studies import import_for_runs
from dpscale.train import import_for_forks
from dpscale.train.agent import start_workers  # noqa: F401 (torchrun)
from dpscale.train.run import run  # noqa: F401


def main() -> None:
    """Read the command line, and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("descriptor", type=int, help="of the socket to listen on")
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the runs, one by one
    import_for_runs()
    import_for_forks()
    warm.serve(socket.socket(fileno=arguments.descriptor))


if __name__ == "__main__":
    main()
