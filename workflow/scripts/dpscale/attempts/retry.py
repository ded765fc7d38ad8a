"""What another attempt at a run should ask for, chosen by how the earlier ones ended."""

from collections.abc import Sequence

from dpscale.attempts.failure import Cause, Failure
from dpscale.attempts.history import Attempt

# The same would happen again, whatever the job asks for.
HOPELESS = (Cause.DISK, Cause.ERROR, Cause.CRASHED)
ELSEWHERE = (Cause.DEVICE, Cause.SILENT, Cause.NETWORK)
MORE_MEMORY = (Cause.MEMORY, Cause.KILLED)
GROWTH = 2


def hopeless(attempts: Sequence[Attempt]) -> str | None:
    """Return why no further attempt can help, or None; an attempt without an end tells nothing."""
    last = attempts[-1].failure if attempts else None
    return last.described() if last and last.cause in HOPELESS else None


def memory_factor(attempts: Sequence[Attempt]) -> int:
    """Return how many times the memory to ask for: twice after each attempt that ran out of it."""
    return GROWTH ** sum(failure.cause in MORE_MEMORY for failure in _failures(attempts))


def time_factor(attempts: Sequence[Attempt]) -> int:
    """Return how many times the time to ask for: twice after each attempt cut off by its limit."""
    return GROWTH ** sum(failure.cause == Cause.TIME for failure in _failures(attempts))


def nodes_to_avoid(attempts: Sequence[Attempt]) -> list[str]:
    """Return the nodes whose workers fell silent, could not be reached or lack a device."""
    nodes = {one.node for one in _failures(attempts) if one.cause in ELSEWHERE}
    return sorted(nodes - {""})  # a node without a name would be an option without a value


def _failures(attempts: Sequence[Attempt]) -> list[Failure]:
    return [attempt.failure for attempt in attempts if attempt.failure]
