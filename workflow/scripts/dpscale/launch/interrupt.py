"""A call of snakemake that is told to end: what runs is ended, and what has finished is kept.

A terminal sends Ctrl-C to every process of a call. A service manager, a notebook, `kill` and a lost
terminal tell the main process alone, and Snakemake would wait for its jobs and then forget them.
"""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
POLL_S = 1.0


def end_on_signals() -> None:
    """Have each of SIGNALS end the jobs of this process and interrupt it, once.

    Call it with Snakemake's scheduler made, which has a handler of its own. A signal that is
    ignored stays so: Ctrl-C is not for the background job of a script.
    """
    ending = threading.Event()

    def end(*_: object) -> None:
        """End the jobs, and those that begin just now."""
        if not ending.is_set():
            ending.set()
            threading.Thread(target=_end_jobs, daemon=True).start()
            raise KeyboardInterrupt

    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end)


def _end_jobs() -> None:
    while True:
        for job in _jobs():
            with suppress(ProcessLookupError):
                os.kill(job, signal.SIGTERM)
        time.sleep(POLL_S)


def _jobs() -> Iterator[int]:
    """The scripts of this process's jobs: what their shells wait for, workers excepted.

    Workers are in sessions of their own, and are ended by the script that started them. A shell
    that is told to end would not wait for it.
    """
    with suppress(psutil.Error):
        started = psutil.Process().children(recursive=True)
        parents = {process.ppid() for process in started if _is_of_group(process.pid)}
        yield from (one.pid for one in started if one.pid not in parents and _is_of_group(one.pid))


def _is_of_group(process: int) -> bool:
    with suppress(ProcessLookupError):
        return os.getpgid(process) == os.getpgrp()
    return False


def keep_finished(workflow: Any) -> None:
    """Have Snakemake note as finished the interrupted jobs that had written all of their files.

    Files are written whole, and those of an earlier time are removed before a job begins.
    """

    async def keep() -> None:
        for job in list(workflow.scheduler.running):
            if job.output and all(Path(file).exists() for file in job.output):
                await job.postprocess(store_in_storage=False)

    workflow.async_run(keep())
