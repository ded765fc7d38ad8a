"""Starting runs warm: forks of one process that has imported torch, which takes seconds.

`serve` runs in that process (warm.py) for as long as one call of snakemake; `start` asks it for a
run. Every run is a process of its own all the same, in a session of its own, and ends with the one
that asked for it: the server sees to that, and tells how the run ended.

Each job begins with `start`, before it has what is imported: so little is imported here at the top.
"""

from __future__ import annotations

import os
import select
import selectors
import signal
import socket
import sys
from contextlib import ExitStack, suppress

from dpscale.processes import SILENCE_S, end_with_parent

TYPE_CHECKING = False  # as typing has it, which takes as long to import as all the above
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import IO, Any, NoReturn

SOCKET = "DPSCALE_WARM_SOCKET"  # where the server of this call of snakemake listens
HEADER_BYTES = 8
REQUEST_S = 5  # for a request, all of which is sent at once


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
                import subprocess

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
    variables = (f"{name}={value}" for name, value in environment.items())
    # No word, name of a file or variable holds a NUL.
    request = os.fsencode("\0".join([os.getcwd(), str(len(words)), *words, *variables]))
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


def start_server(script: Path, folder: str, *, threads: int) -> tuple[str, subprocess.Popen[bytes]]:
    """Start the server, a script, which ends with this process; returns its socket, in `folder`.

    It can be asked at once: a request waits until the server has imported what it serves, and a
    server that failed is none. The folder has to be the user's alone, for who may write to the
    socket may run anything. threads: of a worker.
    """
    import subprocess

    path, parent = f"{folder}/warm", os.getpid()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    process = subprocess.Popen(
        [sys.executable, str(script), str(listener.fileno())],
        stdin=subprocess.DEVNULL,
        pass_fds=[listener.fileno()],
        start_new_session=True,
        preexec_fn=lambda: end_with_parent(parent),
        env=os.environ | {"OMP_NUM_THREADS": str(threads)},
    )
    listener.close()
    return path, process


def serve(listener: socket.socket) -> NoReturn:
    """Answer requests for ever: each starts a run, which ends with the one that asked for it."""
    ready = selectors.DefaultSelector()
    ready.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in ready.select():
            with suppress(OSError, EOFError, ValueError):  # the one that asked has gone
                if key.fileobj is listener:
                    _begin(listener, ready)
                elif isinstance(key.fileobj, int):
                    _ended(key, ready)
                elif key.fileobj.fileno() in ready.get_map():  # closed: the run ended just now
                    ready.unregister(key.fileobj)
                    _kill(key.data)


def _begin(listener: socket.socket, ready: selectors.BaseSelector) -> None:
    """Start the run that is asked for, and look from now on for its end, and that of who asked."""
    server = os.getpid()
    with ExitStack() as failed, ExitStack() as begun:
        connection = failed.enter_context(listener.accept()[0])
        connection.settimeout(REQUEST_S)
        header, files, *_ = socket.recv_fds(connection, HEADER_BYTES, 2)
        for file in files:
            begun.callback(os.close, file)
        request = _received(connection, int(header))
        run = os.fork()
        if run == 0:
            try:
                _leave_server(ready)
                os.setsid()
                end_with_parent(server)
                _send(connection, os.getpid())  # not before: who knows it may end the session
                connection.close()
                _become(request, files)
            finally:  # a fork never goes on as the server, whose frames it has
                os._exit(1)
        ready.register(os.pidfd_open(run), selectors.EVENT_READ, (run, connection))
        ready.register(connection, selectors.EVENT_READ, run)
        failed.pop_all()


def _leave_server(ready: selectors.BaseSelector) -> None:
    """Close, in a fork, what the server listens to: who waits for another run would see no end."""
    for key in list(ready.get_map().values()):
        if isinstance(key.fileobj, socket.socket):
            key.fileobj.close()
        else:
            os.close(key.fd)
    ready.close()


def _ended(key: selectors.SelectorKey, ready: selectors.BaseSelector) -> None:
    """Tell the one that asked for a run how it ended."""
    run, connection = key.data
    ready.unregister(key.fileobj)
    os.close(key.fd)
    _, status = os.waitpid(run, 0)
    with suppress(KeyError):  # the one that asked has gone
        ready.unregister(connection)
    with connection:
        _send(connection, os.waitstatus_to_exitcode(status))


def _kill(run: int) -> None:
    """End a run with all of its session, which it may not lead yet."""
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError):
            kill(run, signal.SIGKILL)


def _become(request: bytes, files: Sequence[int]) -> NoReturn:
    """Be the script that is asked for, as if this process had been started for it."""
    folder, count, *words = os.fsdecode(request).split("\0")
    variables = words[int(count) :]
    del words[int(count) :]
    for file, standard in zip(files, (1, 2), strict=True):
        os.dup2(file, standard)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(dict(variable.split("=", 1) for variable in variables))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = words
    import runpy
    import traceback

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
