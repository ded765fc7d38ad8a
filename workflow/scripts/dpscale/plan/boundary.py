"""The search for the largest batch that fits: which batch to try next, given what happened."""

import math
from collections.abc import Mapping, Sequence

# Fresh processes beyond the one that found a bound. An allocator's layout differs from process to
# process, so that a batch at the edge may fail in some only: the report gives both counts.
CONFIRMATIONS = 2


def bounds(
    outcomes: Mapping[int, Sequence[bool]],
) -> tuple[int | None, int | None]:
    """(largest batch that fits, smallest batch that failed); None where there is none.

    outcomes: for each batch tried, whether it fitted, a value a process. A batch that failed once
    does not fit, and neither does any larger one.
    """
    failed = min((batch for batch, fitted in outcomes.items() if not all(fitted)), default=None)
    fitting = [batch for batch in outcomes if failed is None or batch < failed]
    return max(fitting, default=None), failed


def next_probe(
    outcomes: Mapping[int, Sequence[bool]], *, train_samples: int, resolution_frac: float
) -> int | None:
    """The batch to try next in a fresh process, or None when the boundary is settled.

    Bisects geometrically between the largest batch that fits and the smallest that failed until
    they are within `resolution_frac`, then confirms both; where nothing failed, the whole dataset
    (`train_samples`) is the batch to confirm.
    """
    fits, failed = bounds(outcomes)
    if failed is None:
        return _unconfirmed(outcomes, [train_samples])
    if fits is None:
        return failed // 2 or None
    if failed - fits > max(1, int(resolution_frac * failed)):
        middle = round(math.sqrt(fits * failed))
        return min(max(middle, fits + 1), failed - 1)
    return _unconfirmed(outcomes, [fits, failed])


def _unconfirmed(outcomes: Mapping[int, Sequence[bool]], batches: list[int]) -> int | None:
    return next((b for b in batches if len(outcomes.get(b, [])) < 1 + CONFIRMATIONS), None)
