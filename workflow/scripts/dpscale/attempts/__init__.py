"""Attempts at a run: how far each came, how it ended, and what another one should ask for."""

from dpscale.attempts.failure import Cause, Failure, before_abort, cause_of, root
from dpscale.attempts.history import HISTORY, Attempt, History, Process
from dpscale.attempts.progress import Progress
from dpscale.attempts.retry import hopeless, memory_factor, nodes_to_avoid, time_factor

__all__ = [
    "HISTORY",
    "Attempt",
    "Cause",
    "Failure",
    "History",
    "Process",
    "Progress",
    "before_abort",
    "cause_of",
    "hopeless",
    "memory_factor",
    "nodes_to_avoid",
    "root",
    "time_factor",
]
