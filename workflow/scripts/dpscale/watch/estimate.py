"""How long the rest of a workflow takes, told from the runs that are done."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from dpscale.watch.observer import moment_s
from dpscale.watch.state import Run, State


@dataclass(frozen=True)
class Rest:
    """Seconds that are left; `whole`: no run lacks an estimate, so that they are not a minimum."""

    seconds: float
    whole: bool


def rest(runs: Sequence[Run]) -> Rest | None:
    """Return the time left if as many runs go on side by side as now; None where nobody knows."""
    left = [run for run in runs if run.state in (State.RUNNING, State.WAITING)]
    seconds = [_left_s(run, runs) for run in left]
    known = [one for one in seconds if one is not None]
    if not known:
        return None
    at_once = max(1, sum(run.state == State.RUNNING for run in runs))
    return Rest(max(sum(known) / at_once, max(known)), len(known) == len(seconds))


def _left_s(run: Run, runs: Sequence[Run]) -> float | None:
    if run.progress and run.progress.left_s is not None:
        return run.progress.left_s
    usual_s = _usual_s(run, runs)
    began_s = moment_s(run.attempt.began_at) if run.attempt else None
    if usual_s is None or began_s is None:
        return usual_s
    return max(0.0, usual_s - (time.time() - began_s))


def _usual_s(run: Run, runs: Sequence[Run]) -> float | None:
    """Median of the runs of the same study that took as many workers, or else any."""
    like = [one for one in runs if one.status == "complete" and one.spec.study == run.spec.study]
    closest = [one for one in like if one.spec.workers == run.spec.workers] or like
    times = [one.wall_s for one in closest if one.wall_s is not None]
    return statistics.median(times) if times else None
