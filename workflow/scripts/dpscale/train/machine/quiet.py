"""How quiet the machine is while repeats are timed: what others use of its cores meanwhile.

The clocks are read between repeats, never within the timed region. On a node that jobs share, the
cores are those of the job.
"""

import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, TypeVar

from dpscale.records.quiet import DISTURBED_FRAC, TICK_S
from dpscale.train.machine.device import machine_id
from dpscale.train.worker import Place

# Columns of a core in /proc/stat (proc(5)) in which no process works on it: idle, iowait, and the
# interrupts, which are mostly the messages of the run itself.
_WITHOUT_PROCESS = (3, 4, 5, 6)

T = TypeVar("T")


@dataclass(frozen=True)
class Usage:
    """Seconds of a machine's clocks as one worker reads them: since the start, or between two.

    busy_s: in which a process was at work, of each core that the worker may use; worker_s: of
    processor time that the worker and its children took.
    """

    machine: str
    wall_s: float
    busy_s: dict[int, float]
    worker_s: float

    @classmethod
    def now(cls) -> "Usage":
        """Return what the clocks show; without cores where the system has no /proc/stat."""
        wall_s = time.monotonic()
        return cls(
            machine_id(),
            wall_s,
            {core: wall_s - seconds for core, seconds in _unused_s().items()},
            time.process_time() + _children_s(),
        )

    def since(self, begin: "Usage") -> "Usage":
        """Return what passed between an earlier reading and this one."""
        busy_s = {
            core: self.busy_s[core] - before_s
            for core, before_s in begin.busy_s.items()
            if core in self.busy_s
        }
        return Usage(
            self.machine, self.wall_s - begin.wall_s, busy_s, self.worker_s - begin.worker_s
        )


def others_frac(usages: Sequence[Usage]) -> float | None:
    """Return the share of a machine's cores that none of the workers used, of the busiest machine.

    usages: what passed on each worker. 0 to 1: busy seconds of the cores that the workers of a
    machine see together, less what they took, over all seconds of these cores. None where unknown.
    """
    shares = []
    for machine in {usage.machine for usage in usages}:
        here = [usage for usage in usages if usage.machine == machine]
        busy_s = {core: seconds for usage in here for core, seconds in usage.busy_s.items()}
        all_s = max(usage.wall_s for usage in here) * len(busy_s)
        if all_s <= 0:
            return None
        others_s = sum(busy_s.values()) - sum(usage.worker_s for usage in here)
        shares.append(min(1.0, max(0.0, others_s / all_s)))
    return max(shares, default=None)


def is_disturbed(others_frac: float | None, wall_s: float) -> bool:
    """Return whether others used too much in a time, beyond what a tick a core may hide."""
    return others_frac is not None and others_frac > DISTURBED_FRAC + TICK_S / wall_s


class Quiet:
    """Has repeats made again that were disturbed; the same ones on all workers.

    again: how many repeats may be made again at most; budget_s: none is begun after this time.
    `rows`: of the table `repeats`.
    """

    def __init__(self, place: Place, *, again: int, budget_s: float | None = None) -> None:
        self._place, self._again = place, again
        self._end_s = None if budget_s is None else time.monotonic() + budget_s
        self.rows: list[dict[str, Any]] = []

    def undisturbed(self, repeat: int, work: Callable[[], T]) -> T:
        """Return what `work` gives in a repeat that nothing disturbed, or in its last attempt."""
        while True:
            self._place.wait()
            begin = Usage.now()
            result = work()
            usage = Usage.now().since(begin)
            shared = self._place.share((astuple(usage), self._is_late()))
            usages = [Usage(*passed) for passed, _ in shared]
            frac, wall_s = others_frac(usages), max(one.wall_s for one in usages)
            kept = self._again == 0 or shared[0][1] or not is_disturbed(frac, wall_s)
            self.rows.append(
                {"repeat": repeat, "wall_s": wall_s, "others_frac": frac, "kept": kept}
            )
            if kept:
                return result
            self._again -= 1

    def _is_late(self) -> bool:
        return self._end_s is not None and time.monotonic() > self._end_s


def _unused_s() -> dict[int, float]:
    """Seconds since the start in which no process worked, of each core that this one may use."""
    cores = os.sched_getaffinity(0)
    unused: dict[int, float] = {}
    with suppress(OSError):
        for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
            name, *ticks = line.split()
            if name[:3] == "cpu" and name[3:].isdigit() and int(name[3:]) in cores:
                unused[int(name[3:])] = sum(int(ticks[at]) for at in _WITHOUT_PROCESS) * TICK_S
    return unused


def _children_s() -> float:
    """Processor time of this process's children, those that load data, ended or not."""
    ended = os.times()
    seconds = ended.children_user + ended.children_system
    for child in multiprocessing.active_children():
        with suppress(OSError):  # it has ended just now
            fields = Path(f"/proc/{child.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
            seconds += (int(fields[11]) + int(fields[12])) * TICK_S  # utime and stime, proc(5)
    return seconds
