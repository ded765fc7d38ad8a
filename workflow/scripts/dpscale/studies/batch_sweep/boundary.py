"""The search for the largest batch that fits: which batch to try next, given what happened."""

import math
from collections.abc import Mapping, Sequence


def bounds(outcomes: Mapping[int, Sequence[bool]]) -> tuple[int | None, int | None]:
    """(largest batch that always fits, smallest that always fails); None where there is none.

    outcomes: for each batch tried, whether it fitted, a value a process. The layout of memory
    differs from process to process, so that batches between the two may fit in some only.
    """
    fitted = [batch for batch, tried in outcomes.items() if any(tried)]
    failed = [batch for batch, tried in outcomes.items() if not all(tried)]
    fits = [batch for batch in fitted if batch < min(failed, default=math.inf)]
    fails = [batch for batch in failed if batch > max(fitted, default=0)]
    return max(fits, default=None), min(fails, default=None)


def next_probe(
    outcomes: Mapping[int, Sequence[bool]],
    *,
    train_samples: int,
    resolution_frac: float,
    confirmations: int,
) -> int | None:
    """The batch to try next in a fresh process, or None when the boundary is settled.

    Bisects geometrically between the largest batch that fits and the smallest that ever failed
    until they are within `resolution_frac`, then confirms the batch that fits and the smallest
    that always fails in `confirmations` processes beyond the one that found it; where nothing
    failed, the whole dataset (`train_samples`) is confirmed.
    """
    fits, fails = bounds(outcomes)
    first_failure = min(
        (batch for batch, tried in outcomes.items() if not all(tried)), default=None
    )

    def unconfirmed(batch: int) -> int | None:
        """The batch, if it was tried too few times."""
        return batch if len(outcomes.get(batch, [])) < 1 + confirmations else None

    if first_failure is None:
        return unconfirmed(train_samples)
    if fits is None:
        return first_failure // 2 or None
    if first_failure - fits > max(1, int(resolution_frac * first_failure)):
        middle = round(math.sqrt(fits * first_failure))
        return min(max(middle, fits + 1), first_failure - 1)
    # A batch that fitted above every failure has no failing one above it yet.
    above = fails or min(2 * max(outcomes), train_samples)
    return unconfirmed(fits) or unconfirmed(above)
