"""How long a plan takes on one machine, told from like runs in all results here."""

import os
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from dpscale.plan import Spec
from dpscale.studies import read_spec, timed_alone
from dpscale.watch.files import ResultsFolder
from dpscale.watch.state import moment_s

Like = tuple[str | int | bool, ...]


class Cost(NamedTuple):
    """Seconds of a plan's runs, one after another and trainings side by side.

    unknown: runs of which no like one was ever measured here, and which are not in it; basis: the
    results that tell, and how many runs of them.
    """

    seconds: float
    unknown: int
    basis: tuple[tuple[str, int], ...]


def cost(plan: Iterable[Spec], results: Path, cores: int | None = None) -> Cost | None:
    """Return what a plan costs; None where nothing like any of its runs was measured here.

    A run is like those of its study, kind, device and number of workers, or else of its study and
    kind, or else of its kind. results: the folder of all results.
    """
    known, basis = _known(results)
    cores = cores or len(os.sched_getaffinity(0))
    seconds, unknown, told = 0.0, 0, 0
    for spec in plan:
        took_s = next((known[like] for like in _likes(spec) if like in known), None)
        if took_s is None:
            unknown += 1
            continue
        alone = timed_alone(spec) or spec.hardware.device == "cuda"
        seconds += took_s * (1.0 if alone else min(1.0, spec.workers / cores))
        told += 1
    return Cost(seconds, unknown, basis) if told else None


def _likes(spec: Spec) -> tuple[Like, Like, Like]:
    """What runs like a run have in common, the closest first."""
    kind = (spec.kind, spec.hardware.device, timed_alone(spec))
    return (*kind, spec.study, spec.workers), (*kind, spec.study), kind


def _known(results: Path) -> tuple[Mapping[Like, float], tuple[tuple[str, int], ...]]:
    """Median seconds of runs that were done, by what they have in common; and of which results."""
    seconds: dict[Like, list[float]] = defaultdict(list)
    basis = []
    for folder in sorted(results.glob("*/")):
        attempts = ResultsFolder(folder, {})
        count = 0
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
                count += 1
                for like in _likes(spec):
                    seconds[like].append(max(ended_s - began_s, 0.5))  # noted in whole seconds
        basis += [(folder.name, count)] if count else []
    return {like: statistics.median(found) for like, found in seconds.items()}, tuple(basis)
