"""A call of snakemake that is told to end, or of which a process was stopped: nothing hangs.

A terminal sends Ctrl-C to every process of a call. A service manager, a notebook, `kill` and a lost
terminal tell the main process alone, and Snakemake would wait for its jobs and then forget them.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from dpscale.processes import SILENCE_S, STOPPED, StateClock, family, shown_as

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
POLL_S = 1.0


def end_on_signals() -> None:
    """Have each of SIGNALS end the jobs of this process and interrupt it, once.

    Call it with Snakemake's scheduler made, which has a handler of its own. A signal that is
    ignored stays so: Ctrl-C is not for the background job of a script.
    """
    interrupted = False

    def end(*_: object) -> None:
        """Interrupt once; the signals that follow say nothing new."""
        nonlocal interrupted
        if not interrupted:
            interrupted = True
            raise KeyboardInterrupt

    # Told at once of each signal, whichever thread it reaches: of several in a row the main thread,
    # which alone runs handlers, may sleep on.
    told, tells = os.pipe()
    os.set_blocking(tells, False)
    signal.set_wakeup_fd(tells, warn_on_full_buffer=False)
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end)
    threading.Thread(target=_end_jobs, args=(told, lambda: interrupted), daemon=True).start()


def _end_jobs(told: int, interrupted: Callable[[], bool]) -> None:
    """End the jobs from the first of SIGNALS on, and those that begin just now."""
    while (number := os.read(told, 1)[0]) not in SIGNALS:
        pass
    main = threading.main_thread().ident
    while True:
        if main and not interrupted():
            signal.pthread_kill(main, number)
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


def end_what_was_stopped() -> None:
    """Have what this process started be killed once it was stopped for too long, with a line of it.

    A stopped process of a run is seen to by the script of its job, and sooner; this is for that
    script itself, and for what starts runs warm: nobody else would ever miss them.
    """
    threading.Thread(target=_end_stopped, daemon=True).start()


def _end_stopped() -> None:
    clock = StateClock(STOPPED)
    while True:
        time.sleep(SILENCE_S / 6)
        for process, seconds in clock.look(family(os.getpid())[1:]).items():
            if seconds > 1.5 * SILENCE_S:
                print(
                    f"dpscale: process {process} ({shown_as(process)}) was stopped by SIGSTOP "
                    f"{seconds:.0f} s ago: it is killed, and its job tried again or reported",
                    file=sys.stderr,
                    flush=True,
                )
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)


def keep_finished(workflow: Any) -> None:
    """Have Snakemake note as finished the interrupted jobs that had written all of their files.

    Files are written whole, and those of an earlier time are removed before a job begins.
    """

    async def keep() -> None:
        for job in list(workflow.scheduler.running):
            if job.output and all(Path(file).exists() for file in job.output):
                await job.postprocess(store_in_storage=False)

    workflow.async_run(keep())
