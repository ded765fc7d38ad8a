"""How long the runs that are left take, told from like ones that are done in the same results."""

import statistics
import time
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dpscale.attempts import Progress
from dpscale.plan import Spec
from dpscale.studies import timed_alone
from dpscale.watch.state import Overview, Run, State, moment_s

FACTOR = 1.5  # between what is told and what comes
MARGIN_FRAC = 1 - 1 / FACTOR
ERRORS = 2.5  # standard errors that have to lie within the margin
LIKE = 5  # runs that have to be done before they tell of another
BEGUN_FRAC = 0.25  # of a run, before it tells of its own rest
LEAST_S = 60.0  # a shorter rest hangs on single runs


class Group(NamedTuple):
    """Runs that are like each other; `workers` null: those of a study with any number of them."""

    study: str
    kind: str
    alone: bool
    workers: int | None


class Known(NamedTuple):
    """Seconds that like runs took, one by one, their mean and standard deviation."""

    seconds: list[float]
    mean_s: float
    deviation_s: float


class Part(NamedTuple):
    """What is left of a run: its share of the machine, and who tells; None: the run itself."""

    seconds: float
    share: float
    group: Group | None


def rest_s(overview: Overview, *, now_s: float | None = None) -> float | None:
    """Return the seconds until the last run ends; None where they are not known within FACTOR.

    Each run that is left has to tell of its own rest, or to be like LIKE runs that are done: of its
    study and number of workers, or else of its study. Jobs of Slurm go on as many side by side as
    now. On one machine a timed run is alone, and so is each on GPUs; of the others each takes a
    core a worker.
    """
    left = [run for run in overview.runs if run.state in (State.RUNNING, State.WAITING)]
    if not left or overview.called_at_s is None:
        return None
    known = _known(overview.runs)
    shares = _shares(overview, left)
    now_s = time.time() if now_s is None else now_s
    found = [_part(run, share, known, now_s) for run, share in zip(left, shares, strict=True)]
    parts = [part for part in found if part]
    if len(parts) < len(left):
        return None
    total_s = sum(part.seconds * part.share for part in parts)
    # Graham's bounds for jobs that share cores, of which some are idle at the end: their middle.
    least_s = max(total_s, *(part.seconds for part in parts))
    most_s = total_s + max(part.seconds * (1 - part.share) for part in parts)
    rest = (least_s + most_s) / 2
    sure = ERRORS * _standard_error_s(parts, known) <= rest * MARGIN_FRAC
    return rest if sure and rest >= LEAST_S else None


def _groups(spec: Spec) -> tuple[Group, Group]:
    """The runs that a run is like, the closest first."""
    group = Group(spec.study, spec.kind, timed_alone(spec), spec.workers)
    return group, group._replace(workers=None)


def _known(runs: Sequence[Run]) -> dict[Group, Known]:
    """What is known of groups of like runs: each took its measuring, and what usually lies before.

    That is what the start of its processes takes; now and then also the search of a boundary, or
    the time from one call to the next.
    """
    done = [(run, *run.measured) for run in runs if run.status == "complete" and run.measured]
    ends = sorted(end_s for *_, end_s in done)
    seconds: dict[Group, list[float]] = defaultdict(list)
    before: dict[Group, list[float]] = defaultdict(list)
    for run, start_s, end_s in done:
        place = bisect(ends, start_s)
        for group in _groups(run.spec):
            seconds[group].append(end_s - start_s)
            before[group] += [start_s - ends[place - 1]] if place else []
    known = {}
    for group, measured_s in seconds.items():
        if len(measured_s) >= LIKE:
            start_s = statistics.median(before[group] or [0.0])
            took_s = [one + start_s for one in measured_s]
            known[group] = Known(took_s, statistics.fmean(took_s), statistics.stdev(took_s))
    return known


def _shares(overview: Overview, left: Sequence[Run]) -> list[float]:
    """The part of what is there that each run takes."""
    if any(run.job or (run.attempt and run.attempt.job) for run in overview.runs):
        return [1 / max(1, sum(run.state == State.RUNNING for run in left))] * len(left)
    return [
        1.0
        if timed_alone(run.spec) or run.spec.hardware.device == "cuda"
        else min(run.spec.workers / overview.cores, 1.0)
        for run in left
    ]


def _part(run: Run, share: float, known: Mapping[Group, Known], now_s: float) -> Part | None:
    """What is left of a run; None where nobody knows."""
    if (own_s := _own_seconds(run.progress)) is not None:
        return Part(own_s, share, None)
    group = next((group for group in _groups(run.spec) if group in known), None)
    if group is None:
        return None
    began_s = moment_s(run.attempt.began_at) if run.attempt and run.state == State.RUNNING else None
    if began_s is None:
        return Part(known[group].mean_s, share, group)
    longer = [took_s for took_s in known[group].seconds if took_s > now_s - began_s]
    return Part(statistics.fmean(longer) - (now_s - began_s), share, group) if longer else None


def _own_seconds(told: Progress | None) -> float | None:
    """What a run tells of its own rest; None where that is little more than a guess."""
    if told is None or told.done_frac < BEGUN_FRAC:
        return None
    return told.left_s if told.number <= told.units else None  # beyond: what is left at most


def _standard_error_s(parts: Sequence[Part], known: Mapping[Group, Known]) -> float:
    """Of the sum of the parts: what like runs differ by, and how well their mean is known.

    From other numbers of workers all that are left may differ alike. A run's own word is believed
    within the margin.
    """
    own_s = [part.seconds * part.share for part in parts if part.group is None]
    variance = sum((seconds * MARGIN_FRAC / ERRORS) ** 2 for seconds in own_s)
    for (group, share), count in Counter((p.group, p.share) for p in parts if p.group).items():
        apart = 1 if group.workers is None else 1 / len(known[group].seconds)
        variance += (share * known[group].deviation_s) ** 2 * (count + count**2 * apart)
    return variance**0.5
