"""Forks of this process: that share calls, or that are the workers of a run."""

import gc
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from dpscale.processes import end_with_parent

_alive: list[int] = []  # of a worker: its end of a pipe, held for as long as it works


class _Here(Executor):
    """Does at once what is submitted, in this process."""

    def submit(self, call: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        """Return what a call came to."""
        future = Future[Any]()
        try:
            future.set_result(call(*given, **named))
        except Exception as error:  # whoever asks for the result gets it
            future.set_exception(error)
        return future


@contextmanager
def forks(count: int) -> Iterator[Executor]:
    """Yield what has calls done by so many forks of this process, by itself if it is one.

    The forks die with this process, however it dies. They never collect what lies about here as
    garbage: what a library that has threads left, which no fork has, may end the fork.
    """
    if count == 1:
        yield _Here()
        return
    gc.collect()
    gc.freeze()
    try:
        with ProcessPoolExecutor(
            count, get_context("fork"), initializer=end_with_parent, initargs=(os.getpid(),)
        ) as pool:
            yield pool
    finally:
        gc.unfreeze()


def begin_together(workers: int) -> int:
    """Let the next so many forks of this process begin once all of them exist.

    Returns a descriptor that can be read once all have called `end_work`, or are gone.

    A fork keeps for ever a lock that another thread of its parent holds at that moment. The thread
    of torchrun's store asks the resolver of the C library for the name of each worker that
    connects, and a worker that was forked meanwhile never resolved a name: it hung, one time in
    some hundred runs of four workers. So none connects while another is being forked.
    """
    left = workers
    (begin, hold), (ended, alive) = os.pipe(), os.pipe()

    def in_parent() -> None:
        """Let them begin after the last."""
        nonlocal left
        left -= 1
        if left == 0:
            os.close(hold)
            os.close(alive)

    def in_fork() -> None:
        """Wait for the other end of the pipe to be closed by all."""
        nonlocal left
        if left > 0:  # not a fork of a fork
            left = 0
            os.close(hold)
            os.read(begin, 1)
            os.close(begin)
            os.close(ended)
            _alive.append(alive)

    os.register_at_fork(after_in_parent=in_parent, after_in_child=in_fork)
    return ended


def end_work() -> None:
    """Tell the process of which this one is a worker, if it is, that its work is done."""
    while _alive:
        os.close(_alive.pop())
