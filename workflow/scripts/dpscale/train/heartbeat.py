"""Notices who stopped answering: each worker sends beats, and watches its neighbour and its agent.

A stopped process or a dead node closes no connection, so its peers would wait in a collective for
minutes, and then complain about each other. Beats go through torchrun's own store, on a thread
that wakes every few seconds: one read and one write, whatever the number of workers.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from torch.distributed import TCPStore
from torch.distributed.elastic.multiprocessing.errors import get_error_handler

from dpscale.attempts import HISTORY, Cause, Failure, History
from dpscale.processes import AGENT, NODES, SILENCE_S, STOPPED, StateClock, node_name

DONE = "done"
# For a worker that has sent nothing yet: to import torch takes minutes on a cold network disk.
START_S = 5 * SILENCE_S


class SilentWorkerError(RuntimeError):
    """A worker, or the node with the store, has not answered for too long."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.described())
        self.failure = failure


@contextmanager
def heartbeat(rank: int, workers: int) -> Iterator[None]:
    """While the block runs, send this worker's beats and end it when its neighbour falls silent.

    Does nothing for a worker alone or outside torchrun.
    """
    if workers == 1 or "MASTER_ADDR" not in os.environ:
        yield
        return
    beats = _Beats(rank, workers)
    beats.start()
    try:
        yield
    finally:
        beats.stop()


def _node_of(rank: int) -> str:
    """The node of a rank; empty where nobody told, as by hand."""
    names = os.environ.get(NODES, "").split("\n")
    node = rank // int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    return names[node] if node < len(names) else ""


class _Beats(threading.Thread):
    def __init__(self, rank: int, workers: int) -> None:
        super().__init__(name="heartbeat", daemon=True)
        self._rank, self._watched = rank, (rank + 1) % workers
        self._agent, self._stopped = int(os.environ.get(AGENT, 0)), StateClock(STOPPED)
        self._over = threading.Event()
        self._store: TCPStore | None = None
        self._seen: tuple[str, float] = ("", time.monotonic())

    def run(self) -> None:
        """Beat and watch until the work is over."""
        while not self._over.is_set():
            try:
                self._watch_agent()
                self._send(f"{time.time()} {os.getpid()}")
                self._watch()
            except SilentWorkerError as error:
                self._end(error)
            except RuntimeError:  # the store's: its node is gone, or only busy
                if time.monotonic() - self._seen[1] > SILENCE_S and not self._over.is_set():
                    self._end(_silent("the store of the run does not answer", rank=0))
            self._over.wait(SILENCE_S / 10)

    def stop(self) -> None:
        """Tell the watcher that silence is right from now on."""
        self._over.set()
        self.join(SILENCE_S)
        with suppress(RuntimeError):  # nobody is left to be told
            self._send(DONE)

    def _open(self) -> TCPStore:
        if self._store is None:  # a connection of its own: the group's may be busy in a barrier
            self._store = TCPStore(
                os.environ["MASTER_ADDR"],
                int(os.environ["MASTER_PORT"]),
                is_master=False,
                timeout=timedelta(seconds=SILENCE_S / 4),
            )
        return self._store

    def _send(self, beat: str) -> None:
        self._open().set(f"beat/{self._rank}", beat)

    def _watch_agent(self) -> None:
        """End a stopped agent, which sees nobody end; its workers end with it."""
        stopped_s = self._stopped.look([self._agent]).get(self._agent, 0) if self._agent else 0
        if stopped_s > SILENCE_S:
            _note(_silent(f"the agent, process {self._agent}, was stopped {stopped_s:.0f} s ago"))
            os.kill(self._agent, signal.SIGKILL)

    def _watch(self) -> None:
        key, store = f"beat/{self._watched}", self._open()
        beat = store.get(key).decode() if store.check([key]) else ""
        last, since = self._seen
        silent_s = time.monotonic() - since
        if beat == last != DONE and silent_s > (SILENCE_S if beat else START_S):
            process = beat.partition(" ")[2]
            if process and _node_of(self._watched) == node_name():
                with suppress(ProcessLookupError):  # its agent would give it half a minute more
                    os.kill(int(process), signal.SIGKILL)
            raise _silent(
                f"process {process or 'unknown'} has not answered for {silent_s:.0f} s; it was "
                "stopped, hangs, or its node is gone",
                self._watched,
            )
        if beat != last or beat == DONE:
            self._seen = (beat, time.monotonic())

    def _end(self, error: SilentWorkerError) -> None:
        """Leave at once: the main thread waits for the silent worker. torchrun ends the rest."""
        get_error_handler().record_exception(error)
        _note(error)
        print(f"run.py: rank {self._rank}: {error}", file=sys.stderr, flush=True)
        os._exit(1)


def _silent(message: str, rank: int | None = None) -> SilentWorkerError:
    """The error of a worker that is silent, or of this node; it tells what the run was at."""
    folder = os.environ.get(HISTORY)
    phase = f" ({History(Path(folder)).phase()})" if folder else ""
    node = node_name() if rank is None else _node_of(rank)
    return SilentWorkerError(
        Failure(cause=Cause.SILENT, node=node, rank=rank, message=message + phase)
    )


def _note(error: SilentWorkerError) -> None:
    if folder := os.environ.get(HISTORY):
        History(Path(folder)).note(error.failure)
