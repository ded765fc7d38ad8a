"""Q2, Q3: launches again what leaves a speed-up or a part of a step open, until it is decided."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from dpscale.plan.looks import launches_at_looks
from dpscale.plan.names import AGAIN as AGAIN_END
from dpscale.plan.spec import TIMED, Spec, TimedProtocol, Timing
from dpscale.studies.scaling import AGAIN, PLANNED
from dpscale.studies.scaling.config import LookedCell, LooksProtocol
from dpscale.studies.study import Completion, Earlier

Row = Mapping[str, Any]  # of a derived or a tidy table


class Open(NamedTuple):
    """What is open, in words, and the batch of the one worker that it is compared with."""

    base_batch: int
    name: str
    split: bool  # whether it is parts of an epoch


def look_again(
    spec: "Spec[LooksProtocol]", earlier: Earlier, clock: Callable[[], float] = time.monotonic
) -> Spec:
    """Return the spec with the runs that were launched for what is open, and why no more were.

    At each look (`plan.looks`) what shares a base with an open speed-up, or with a cell that has an
    open part, is launched up to as many times as the next look asks for, round by round: speed-ups
    of one base then rest on as many launches of it, made at the same time. No round begins that,
    judged by those before, would not end within the budget. What is open the derived tables say
    that the report shows.
    """
    asked, began_s = spec.protocol, clock()
    first = asked.first_launches
    launched: dict[str, None] = {}  # in order
    found, spent, round_s = _open(earlier.derived), False, 0.0
    for launches, next_launches in pairwise(launches_at_looks(first)):
        if spent or not found:
            break
        _say(
            f"open after {launches} launches: {_named(found)}; launched up to {next_launches} times"
        )
        for further in _rounds(spec, found, next_launches - first):
            new = [launch for launch in further if launch.run not in launched]
            round_began_s = clock()
            if spent := bool(new) and round_began_s - began_s + round_s > asked.repeat_budget_s:
                break
            for launch in new:
                earlier.launch(launch)
                launched[launch.run] = None
            round_s = max(round_s, clock() - round_began_s)
        found = _open(earlier.joined(list(launched)))
    why = f"{asked.repeat_budget_s / 60:g} min are spent" if spent else "this was the last look"
    _say(f"still open: {_named(found)}; {why}" if found else "nothing is open")
    ended = "budget" if spent else "launches"
    protocol = asked.model_copy(
        update={"further": tuple(launched), "looks_ended": ended if found else "decided"}
    )
    return spec.model_copy(update={"protocol": protocol})


def _open(derived: Mapping[str, Any]) -> list[Open]:
    from dpscale.studies.scaling.derive import looks  # not above: pandas takes long

    speedups = filter(looks.is_open, derived["scaling"].to_dict("records"))
    split = filter(looks.open_parts, derived["communication"].to_dict("records"))
    return [*map(_speedup, speedups), *map(_parts, split)]


def _speedup(row: Row) -> Open:
    """B stands for a global batch that is fixed."""
    batch, name = {"weak": ("b", "per_worker_batch"), "strong": ("B", "global_batch")}[row["kind"]]
    return Open(row[name], f"N = {row['workers']} at {batch} = {row[name]}", split=False)


def _parts(row: Row) -> Open:
    batch = row["per_worker_batch"]
    return Open(batch, f"the parts of N = {row['workers']} at b = {batch}", split=True)


def _rounds(spec: "Spec[LooksProtocol]", found: Sequence[Open], count: int) -> Iterator[list[Spec]]:
    """The specs of `count` further launches of each base of these and all compared with it."""
    bases = {one.base_batch for one in found}
    split = {one.base_batch for one in found if one.split}
    sharing = [
        cell
        for cell in spec.protocol.cells
        if not bases.isdisjoint((cell.per_worker_batch, cell.workers * cell.per_worker_batch))
    ]
    for number in range(1, count + 1):
        yield [
            _launch(
                spec,
                cell,
                cell.split_timing if cell.per_worker_batch in split else cell.timing,
                number,
            )
            for cell in sharing
        ]


def _launch(spec: Spec, cell: LookedCell, timing: Timing, number: int) -> Spec:
    return spec.model_copy(
        update={
            "run": f"scaling-n{cell.workers}-b{cell.per_worker_batch}{AGAIN_END}{number}",
            "kind": TIMED.name,
            "version": TIMED.version,
            "study": AGAIN,
            "workers": cell.workers,
            "nodes": cell.nodes,
            "per_worker_batch": cell.per_worker_batch,
            "protocol": TimedProtocol(timing=timing),
            "completed_by": None,
        }
    )


def _named(found: Sequence[Open]) -> str:
    return ", ".join(one.name for one in found)


def _say(words: str) -> None:
    """Tell who waits at the terminal."""
    print(f"Q2: {words}", file=sys.stderr, flush=True)


def _of_plan(spec: Spec, other: Spec) -> bool:
    return other.study == PLANNED


def _planned(spec: "Spec[LooksProtocol]") -> dict[str, list[Row]]:
    """The look itself: where one is planned intervals are as wide as its verdicts need."""
    from dpscale.records.tidy import NOT_RUN  # not above: pandas takes long

    asked = spec.protocol.model_dump(include={"first_launches", "repeat_budget_s"})
    return {"runs": [{"run": spec.run, "study": spec.study, "status": NOT_RUN} | asked]}


BY_LOOKS = Completion(_of_plan, look_again, _planned)
