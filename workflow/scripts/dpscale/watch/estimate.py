"""How long the rest of a workflow takes, told from the runs that are done, here or elsewhere."""

import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from dpscale.studies import timed_alone
from dpscale.watch.durations import NOTHING, Durations
from dpscale.watch.observer import moment_s
from dpscale.watch.state import Run, State

CORES = os.cpu_count() or 1


@dataclass(frozen=True)
class Rest:
    """Seconds that are left; `whole`: no run lacks an estimate, so that they are not a minimum."""

    seconds: float
    whole: bool


def rest(runs: Sequence[Run], before: Durations = NOTHING, cores: int = CORES) -> Rest | None:
    """Return the time left; None where nobody knows.

    Jobs of Slurm go on as many side by side as now. On one machine a timed run has it to itself,
    and of the others each takes a core a worker.
    """
    left = [run for run in runs if run.state in (State.RUNNING, State.WAITING)]
    pace = _pace(runs, before)
    seconds = [_left_s(run, runs, before, pace) for run in left]
    known = [(one, run) for one, run in zip(seconds, left, strict=True) if one is not None]
    if not known:
        return None
    on_slurm = any(run.job or (run.attempt and run.attempt.job) for run in runs)
    shares = {run.spec.run: 1.0 if on_slurm else _share(run, cores) for run in left}
    at_once = max(1.0, sum(shares[run.spec.run] for run in left if run.state == State.RUNNING))
    total = sum(one * shares[run.spec.run] for one, run in known) / at_once
    return Rest(max(total, *(one for one, _ in known)), len(known) == len(left))


def measured(runs: Sequence[Run], call_s: float, cores: int = CORES) -> Durations:
    """Return the durations of runs that are done, and what their jobs took beside them.

    call_s: what the whole call of snakemake on this machine took, from no run to the report.
    """
    run_s = {run.spec.run: round(run.wall_s or 0.0, 2) for run in runs}
    shares = {run.spec.run: _share(run, cores) for run in runs}
    busy_s = sum(run_s[name] * share for name, share in shares.items())
    return Durations(run_s, round(max(0.0, call_s - busy_s) / sum(shares.values()), 2))


def _share(run: Run, cores: int) -> float:
    """The part of the machine that a run takes."""
    return 1.0 if timed_alone(run.spec) else min(run.spec.workers, cores) / cores


def _pace(runs: Sequence[Run], before: Durations) -> float:
    """How much longer runs take here than they took where durations were written down."""
    done = [run for run in runs if run.status == "complete" and run.wall_s]
    ratios = [run.wall_s / before.run_s[run.spec.run] for run in done
              if run.wall_s and before.run_s.get(run.spec.run)]  # fmt: skip
    return statistics.median(ratios) if ratios else 1.0


def _left_s(run: Run, runs: Sequence[Run], before: Durations, pace: float) -> float | None:
    if run.progress and run.progress.left_s is not None:
        return run.progress.left_s
    usual_s = _usual_s(run, runs, before, pace)
    began_s = moment_s(run.attempt.began_at) if run.attempt else None
    if usual_s is None or began_s is None or run.state == State.WAITING:
        return usual_s
    return max(0.0, usual_s - (time.time() - began_s))


def _usual_s(run: Run, runs: Sequence[Run], before: Durations, pace: float) -> float | None:
    """As this run took elsewhere, or the median of those of its study with as many workers."""
    if (known_s := before.run_s.get(run.spec.run)) is not None:
        return (known_s + before.job_s) * pace
    like = [one for one in runs if one.status == "complete" and one.spec.study == run.spec.study]
    closest = [one for one in like if one.spec.workers == run.spec.workers] or like
    times = [one.wall_s for one in closest if one.wall_s is not None]
    return statistics.median(times) + before.job_s if times else None
