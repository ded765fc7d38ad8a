"""Differences with their errors, and which of many are told apart; expected values by hand."""

import math

import numpy as np
import pytest

from dpscale.derive.contrasts import (
    NOTHING_LIKE,
    Contrast,
    Part,
    Prior,
    Scatter,
    contrast,
    crossed,
    holm,
    part_of,
    prior_of,
    scatter_of,
    steadied,
)

# What launches scatter by, cell by cell: alike, widely differing, and a few far noisier ones.
CELLS = 40
SPREADS = {
    "alike": np.full(CELLS, 0.1),
    "differing": np.exp(np.linspace(math.log(0.01), math.log(0.3), CELLS)),
    "a few noisy": np.r_[np.full(CELLS - 4, 0.02), np.full(4, 0.2)],
}


def test_errors_add_in_squares_and_freedom_is_welchs():
    # 9 + 16 = 25; 625 / (81/2 + 256/4) = 625/104.5.
    found = contrast(1.0, [Part(9.0, 2), Part(16.0, 4)])
    assert (found.difference, found.error) == (1.0, 5.0)
    assert found.freedom == pytest.approx(5.9809, abs=1e-4)


def test_interval_is_students_t():
    # t of 4 degrees of freedom: 2.7764.
    assert Contrast(1.0, 0.5, 4).interval(0.95) == pytest.approx((-0.3882, 2.3882), abs=1e-4)


def test_the_p_value_at_an_end_of_the_interval_is_what_the_interval_leaves_out():
    assert Contrast(1.0, 0.5, 4).p_value(2.3882) == pytest.approx(0.05, abs=1e-5)


@pytest.mark.parametrize(("difference", "p_value"), [(0.0, 1.0), (0.1, 0.0)])
def test_what_does_not_scatter_differs_or_does_not(difference, p_value):
    assert Contrast(difference, 0.0, 4).p_value() == p_value


def test_known_parts_alone_are_as_certain_as_a_normal():
    assert contrast(1.0, [Part(0.25, math.inf)]).interval(0.95) == pytest.approx(
        (1 - 0.98, 1 + 0.98), abs=1e-4
    )


def test_holm_goes_on_where_the_first_is_told_and_stops_at_the_first_that_is_not():
    # 0.05/4 = 0.0125, 0.05/3 = 0.0167, 0.05/2 = 0.025: the third stops it, before 0.04 <= 0.05.
    assert holm([0.04, 0.01, 0.03, 0.015], 0.05) == [False, True, False, True]


def test_holm_of_nothing_is_nothing():
    assert holm([], 0.05) == []


def test_scatter_is_about_each_samples_own_mean():
    samples = [np.array([1.0, 3.0]), np.array([10.0]), np.array([5.0, 5.0, 8.0])]
    assert scatter_of(samples) == (pytest.approx(2.0 + 6.0), 3)


def test_the_scatter_of_others_counts_as_two_degrees_of_freedom():
    # Own squares 2 of 1, others 30 of 5: (2 + 2*6) / 3 = 14/3, of a mean of two 7/3.
    part = steadied(np.array([1.0, 3.0]), Scatter(32.0, 6))
    assert part == (pytest.approx(7 / 3), 3)


def test_a_value_alone_scatters_as_the_others_do():
    assert steadied(np.array([4.0]), Scatter(30.0, 5)) == (pytest.approx(6.0), 2)


def test_without_others_a_sample_has_its_own_scatter():
    assert steadied(np.array([1.0, 3.0]), Scatter(2.0, 1)) == (pytest.approx(1.0), 1)


def test_a_value_alone_without_others_says_nothing_of_its_scatter():
    assert steadied(np.array([4.0]), Scatter(0.0, 0)) is None


@pytest.mark.parametrize("launches", [3, 5])
@pytest.mark.parametrize("spreads", SPREADS.values(), ids=SPREADS)
def test_of_pairs_that_do_not_differ_at_most_one_in_twenty_has_a_false_find(spreads, launches):
    rng = np.random.default_rng(0)
    pairs, false = 300, 0
    for _ in range(pairs):
        sides = [spreads[:, None] * rng.standard_normal((CELLS, launches)) for _ in "ab"]
        every = [scatter_of(side) for side in sides]
        p_values = [
            contrast(
                float(b.mean() - a.mean()), [part for part in map(steadied, (a, b), every) if part]
            ).p_value()
            for a, b in zip(*sides, strict=True)
        ]
        false += any(holm(p_values, 0.05))
    assert false / pairs <= 0.05 + 0.025  # two standard errors of 5% in 300 pairs


