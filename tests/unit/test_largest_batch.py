"""The search for the largest batch within a budget finds a planted boundary."""

import random

import pytest

from dpscale.studies.strategies.search import MOST_PROBES, boundary, probe_batches

MOST = 2**14


def search(
    least: float, slope: float, budget: float, **options: object
) -> tuple[dict[int, float], int | None, int | None]:
    """What a search finds where the peak is a line."""
    given = {
        "first": 32,
        "per_sample": slope,
        "multiple": 1,
        "most": MOST,
        "resolution_frac": 0.05,
    } | options
    peaks = probe_batches(lambda batch: least + slope * batch, budget, **given)  # type: ignore[arg-type]
    return peaks, *boundary(peaks, budget)


@pytest.mark.parametrize("multiple", [1, 4])
@pytest.mark.parametrize("hint", [0.0, 0.4, 1.2])
def test_a_boundary_is_enclosed_by_few_probes(multiple, hint) -> None:
    drawn = random.Random(0)
    many = 0
    for _ in range(300):
        least, slope = drawn.uniform(0, 50), 10 ** drawn.uniform(-3, 0)
        budget = least + slope * drawn.uniform(8, 10_000)
        last = (budget - least) / slope  # the largest that fits, in real numbers
        peaks, fits, fails = search(
            least, slope, budget, per_sample=slope * hint, multiple=multiple
        )
        many += len(peaks) == MOST_PROBES
        assert (fits or 0) <= last <= (fails or MOST + multiple)
        if fails is not None and len(peaks) < MOST_PROBES:
            assert fails - (fits or 0) <= max(multiple, 0.05 * fails)
        assert all(batch % multiple == 0 for batch in peaks)
    assert many < 3


def test_a_good_guess_of_the_growth_never_passes_the_budget_by_far() -> None:
    for last in (50, 500, 5_000):
        peaks, _, _ = search(10.0, 0.01, 10.0 + 0.01 * last)
        assert max(peaks) <= 1.2 * last


def test_where_nothing_limits_the_search_ends_at_the_most() -> None:
    peaks, fits, fails = search(1.0, 1e-6, 100.0)
    assert (fits, fails) == (MOST, None)
    assert len(peaks) <= 3


def test_where_nothing_fits_it_ends_at_the_least() -> None:
    _, fits, fails = search(50.0, 1.0, 40.0, multiple=4)
    assert (fits, fails) == (None, 4)


def test_a_batch_that_fits_beyond_one_that_fails_does_not_count() -> None:
    assert boundary({8: 1.0, 16: 9.0, 32: 1.0}, 5.0) == (8, 16)
