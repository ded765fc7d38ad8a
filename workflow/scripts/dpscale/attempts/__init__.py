"""Attempts at a run: how each ended, why, and what another one should ask for."""

from dpscale.attempts.failure import Cause, Failure, cause_of, root
from dpscale.attempts.history import Attempt, History
from dpscale.attempts.retry import hopeless, memory_factor, nodes_to_avoid, time_factor

__all__ = [
    "Attempt", "Cause", "Failure", "History", "cause_of", "hopeless", "memory_factor",
    "nodes_to_avoid", "root", "time_factor",
]  # fmt: skip
