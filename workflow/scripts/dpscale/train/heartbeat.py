"""Notices a worker that stopped answering: each one sends beats, and watches its neighbour's.

A stopped process or a dead node closes no connection, so its peers would wait in a collective for
minutes, and then complain about each other. Beats go through torchrun's own store, on a thread
that wakes every few seconds: one read and one write, whatever the number of workers.
"""

import os
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
from dpscale.processes import node_name

SILENCE_S = float(os.environ.get("DPSCALE_SILENCE_S", 60))
DONE = "done"


class SilentWorkerError(RuntimeError):
    """A worker, or the node with the store, has not answered for too long."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.described())
        self.failure = failure


@contextmanager
def heartbeat(rank: int, workers: int, first_node: str) -> Iterator[None]:
    """While the block runs, send this worker's beats and end it when its neighbour falls silent.

    first_node: name of the node of rank 0, which holds the store. Does nothing for a worker alone
    or outside torchrun.
    """
    if workers == 1 or "MASTER_ADDR" not in os.environ:
        yield
        return
    beats = _Beats(rank, workers, first_node)
    beats.start()
    try:
        yield
    finally:
        beats.stop()


class _Beats(threading.Thread):
    def __init__(self, rank: int, workers: int, first_node: str) -> None:
        super().__init__(name="heartbeat", daemon=True)
        self._rank, self._watched = rank, (rank + 1) % workers
        self._no_store = Failure(cause=Cause.SILENT, node=first_node, message="does not answer")
        self._over = threading.Event()
        self._store: TCPStore | None = None
        self._seen: tuple[str, float] = ("", time.monotonic())

    def run(self) -> None:
        """Beat and watch until the work is over."""
        while not self._over.wait(SILENCE_S / 10):
            try:
                self._send(f"{time.time()} {node_name()} {os.getpid()}")
                self._watch()
            except SilentWorkerError as error:
                self._end(error)
            except RuntimeError:  # the store's: its node is gone, or only busy
                if time.monotonic() - self._seen[1] > SILENCE_S and not self._over.is_set():
                    self._end(SilentWorkerError(self._no_store))

    def stop(self) -> None:
        """Tell the watcher that silence is right from now on."""
        self._over.set()
        self.join(SILENCE_S)
        with suppress(RuntimeError):  # nobody is left to be told
            self._send(DONE)

    def _open(self) -> TCPStore:
        if self._store is None:  # a connection of its own: the group's may be busy in a barrier
            self._store = TCPStore(
                os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False,
                timeout=timedelta(seconds=SILENCE_S / 4),
            )  # fmt: skip
        return self._store

    def _send(self, beat: str) -> None:
        self._open().set(f"beat/{self._rank}", beat)

    def _watch(self) -> None:
        key, store = f"beat/{self._watched}", self._open()
        beat = store.get(key).decode() if store.check([key]) else ""
        last, since = self._seen
        silent_s = time.monotonic() - since
        if beat == last != DONE and silent_s > SILENCE_S:
            _, node, process = beat.split() if beat else ("", "", "unknown")
            message = (
                f"process {process} has not answered for {silent_s:.0f} s; it was stopped, hangs, "
                "or its node is gone"
            )
            raise SilentWorkerError(
                Failure(cause=Cause.SILENT, node=node, rank=self._watched, message=message)
            )
        if beat != last or beat == DONE:
            self._seen = (beat, time.monotonic())

    def _end(self, error: SilentWorkerError) -> None:
        """Leave at once: the main thread waits for the silent worker. torchrun ends the rest."""
        get_error_handler().record_exception(error)
        if history := os.environ.get(HISTORY):
            History(Path(history)).note(error.failure)
        print(f"run.py: rank {self._rank}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
