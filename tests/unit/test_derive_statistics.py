"""Medians, their intervals, and the words that an interval allows."""

import math

import numpy as np
import pytest

from dpscale.derive.statistics import median, median_difference, median_ratio, verdict


def test_median_of_an_odd_number_of_repeats_is_the_middle_one():
    assert median([3.0, 1.0, 2.0]).value == 2.0


def test_interval_of_three_repeats_spans_their_range():
    # A resample of 3 is all-lowest in median with probability 7/27 (two or three of the lowest),
    # far above 2.5%: both percentiles are the extremes.
    assert median([3.0, 1.0, 2.0])[1:] == (1.0, 3.0, 3)


def test_equal_repeats_give_an_interval_of_no_width():
    assert median([4.0, 4.0, 4.0])[:3] == (4.0, 4.0, 4.0)


def test_one_repeat_has_a_value_and_no_interval():
    assert median([5.0]) == (5.0, None, None, 1)


def test_no_repeat_is_unknown_and_not_zero():
    assert median([]) == (None, None, None, 0)


def test_values_that_are_not_finite_are_not_repeats():
    assert median([2.0, math.nan, math.inf]) == (2.0, None, None, 1)


def test_a_second_estimate_of_the_same_values_is_the_same():
    values = np.random.default_rng(3).normal(size=20)
    assert median(values) == median(values)


def test_interval_covers_the_true_median_in_about_95_of_100_samples():
    rng = np.random.default_rng(1)
    estimates = [median(rng.normal(size=15)) for _ in range(200)]
    covered = sum(one.low <= 0.0 <= one.high for one in estimates)
    assert 178 <= covered <= 200


def test_ratio_is_of_the_medians():
    assert median_ratio([9.0, 6.0, 3.0], [2.0, 2.0, 2.0])[:3] == (3.0, 1.5, 4.5)


def test_difference_is_of_the_medians():
    assert median_difference([9.0, 6.0, 3.0], [2.0, 2.0, 2.0])[:3] == (4.0, 1.0, 7.0)


def test_two_samples_are_resampled_independently():
    # Paired resampling of a sample against itself would give an interval of no width.
    low, high = median_ratio([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])[1:3]
    assert (low, high) == (pytest.approx(1 / 3), pytest.approx(3.0))


def test_ratio_with_a_single_base_has_no_interval():
    assert median_ratio([6.0], [2.0, 3.0, 4.0]) == (2.0, None, None, 1)


def test_difference_with_an_empty_sample_is_unknown():
    assert median_difference([1.0, 2.0], []).value is None


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (1.1, 1.2, "above"),
        (0.8, 0.9, "below"),
        (0.9, 1.1, "indistinct"),
        (1.0, 1.2, "indistinct"),
        (0.8, 1.0, "indistinct"),
        (None, 1.2, "unknown"),
        (0.8, None, "unknown"),
        (math.nan, 1.2, "unknown"),
        (0.8, math.inf, "unknown"),
    ],
)
def test_verdict_needs_the_whole_interval_on_one_side(low, high, word):
    assert verdict(low, high, 1.0) == word
