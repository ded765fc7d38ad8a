"""Sees a run from its first process to its last, and says in one line how it ended."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO

from dpscale.attempts import (
    HISTORY,
    Attempt,
    Cause,
    Failure,
    History,
    Process,
    before_abort,
    cause_of,
    hopeless,
    root,
)
from dpscale.files import stamp
from dpscale.launch import slurm, warm
from dpscale.launch.command import command, may_fork
from dpscale.launch.node import devices_per_node
from dpscale.plan import Spec
from dpscale.processes import (
    SILENCE_S,
    STOPPED,
    StateClock,
    end_with_parent,
    family,
    lives,
    node_name,
    shown_as,
)

POLL_S = 0.5
LOOK_S = SILENCE_S / 10  # from one look for stopped processes to the next
LOG_END_BYTES = 2**20  # in which workers that abort say why, each with a stack
GRACE_S = 20  # for the workers to end by themselves; Slurm's own (KillWait) is 30 s
Started = subprocess.Popen[bytes] | warm.WarmProcess
WORKFLOW = "DPSCALE_WORKFLOW"  # identity of the snakemake on this machine that asked for the run


def now() -> str:
    """Return the time in UTC, ISO 8601 to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def supervise(spec: Spec, path: Path, *, history: History, number: int, log: IO[str]) -> int:
    """Run all workers of a spec, and return 0 where the run has a record, else 1.

    path: the spec's file, beside which the record comes; number: which attempt this is; log: gets
    what the workers print and, last, why they ended. The attempt is written into `history`. Raises
    LaunchError for a run that cannot be started here.
    """
    if number > 1 and (reason := hopeless(history.read())):
        _say(f"{spec.run}: not tried again, it would end the same way: {reason}", log)
        return 1
    words = command(spec, path, history.folder, os.environ)
    attempt = Attempt(
        **Process.noted(),
        number=number,
        job=os.environ.get("SLURM_JOB_ID"),
        nodes=slurm.node_names(os.environ),
        began_at=now(),
    )
    history.write(attempt)
    record = path.with_name("record.json")
    earlier = stamp(record)
    failure = _failure(spec, words, history, log)
    if failure and failure.cause == Cause.CRASHED:
        failure = root(_told_before_abort(failure, spec, log, attempt.nodes)) or failure
    recorded = stamp(record) not in (None, earlier)
    if failure and recorded:
        # A worker that runs out of memory ends its peers, and is a result all the same.
        _say(f"{spec.run}: has its record, although {failure.described()}", log)
    elif failure:
        _say(f"{spec.run}: attempt {number}: {failure.described()}", log)
    # Last, for it may fail as the run did: on a full disk.
    history.write(attempt.model_copy(update={"ended_at": now(), "failure": failure}))
    return 0 if recorded else 1


def _failure(spec: Spec, words: list[str], history: History, log: IO[str]) -> Failure | None:
    """Start the workers, wait for their end, and return what ended them early."""
    environment = os.environ | {
        "OMP_NUM_THREADS": str(spec.hardware.threads_per_worker),
        HISTORY: str(history.folder),
    }
    with _Signals() as signals:
        child = _start(spec, words, log, environment)
        ended = _wait(child, signals, history)
    noted = history.noted()
    if ended:
        return ended
    if (status := child.wait()) == 0:
        return None
    last = _last_line(log)
    own = Failure(cause=cause_of(status, last), node=node_name(), rank=0, message=last)
    return root(noted) or own


def _told_before_abort(
    crash: Failure, spec: Spec, log: IO[str], nodes: Sequence[str]
) -> list[Failure]:
    """What ended workers that left no error of their own, as NCCL's watchdog leaves none."""
    with Path(log.name).open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - LOG_END_BYTES))
        end = file.read().decode(errors="replace")
    told = []
    for of_line, message in before_abort(end):
        rank = crash.rank if of_line is None else of_line
        node = nodes[(rank or 0) // devices_per_node(spec)] if nodes else crash.node
        told.append(Failure(cause=cause_of(1, message), node=node, rank=rank, message=message))
    return told


def _start(spec: Spec, words: list[str], log: IO[str], environment: dict[str, str]) -> Started:
    """Start the workers: warm, unless their start is measured."""
    if may_fork(spec) and not spec.protocol.needs.cold_start and words[0] == sys.executable:
        child = warm.start(words[1:], log=log, environment=environment)
        if child:
            return child
    return subprocess.Popen(
        words,
        stdout=log,
        stderr=log,
        env=environment,
        start_new_session=True,
        preexec_fn=partial(end_with_parent, os.getpid()),
    )


def _wait(child: Started, signals: "_Signals", history: History) -> Failure | None:
    """Wait for the child, and return why it was ended, where it was.

    It is when this process is told to end, when its snakemake is gone, and when one of its own
    processes was stopped: that one first, for the others would wait for it.
    """
    stopped, look_s = StateClock(STOPPED), time.monotonic()
    while True:
        with suppress(subprocess.TimeoutExpired):
            child.wait(POLL_S)
            return None
        failure = None
        if signals.received:
            failure = _told_to_end(signals.received)
        elif workflow_is_gone():
            failure = _here(Cause.CANCELLED, "the snakemake that started it was killed")
        elif time.monotonic() - look_s > LOOK_S:
            look_s, failure = time.monotonic(), _stopped(child, stopped, history)
        if failure:
            _end(child)
            return failure


def _stopped(child: Started, clock: StateClock, history: History) -> Failure | None:
    """What a process of the run was stopped, if any was for too long; it is killed."""
    for process, seconds in clock.look(family(child.pid)).items():
        if seconds > SILENCE_S:
            name = shown_as(process)
            message = (
                f"process {process} ({name}) was stopped by SIGSTOP {seconds:.0f} s ago "
                f"({history.phase()})"
            )
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            rank = name.removeprefix("rank ")
            return _here(Cause.SILENT, message).model_copy(
                update={"rank": int(rank) if rank.isdigit() else None}
            )
    return None


def _here(cause: Cause, message: str) -> Failure:
    return Failure(cause=cause, node=node_name(), message=message)


def _told_to_end(number: int) -> Failure:
    name = signal.Signals(number).name
    job = os.environ.get("SLURM_JOB_ID")
    if not job:
        return _here(Cause.CANCELLED, f"told to end ({name})")
    if "TimeLimit" in (slurm.job_field(job, "Reason"), slurm.job_field(job, "JobState")):
        limit = slurm.job_field(job, "TimeLimit")
        return _here(Cause.TIME, f"job {job} reached its time limit, {limit}")
    return _here(Cause.CANCELLED, f"job {job} was cancelled or preempted ({name})")


def _end(child: Started) -> None:
    child.terminate()
    try:
        child.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):  # it has ended just now
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


class _Signals:
    """Notes SIGTERM, SIGINT and SIGHUP instead of ending at once, so that the workers end first.

    One that is ignored stays so: Ctrl-C is not for the background job of a script.
    """

    def __init__(self) -> None:
        self.received = 0
        self._before: dict[int, Callable[..., object] | int | None] = {}

    def __enter__(self) -> "_Signals":
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _note(self, number: int, _: object) -> None:
        self.received = number


def workflow_is_gone() -> bool:
    """Return whether the snakemake that asked for this run here has died without a word."""
    started = os.environ.get(WORKFLOW)
    return started is not None and "SLURM_JOB_ID" not in os.environ and not lives(started)


def _say(line: str, log: IO[str]) -> None:
    for stream in (log, sys.stderr):
        print(line, file=stream, flush=True)


def _last_line(log: IO[str]) -> str:
    lines = Path(log.name).read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