def test_seeds_that_answer_alike_leave_mcnemars_variance_of_one():
    # 9 images right with one arm alone, 3 with the other, of 360: (12 - 36/360)/(360 * 359), and
    # 2/362^2 for two images more, one each way.
    one_seed = np.repeat([1.0, -1.0, 0.0], [9, 3, 348])
    found = crossed(np.tile(one_seed, (4, 1)))
    assert found.difference == pytest.approx(6 / 360)
    assert found.error**2 == pytest.approx(11.9 / (360 * 359) + 2 / 362**2)


def test_no_discordant_image_leaves_the_error_of_one_each_way():
    found = crossed(np.zeros((10, 360)))
    assert (found.difference, found.error) == (0.0, pytest.approx(2**0.5 / 362))


def test_seeds_that_scatter_beyond_their_images_make_the_error():
    # Means of the seeds 0, 0.5 and 1, none of it of single images: 0.5/sqrt(3) of t with two
    # degrees of freedom, and nearly nothing of the images.
    seeds = np.array([np.zeros(2000), np.tile([0.0, 1.0], 1000), np.ones(2000)])
    found = crossed(seeds)
    assert found.difference == pytest.approx(0.5)
    assert found.error == pytest.approx(0.5 / 3**0.5, rel=1e-3)
    assert found.freedom == pytest.approx(2, rel=1e-2)


def samples_of(*deviations: float) -> list[np.ndarray]:
    """Three values each, about different means, with these standard deviations."""
    return [10.0 * n + deviation * np.array([-1.0, 0, 1]) for n, deviation in enumerate(deviations)]


def test_samples_that_scatter_alike_lend_one_half_of_their_freedom():
    # With 2 degrees of freedom a logarithm of a variance is 0.5772 too low: e^0.5772 = 1.7811.
    samples = samples_of(*[1.0] * 6)
    prior = prior_of(samples)
    assert prior == (pytest.approx(1.7811, abs=1e-4), math.inf, 12)
    # Half of the others' 10: (2 * 1 + 5 * 1.7811) / 7, of a mean of three.
    assert part_of(samples[0], prior) == (pytest.approx(10.9055 / 7 / 3, abs=1e-4), 7)


def test_samples_that_scatter_unalike_lend_less():
    # Logarithms of variances 1.6558 above and below 0: their variance, 1.6558^2 * 6/5 = 3.2899, is
    # twice that of chance, trigamma(1); so the freedom is 2 too, and the variance 1.
    prior = prior_of(samples_of(*[math.exp(1.6558 / 2), math.exp(-1.6558 / 2)] * 3))
    assert prior == (pytest.approx(1, abs=1e-3), pytest.approx(2, abs=1e-3), 12)
    # The freest of three, of variance 4: (2 * 4 + 2 * 1) / 4.
    part = part_of(2.0 * np.array([-1.0, 0, 1]), prior)
    assert part == (pytest.approx(10 / 4 / 3, abs=1e-3), pytest.approx(4, abs=1e-3))


def test_few_samples_lend_nothing_and_equal_values_borrow_nothing():
    five, six = samples_of(*[1.0] * 5), samples_of(*[1.0] * 6)
    assert part_of(five[0], prior_of(five)) == part_of(five[0])
    assert part_of(np.full(3, 7.0), prior_of(six)) == (0.0, 2)
    assert prior_of(five[:1]) == prior_of([]) == NOTHING_LIKE


def test_a_sample_that_several_share_counts_once():
    five = samples_of(*[1.0] * 5)
    assert prior_of([*five, five[0], np.full(3, 2.0), np.ones(1)]) == prior_of(five)


def test_a_prior_is_no_certainty_about_a_sample():
    assert part_of(np.array([0.0, 2.0]), Prior(0.0, math.inf, 21.0)).variance > 0
