"""The largest batch of a track that fits the device of the limit benchmark."""

from collections.abc import Callable

from limit_tracks import Bench, Trainee, first_line, free

from dpscale.studies.sweep.boundary import bounds, next_probe
from dpscale.train.machine.memory import failed_allocations, is_out_of_memory

RESOLUTION_FRAC = 1 / 16  # a compilation for every step of the bisection


def largest_batch(fits: Callable[[int], bool], first: int) -> int:
    """Return the largest batch that fits, by doubling and bisecting; `first` is known to fit.

    Correct to RESOLUTION_FRAC of the smallest that does not fit.
    """
    outcomes, batch = {first: [True]}, first
    while all(outcomes[batch]):
        batch *= 2
        outcomes[batch] = [fits(batch)]
    while probe := next_probe(
        outcomes, train_samples=batch, resolution_frac=RESOLUTION_FRAC, confirmations=0
    ):
        outcomes[probe] = [fits(probe)]
    return bounds(outcomes)[0] or first


def fits(work: Callable[[], object], what: str) -> bool:
    """Whether some work ends without running out of memory; says of what it is where not."""
    before = failed_allocations()
    try:
        work()
    except Exception as error:
        if not is_out_of_memory(error, num_ooms=failed_allocations() - before):
            raise
        print(f"{what} does not fit: {first_line(error)}", flush=True)
        return False
    finally:
        free()
    return True


def trains(bench: Bench, track: str, batch: int) -> bool:
    """Whether a batch of a track trains without running out of memory."""
    return fits(lambda: Trainee(bench, track, batch), f"{track}: b = {batch:,}")
