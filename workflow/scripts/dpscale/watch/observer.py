"""Looks at a workflow: its plan, its folder of results, Slurm's queue, the processes here."""

import os
import shutil
import time
from collections.abc import Set
from pathlib import Path

from dpscale.attempts import Attempt
from dpscale.config import Config
from dpscale.launch import slurm
from dpscale.launch.leftovers import called_at_s
from dpscale.launch.slurm import Job
from dpscale.studies import planned_runs
from dpscale.watch.files import UNREADABLE, Outcome, ResultsFolder
from dpscale.watch.state import Overview, Run, State, moment_s

# Slurm is asked seldom: it answers everybody on the cluster.
QUEUE_S, NO_QUEUE_S = 10.0, 60.0
# A job is in the queue before its attempt begins, on a clock that may be another one.
CLOCKS_S = 30.0
LOST = "ended without a word; it was killed, or its node is gone"


class Observer:
    """Sees the runs that a configuration plans.

    results: their folder, as results/<name>; slurm: whether their jobs may be of Slurm; wanted: the
    runs that the call at work makes, anew if they are there, without them all that are planned;
    cores: of that call, without them those that this process may use.
    """

    def __init__(
        self,
        config: Config,
        results: Path,
        *,
        slurm: bool = True,
        wanted: Set[str] = frozenset(),
        cores: int | None = None,
    ) -> None:
        self._config, self._wanted = config, wanted
        self._cores = cores or len(os.sched_getaffinity(0))
        self._slurm = slurm and shutil.which("squeue") is not None
        # Where snakemake is called. Not resolved: results/ may be a link to another disk.
        self._root = Path(os.path.abspath(results)).parent.parent
        self._specs = planned_runs(config)
        self._folder = ResultsFolder(results, self._specs)
        self._queue: dict[str, Job] | None = None  # by number
        self._job_of: dict[str, Job] = {}  # by run
        self._asked_s, self._ask_after_s = 0.0, 0.0

    def look(self) -> Overview:
        """Return what is known now."""
        self._ask_slurm()
        called = called_at_s(self._root)
        runs = tuple(self._run(name, called) for name in self._specs)
        if self._wanted:
            runs = tuple(r for r in runs if r.state == State.DONE or r.spec.run in self._wanted)
        return Overview(
            name=self._config.name,
            runs=runs,
            jobs=tuple((self._queue or {}).values()),
            called_at_s=called,
            elapsed_s=_elapsed_s(runs, called),
            cores=self._cores,
        )

    def _ask_slurm(self) -> None:
        now = time.time()
        if now < self._ask_after_s:
            return
        jobs = slurm.queue(self._root) if self._slurm else None
        self._queue = None if jobs is None else {job.number: job for job in jobs}
        self._job_of = {job.run: job for job in jobs or []}
        self._asked_s = now
        self._ask_after_s = time.time() + (NO_QUEUE_S if self._queue is None else QUEUE_S)

    def _run(self, name: str, called: float | None) -> Run:
        spec, attempt = self._specs[name], self._folder.attempt(name)
        outcome = self._outcome(name, called)
        if outcome and outcome.status != UNREADABLE:
            reason = outcome.message if outcome.status != "complete" else ""
            return Run(spec, State.DONE, outcome.status, reason, outcome.measured, attempt)
        job = self._job_of.get(name)
        if attempt and not attempt.ended_at and self._lives(attempt):
            progress = self._folder.progress(name)
            return Run(spec, State.RUNNING, attempt=attempt, progress=progress, job=job)
        if job:
            return Run(spec, State.WAITING if job.waits else State.RUNNING, job=job)
        if outcome:
            return Run(spec, State.FAILED, reason=outcome.message, attempt=attempt)
        if attempt and (reason := _failure(attempt)) and not _of_earlier(attempt, called):
            return Run(spec, State.FAILED, reason=reason, attempt=attempt)
        return Run(spec, State.WAITING)

    def _outcome(self, name: str, called: float | None) -> Outcome | None:
        """What the record of a run says; None where the call at work has yet to make it anew."""
        outcome = self._folder.outcome(name)
        ended_s = outcome.measured[1] if outcome and outcome.measured else 0.0
        return None if called and name in self._wanted and ended_s < called else outcome

    def _lives(self, attempt: Attempt) -> bool:
        """Whether an attempt without an end still runs; True where nobody can tell."""
        if attempt.lives is not None:
            return attempt.lives
        if attempt.job and self._queue is not None:
            began_s = moment_s(attempt.began_at) or 0.0
            return attempt.job in self._queue or began_s > self._asked_s - CLOCKS_S
        return True


def _failure(attempt: Attempt) -> str:
    """Why an attempt that no longer runs has failed; empty where it ended well."""
    if attempt.ended_at is None:
        return f"{attempt.host}: {LOST}"
    return attempt.failure.described() if attempt.failure else ""


def _of_earlier(attempt: Attempt, called: float | None) -> bool:
    """Whether an attempt was of an earlier call of snakemake, and is to be made again by this."""
    began_s = moment_s(attempt.began_at)
    return bool(called and began_s and began_s < called - 1)  # attempts note whole seconds


def _elapsed_s(runs: tuple[Run, ...], called: float | None) -> float | None:
    """Seconds since snakemake was called, or else the first run began, up to the last sign."""
    attempts = [run.attempt for run in runs if run.attempt]
    began = [moment_s(attempt.began_at) for attempt in attempts]
    starts = [called] if called else [at for at in began if at]
    if not starts:
        return None
    if called or any(run.state == State.RUNNING for run in runs):
        return max(0.0, time.time() - min(starts))
    ended = [moment_s(attempt.ended_at) for attempt in attempts if attempt.ended_at]
    ends = [at for at in ended if at and at >= min(starts)]
    return max(ends) - min(starts) if ends else None
