"""Times the phases of each step without a device synchronisation per step.

A clock is given one mark at the end of each phase; steps tile the epoch, so that the sum of the
steps is the epoch. A mark costs one clock reading on a CPU and one CUDA event on a GPU; events are
read once, after the epoch. On a GPU the load phase is thereby the time that the device waits for
the loader, which is the loading that is not hidden.
"""

import itertools
from time import perf_counter
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
        """End of the next phase, in the order of PHASES; no copy where nothing is copied."""

    def note(self) -> None:
        """A time within a phase, kept apart from the marks."""

    def intervals(self) -> np.ndarray:
        """Seconds between the start and the marks, one after another: shape (marks,)."""

    def notes(self) -> np.ndarray:
        """Seconds from the start to each note: shape (notes,)."""


def phase_columns(intervals_s: np.ndarray, *, copies: bool = True) -> dict[str, np.ndarray]:
    """Seconds of every whole step and its phases: COLUMNS, each of shape (steps,).

    intervals_s: seconds of the phases of each step, one after another; copies: whether the copy is
    among them, which takes no time where it is not.
    """
    phases = intervals_s.reshape(-1, len(PHASES) - (not copies))
    if not copies:
        phases = np.insert(phases, PHASES.index("copy"), 0.0, axis=1)
    return {
        "step_s": phases.sum(axis=1),
        **{f"{name}_s": phases[:, i] for i, name in enumerate(PHASES)},
    }


class HostClock:
    """Clock of a device that works while the host waits (CPU)."""

    def __init__(self) -> None:
        self._marks: list[float] = []
        self._notes: list[float] = []
        keep = self._marks.append

        def mark() -> None:
            """Read the host's clock, which is done at each phase: nothing is looked up."""
            keep(perf_counter())

        self.mark = mark

    def start(self) -> None:
        """Read the host's clock."""
        self._notes.clear()
        self._marks.clear()
        self.mark()

    def note(self) -> None:
        """Read the host's clock."""
        self._notes.append(perf_counter())

    def intervals(self) -> np.ndarray:
        """Seconds between readings: shape (marks,)."""
        return np.diff(self._marks)

    def notes(self) -> np.ndarray:
        """Seconds from the first reading to each note: shape (notes,)."""
        return np.array(self._notes) - self._marks[0]


class EventClock:
    """Clock of a CUDA device: events on its stream."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._events: list[torch.cuda.Event] = []
        self._notes: list[torch.cuda.Event] = []

    def start(self) -> None:
        """Wait for the device, and record the first event."""
        torch.cuda.synchronize(self._device)
        self._events, self._notes = [], []
        self.mark()

    def mark(self) -> None:
        """Record an event on the device's stream."""
        self._events.append(_recorded())

    def note(self) -> None:
        """Record an event on the device's stream."""
        self._notes.append(_recorded())

    def intervals(self) -> np.ndarray:
        """Seconds between events, once the device is done: shape (marks,)."""
        torch.cuda.synchronize(self._device)
        # Event to event: a time since the first one, in float32, would lose microseconds.
        pairs = itertools.pairwise(self._events)
        return np.array([one.elapsed_time(other) for one, other in pairs]) / 1e3

    def notes(self) -> np.ndarray:
        """Seconds from the first event to each note, once the device is done: shape (notes,)."""
        torch.cuda.synchronize(self._device)
        return np.array([self._events[0].elapsed_time(note) for note in self._notes]) / 1e3


def _recorded() -> torch.cuda.Event:
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def make_clock(device: torch.device) -> Clock:
    """The clock that fits a device."""
    return EventClock(device) if device.type == "cuda" else HostClock()
