"""Starting runs warm: forks of one process that has imported torch, which takes seconds.

`Server` runs in that process (warm.py) for as long as one call of snakemake; `start` asks it for a
run. Every run is a process of its own all the same, in a session of its own, and ends with the one
that asked for it: a keeper between the two sees to that, and tells how the run ended.
"""

import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, NoReturn

from dpscale.processes import SILENCE_S, end_with_parent

SOCKET = "DPSCALE_WARM_SOCKET"  # where the server of this call of snakemake listens
HEADER_BYTES = 8


class WarmProcess:
    """A run that was started warm; what subprocess.Popen offers of it."""

    def __init__(self, connection: socket.socket, log: IO[str]) -> None:
        self._connection, self._log = connection, log
        self.pid = self._read()
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status, minus the signal's number where one ended the run.

        Raises subprocess.TimeoutExpired after `timeout` seconds.
        """
        if self.returncode is None:
            if not select.select([self._connection], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("run.py", timeout or 0)
            try:
                self.returncode = self._read()
            except EOFError:
                self.returncode = -signal.SIGKILL
                print("killed with warm.py, of which it was a fork", file=self._log, flush=True)
            self._connection.close()
        return self.returncode

    def terminate(self) -> None:
        """Ask the run to end."""
        self.send_signal(signal.SIGTERM)

    def send_signal(self, number: int) -> None:
        """Send the run a signal."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def _read(self) -> int:
        return int(_received(self._connection, HEADER_BYTES))


def start(
    words: Sequence[str],
    *,
    log: IO[str],
    environment: Mapping[str, str],
    output: IO[str] | None = None,
) -> WarmProcess | None:
    """Start a script with arguments, `words`, as a fork of the server; None where there is none.

    log: gets the script's errors, what it prints where that has no `output`, and a line where the
    server does not answer.
    """
    files = [(output or log).fileno(), log.fileno()]
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(SILENCE_S)
    request = json.dumps([list(words), dict(environment), os.getcwd()]).encode()
    try:
        connection.connect(environment[SOCKET])
        socket.send_fds(connection, [f"{len(request):{HEADER_BYTES}}".encode()], files)
        connection.sendall(request)
        return WarmProcess(connection, log)
    except TimeoutError:
        late = f"warm.py has not answered for {SILENCE_S:.0f} s"
        print(f"{late}: this run starts cold", file=log, flush=True)
    except (KeyError, OSError, EOFError):  # no server, or one that was killed
        pass
    connection.close()  # a server that wakes up later ends what it starts for nobody
    return None


def offer(script: Path, folder: Path, *, threads: int) -> None:
    """Start the server for this process and those that it starts, as long as this one lives.

    folder: of this process alone. Does nothing where the system lacks what that needs: all runs
    start cold then.
    """
    if not hasattr(os, "pidfd_open"):  # Linux
        return
    with suppress(OSError):  # no room for a socket, or its path is too long
        os.environ[SOCKET], _ = start_server(script, str(folder), threads=threads)


def start_server(
    script: Path, folder: str, *, threads: int
) -> "tuple[str, subprocess.Popen[bytes]]":
    """Start the server, a script, which ends with this process; returns its socket, in `folder`.

    It can be asked at once: a request waits until the server has imported what it serves, and a
    server that failed is none. The folder has to be the user's alone, for who may write to the
    socket may run anything. threads: of a worker.
    """
    path = f"{folder}/warm"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    process = subprocess.Popen(
        [sys.executable, str(script), str(listener.fileno())],
        stdin=subprocess.DEVNULL,
        pass_fds=[listener.fileno()],
        start_new_session=True,
        preexec_fn=partial(end_with_parent, os.getpid()),
        env=os.environ | {"OMP_NUM_THREADS": str(threads)},
    )
    listener.close()
    return path, process


def serve(listener: socket.socket) -> NoReturn:
    """Answer requests for ever, each in a keeper of its own."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers are not waited for
    server = os.getpid()
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            end_with_parent(server)
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            with suppress(OSError, EOFError):  # the one that asked has gone
                _keep(connection)
            os._exit(0)
        connection.close()


def _keep(connection: socket.socket) -> None:
    """Start the run that is asked for, end it if the one that asked ends, and tell how it ended."""
    header, files, *_ = socket.recv_fds(connection, HEADER_BYTES, 2)
    words, environment, folder = json.loads(_received(connection, int(header)))
    keeper = os.getpid()
    run = os.fork()
    if run == 0:
        os.setsid()
        end_with_parent(keeper)
        _send(connection, os.getpid())  # not before: whoever knows it may end the whole session
        connection.close()
        _become(words, environment, folder, files)
    handle = os.pidfd_open(run)
    ready, _, _ = select.select([connection.fileno(), handle], [], [])
    if connection.fileno() in ready:
        with suppress(ProcessLookupError):  # no session yet: the run ends with this process
            os.killpg(run, signal.SIGKILL)
        return
    _, status = os.waitpid(run, 0)
    _send(connection, os.waitstatus_to_exitcode(status))


def _become(
    words: list[str], environment: dict[str, str], folder: str, files: Sequence[int]
) -> NoReturn:
    """Be the script that `words` starts, as if this process had been started for it."""
    for file, standard in zip(files, (1, 2), strict=True):
        os.dup2(file, standard)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = words
    status: Any = 1
    try:
        runpy.run_path(words[0], run_name="__main__")
        status = 0
    except SystemExit as exit_:
        status = exit_.code or 0
        if isinstance(status, str):
            print(status, file=sys.stderr)
            status = 1
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _send(connection: socket.socket, number: int) -> None:
    connection.sendall(f"{number:{HEADER_BYTES}}".encode())


def _received(connection: socket.socket, size: int) -> bytes:
    """Exactly so many bytes; raises EOFError where the other side has gone."""
    found = b""
    while len(found) < size:
        more = connection.recv(size - len(found))
        if not more:
            raise EOFError
        found += more
    return found
