"""What a finding can be called, and which known mistake explains a printed number."""

from collections.abc import Iterable
from dataclasses import dataclass

from dpscale.audit.interval import Interval

CODES = (
    "batch_exceeds_dataset",
    "steps_mismatch",
    "loading_faster_than_without",
    "superlinear",
    "speedup_times_workers",
    "speedup_mismatch",
    "compute_mismatch",
    "negative_comm",
    "comm_mismatch",
    "sum_mismatch",
    "bandwidth_wrong_unit",
    "bandwidth_one_iteration",
    "bandwidth_implausible",
    "bandwidth_mismatch",
)


@dataclass(frozen=True)
class Guess:
    """What a mistake would have given."""

    span: Interval
    code: str
    reason: str


def nearest(printed: Interval, guesses: Iterable[Guess]) -> Guess | None:
    """Return the guess whose span meets the printed number and is nearest to it, if any does."""
    met = [guess for guess in guesses if guess.span.meets(printed)]
    return min(met, key=lambda guess: abs(guess.span.middle - printed.middle), default=None)


def shown(number: float, unit: str = "") -> str:
    """Return a number with six significant digits and its unit."""
    return f"{number:.6g} {unit}".strip()
