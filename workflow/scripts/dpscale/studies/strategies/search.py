"""The largest batch whose peak of memory stays within a budget, by few measurements."""

from collections.abc import Callable, Mapping

MOST_PROBES = 10


def probe_batches(
    peak: Callable[[int], float],
    budget: float,
    *,
    first: int,
    per_sample: float,
    multiple: int,
    most: int,
    resolution_frac: float,
) -> dict[int, float]:
    """Return the peak at each batch tried, until the boundary is known to `resolution_frac` of it.

    Batches are multiples of `multiple`, from `first` up to `most`. The peak grows with the batch in
    a line, more or less: a line through what is known says where to look next. The second batch
    goes a quarter of the way to where growth by `per_sample` would meet the budget: gradients of
    what is saved, and work space, come on top of it.
    """
    peaks = {first: peak(first)}
    batch = _next(peaks, budget, multiple, most, resolution_frac)
    if peaks[first] < budget and per_sample > 0:
        towards = first + (budget - peaks[first]) / (4 * per_sample)
        batch = _whole(towards, multiple, first + multiple, most)
    while batch is not None and len(peaks) < MOST_PROBES:
        peaks[batch] = peak(batch)
        batch = _next(peaks, budget, multiple, most, resolution_frac)
    return peaks


def boundary(peaks: Mapping[int, float], budget: float) -> tuple[int | None, int | None]:
    """Return the largest batch within the budget below all that are not, and the least of these."""
    fails = min((batch for batch, peak in peaks.items() if peak > budget), default=None)
    fits = [batch for batch in peaks if fails is None or batch < fails]
    return max(fits, default=None), fails


def _next(
    peaks: Mapping[int, float], budget: float, multiple: int, most: int, resolution_frac: float
) -> int | None:
    """The batch to try next; None where the boundary is known, or there is nothing left to try."""
    fits, fails = boundary(peaks, budget)
    low, high = fits or 0, fails or most + multiple
    if high - low <= max(multiple, resolution_frac * high if fails else 0):
        return None
    guess = _on_the_line(peaks, budget) or (2 * low if low else high / 2)
    # A little beyond the guess on the side that is still open: two such tries enclose it.
    if fails is None:
        guess *= 1 + resolution_frac / 3
    elif guess - low > resolution_frac * high:
        guess *= 1 - resolution_frac / 3
    elif high - guess > resolution_frac * high:
        guess *= 1 + resolution_frac / 3
    if fails is not None and not low < guess < high:
        guess = (low + high) / 2
    return _whole(min(guess, 4 * low if low else guess), multiple, low + multiple, high - multiple)


def _whole(batch: float, multiple: int, least: int, most: int) -> int:
    return max(least, min(int(batch) // multiple * multiple, most))


def _on_the_line(peaks: Mapping[int, float], budget: float) -> float | None:
    """Where a line through the two nearest peaks meets the budget; None for fewer, or falling."""
    nearest = sorted(peaks.items(), key=lambda item: abs(item[1] - budget))[:2]
    if len(nearest) < 2:
        return None
    (one, of_one), (other, of_other) = nearest
    slope = (of_one - of_other) / (one - other)
    return one + (budget - of_one) / slope if slope > 0 else None
