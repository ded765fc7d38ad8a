"""Work in a child process, for work that may take its process down.

Under a memory budget a failed allocation mostly raises, but some libraries under torch do not check
for it and crash. The parent, which has no budget, is there to say so.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable

from dpscale.processes import end_with_parent


def run_in_child(work: Callable[[], None]) -> str | None:
    """Do the work in a forked child and wait for it.

    Returns the name of the signal that ended the child, None where it ended by itself. Raises
    RuntimeError with the child's own error where the work raised one.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    reader, writer = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        end_with_parent(parent)
        _work_and_exit(work, writer)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        error = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    if os.WEXITSTATUS(status):
        raise RuntimeError(error or f"ended with status {os.WEXITSTATUS(status)}")
    return None


def _work_and_exit(work: Callable[[], None], writer: int) -> None:
    status = 1
    try:
        work()
        status = 0
    except Exception as error:
        traceback.print_exc()
        os.write(writer, f"{type(error).__name__}: {error}".encode())
    finally:
        sys.stderr.flush()
        os._exit(status)
