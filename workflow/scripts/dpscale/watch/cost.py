"""How long a plan takes on one machine, from like runs in all results here, or once elsewhere."""

import math
import os
import statistics
from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from dpscale.config.datasets import train_samples
from dpscale.plan import Spec
from dpscale.studies import kinds, read_spec, timed_alone
from dpscale.watch.files import ResultsFolder
from dpscale.watch.state import moment_s

# What the runs of one result took on one machine; benchmarks/durations.py writes it.
ELSEWHERE = Path(__file__).with_name("durations.json")
STEP_SAMPLES = 32  # of the step by which machines and networks are compared
LEAST_S = 0.5  # attempts are noted in whole seconds

Like = tuple[str | int | bool, ...]


class Took(NamedTuple):
    """The samples that like runs trained on, and the median of their seconds."""

    samples: int
    seconds: float


class Elsewhere(BaseModel):
    """What the runs of one result took on another machine, and a step of its network there."""

    machine: str
    step_s: float
    took: list[tuple[Like, list[Took]]]


class Cost(NamedTuple):
    """Seconds of a plan's runs, one after another and trainings side by side.

    unknown: runs of which no like one is known, and which are not in it; basis: the results that
    tell, and how many runs of them; elsewhere: the runs that another machine tells of.
    """

    seconds: float
    unknown: int
    basis: tuple[tuple[str, int], ...]
    elsewhere: int = 0


def cost(
    plan: Iterable[Spec], results: Path, step_s: float | None = None, cores: int | None = None
) -> Cost | None:
    """Return what a plan costs; None where nothing like any of its runs is known.

    A run is like those of its study, kind, device and number of workers, or else of its study and
    kind, or else of its kind: here those of its network alone. Of them those tell that trained on
    the nearest number of samples, and a training takes longer by as many more. results: the folder
    of all results; step_s: what a step of the plan's network takes here, by which times of
    ELSEWHERE are stretched; None: unknown, and so are they.
    """
    done = {folder.name: durations(folder) for folder in sorted(results.glob("*/"))}
    basis = tuple((name, len(runs)) for name, runs in done.items() if runs)
    here = _here(run for runs in done.values() for run in runs)
    there = _there(step_s) if step_s else {}
    cores = cores or len(os.sched_getaffinity(0))
    seconds, unknown, elsewhere = 0.0, 0, 0
    specs = list(plan)
    for spec in specs:
        mine = here.get(_network(spec), {})
        like = next((like for like in likes(spec) if like in mine or like in there), None)
        if like is None:
            unknown += 1
            continue
        # Of results here first: min takes the first of equals.
        took = min(mine.get(like, []) + there.get(like, []), key=partial(_apart, samples(spec)))
        elsewhere += took not in mine.get(like, [])
        longer = 1.0 if kinds()[spec.kind].timed else samples(spec) / took.samples
        alone = timed_alone(spec) or spec.hardware.device == "cuda"
        seconds += took.seconds * longer * (1.0 if alone else min(1.0, spec.workers / cores))
    return Cost(seconds, unknown, basis, elsewhere) if unknown < len(specs) else None


def likes(spec: Spec) -> tuple[Like, Like, Like]:
    """Return what runs like a run have in common, the closest first."""
    kind = (spec.kind, spec.hardware.device, timed_alone(spec))
    return (*kind, spec.study, spec.workers), (*kind, spec.study), kind


def samples(spec: Spec) -> int:
    """Return the samples that a run trains on, but for what its kind repeats of its own."""
    return len(spec.seeds) * spec.training.epochs * (train_samples(spec.data) or 1)


def durations(folder: Path) -> list[tuple[Spec, float]]:
    """Return the runs of a result that are done, and the seconds that each took with its start."""
    attempts, done = ResultsFolder(folder, {}), []
    for path in sorted(folder.glob("runs/*/spec.json")):
        attempt = attempts.attempt(path.parent.name)
        if attempt is None or attempt.failure or not attempt.ended_at:
            continue
        began_s, ended_s = moment_s(attempt.began_at), moment_s(attempt.ended_at)
        try:
            spec = read_spec(path.read_bytes())
        except (OSError, ValueError):  # of another version
            continue
        if began_s and ended_s and path.with_name("record.json").exists():
            done.append((spec, max(ended_s - began_s, LEAST_S)))
    return done


def medians(done: Iterable[tuple[Spec, float]]) -> dict[Like, list[Took]]:
    """Return what runs took, by what they have in common."""
    seconds: dict[Like, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for spec, took_s in done:
        for like in likes(spec):
            seconds[like][samples(spec)].append(took_s)
    return {
        like: [Took(count, statistics.median(took)) for count, took in by_samples.items()]
        for like, by_samples in seconds.items()
    }


def read_elsewhere() -> Elsewhere:
    """Return what is known of another machine."""
    return Elsewhere.model_validate_json(ELSEWHERE.read_bytes())


def _network(spec: Spec) -> str:
    return spec.own.file if spec.own else spec.model.name


def _here(done: Iterable[tuple[Spec, float]]) -> dict[str, dict[Like, list[Took]]]:
    """What runs took here, by their network."""
    by_network: dict[str, list[tuple[Spec, float]]] = defaultdict(list)
    for spec, took_s in done:
        by_network[_network(spec)].append((spec, took_s))
    return {network: medians(runs) for network, runs in by_network.items()}


def _there(step_s: float) -> dict[Like, list[Took]]:
    """What runs would take here by what they took elsewhere, at the pace of a step."""
    elsewhere = read_elsewhere()
    pace = step_s / elsewhere.step_s
    return {
        like: [Took(count, took_s * pace) for count, took_s in took]
        for like, took in elsewhere.took
    }


def _apart(count: int, took: Took) -> float:
    """How far two numbers of samples lie apart, by their ratio."""
    return abs(math.log(count / took.samples))
