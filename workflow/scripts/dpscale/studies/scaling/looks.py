"""Q2: launches again the cells of speed-ups that are open, until they are decided."""

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from dpscale.plan.looks import launches_at_looks
from dpscale.plan.names import AGAIN as AGAIN_END
from dpscale.plan.spec import TIMED, Spec, TimedProtocol
from dpscale.studies.scaling import AGAIN, PLANNED
from dpscale.studies.scaling.config import LookedCell, LooksProtocol
from dpscale.studies.study import Completion, Earlier

Row = Mapping[str, Any]  # of the derived table `scaling`


def look_again(
    spec: "Spec[LooksProtocol]", earlier: Earlier, clock: Callable[[], float] = time.monotonic
) -> Spec:
    """Return the spec with the runs that were launched for open speed-ups, and why no more were.

    At each look (`plan.looks`) both cells of every open speed-up are launched up to as many times
    as the next look asks for, those of the speed-up that is nearest to a verdict first. Once the
    budget is spent nothing is. Which are open the derived table says that the report shows.
    """
    asked, began_s = spec.protocol, clock()
    first = asked.first_launches
    launched: dict[str, None] = {}  # in order
    found, spent = _open(earlier.derived), False
    for launches, next_launches in pairwise(launches_at_looks(first)):
        if spent or not found:
            break
        _say(
            f"open after {launches} launches: {_named(found)}; launched up to {next_launches} times"
        )
        for further in _further(spec, found, next_launches - first):
            if further.run in launched:
                continue
            if spent := clock() - began_s >= asked.repeat_budget_s:
                break
            earlier.launch(further)
            launched[further.run] = None
        found = _open(earlier.joined(list(launched)))
    why = f"{asked.repeat_budget_s / 60:g} min are spent" if spent else "this was the last look"
    _say(f"still open: {_named(found)}; {why}" if found else "no speed-up is open")
    ended = "budget" if spent else "launches"
    protocol = asked.model_copy(
        update={"further": tuple(launched), "looks_ended": ended if found else "decided"}
    )
    return spec.model_copy(update={"protocol": protocol})


def _open(derived: Mapping[str, Any]) -> list[Row]:
    """The open speed-ups, the one first whose interval would have to narrow least."""
    from dpscale.studies.scaling.derive.looks import is_open  # not above: pandas takes long

    rows = [row for row in derived["scaling"].to_dict("records") if is_open(row)]
    return sorted(rows, key=_narrowing)


def _narrowing(row: Row) -> float:
    """How many times as wide the interval of a speed-up is as one that only just told it from 1."""
    value, low, high = (math.log(row[f"speedup_ratio{end}"]) for end in ("", "_low", "_high"))
    return (high - low) / abs(value) if value else math.inf


def _further(spec: "Spec[LooksProtocol]", rows: Sequence[Row], count: int) -> Iterator[Spec]:
    """The specs of `count` further launches of both cells of each row, in turn."""
    cells = {(cell.workers, cell.per_worker_batch): cell for cell in spec.protocol.cells}
    for row in rows:
        base = row["per_worker_batch"] if row["kind"] == "weak" else row["global_batch"]
        for number in range(1, count + 1):
            yield _launch(spec, cells[1, base], number)
            yield _launch(spec, cells[row["workers"], row["per_worker_batch"]], number)


def _launch(spec: Spec, cell: LookedCell, number: int) -> Spec:
    return spec.model_copy(
        update={
            "run": f"scaling-n{cell.workers}-b{cell.per_worker_batch}{AGAIN_END}{number}",
            "kind": TIMED.name,
            "version": TIMED.version,
            "study": AGAIN,
            "workers": cell.workers,
            "nodes": cell.nodes,
            "per_worker_batch": cell.per_worker_batch,
            "protocol": TimedProtocol(timing=cell.timing),
            "completed_by": None,
        }
    )


def _named(rows: Sequence[Row]) -> str:
    """The speed-ups by their cells; B stands for a global batch that is fixed."""
    fixed = {"weak": ("b", "per_worker_batch"), "strong": ("B", "global_batch")}
    letters = [(row, *fixed[row["kind"]]) for row in rows]
    return ", ".join(f"N = {row['workers']} at {b} = {row[name]}" for row, b, name in letters)


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
