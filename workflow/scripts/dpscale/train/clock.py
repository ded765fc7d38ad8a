"""Times the phases of each step without a device synchronisation per step.

A clock is given one mark at the end of each phase; steps tile the epoch, so that the sum of the
steps is the epoch. A mark costs one clock reading on a CPU and one CUDA event on a GPU; events are
read once, after the epoch. On a GPU the load phase is thereby the time that the device waits for
the loader, which is the loading that is not hidden.
"""

import itertools
import time
from typing import Protocol

import numpy as np
import torch

PHASES = ("load", "copy", "forward", "backward", "update")
COLUMNS = ("step_s", *(f"{phase}_s" for phase in PHASES))


class Clock(Protocol):
    """Marks of one epoch."""

    def start(self) -> None:
        """Begin the epoch; the device has nothing left to do."""

    def mark(self) -> None:
        """End of the next phase, in the order of PHASES."""

    def columns(self) -> dict[str, np.ndarray]:
        """Seconds of every whole step since start: COLUMNS, each of shape (steps,)."""


def phase_columns(marks_s: np.ndarray) -> dict[str, np.ndarray]:
    """Seconds of each phase and step from the times of the marks.

    marks_s: the start, then len(PHASES) marks a step, in seconds.
    """
    phases = np.diff(marks_s).reshape(-1, len(PHASES))
    return {
        "step_s": phases.sum(axis=1),
        **{f"{name}_s": phases[:, i] for i, name in enumerate(PHASES)},
    }


class HostClock:
    """Clock of a device that works while the host waits (CPU)."""

    def __init__(self) -> None:
        self._marks: list[float] = []

    def start(self) -> None:
        self._marks = [time.perf_counter()]

    def mark(self) -> None:
        self._marks.append(time.perf_counter())

    def columns(self) -> dict[str, np.ndarray]:
        return phase_columns(np.array(self._marks))


class EventClock:
    """Clock of a CUDA device: events on its stream."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._events: list[torch.cuda.Event] = []

    def start(self) -> None:
        torch.cuda.synchronize(self._device)
        self._events = []
        self.mark()

    def mark(self) -> None:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self._events.append(event)

    def columns(self) -> dict[str, np.ndarray]:
        torch.cuda.synchronize(self._device)
        # Event to event: a time since the first one, in float32, would lose microseconds.
        pairs = itertools.pairwise(self._events)
        milliseconds = np.cumsum([0.0, *(one.elapsed_time(other) for one, other in pairs)])
        return phase_columns(milliseconds / 1e3)


def make_clock(device: torch.device) -> Clock:
    """The clock that fits a device."""
    return EventClock(device) if device.type == "cuda" else HostClock()
