"""Runs a script of this folder: as a fork of warm.py, which has its imports, or else by itself.

This process stays: signals reach it, and the fork does not outlive it.
"""

import os
import signal
import sys

from dpscale.launch import warm


def main() -> int:
    """Read the script and its arguments from the command line; return the exit status."""
    if len(sys.argv) == 1 or sys.argv[1].startswith("-"):
        sys.exit(f"usage: start.py SCRIPT [ARGUMENT ...]\n\n{__doc__}")
    name = sys.argv[1]
    sys.argv = [os.path.join(os.path.dirname(__file__), name), *sys.argv[2:]]
    try:
        fork = warm.start(sys.argv, output=sys.stdout, log=sys.stderr, environment=os.environ)
    except KeyboardInterrupt:
        sys.exit(f"{name}: stopped before it began")
    if fork is None:
        import runpy

        os.environ.pop(warm.SOCKET, None)  # a server that does not answer is not asked again
        runpy.run_path(sys.argv[0], run_name="__main__")
        return 0
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # Ctrl-C is not for a background job
            signal.signal(number, lambda received, _: fork.send_signal(received))
    status = fork.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
