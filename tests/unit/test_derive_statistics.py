"""Medians, their intervals, and the words that an interval allows."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, ndtri

from dpscale.derive.contrasts import prior_of
from dpscale.derive.statistics import (
    UNKNOWN,
    Estimate,
    about_neighbours,
    difference_together,
    interval_columns,
    like_pairs,
    median,
    median_ratio,
    middle,
    on_images,
    on_same_images,
    over_seeds,
    paired_median_difference,
    paired_median_ratio,
    together,
    verdict,
)
from dpscale.derive.verdicts import beside, overall, trend

SAMPLES = 1000
# Values of a known median, 1: of times with 3% of noise, of skewed ones, and of ones with outliers.
DRAWN = {
    "normal": lambda rng, size: 1 + 0.03 * rng.standard_normal(size),
    "lognormal": lambda rng, size: np.exp(0.5 * rng.standard_normal(size)),
    "heavy-tailed": lambda rng, size: np.exp(0.03 * rng.standard_t(2, size)),
}


def test_median_of_an_odd_number_of_repeats_is_the_middle_one():
    assert median([3.0, 1.0, 2.0]).value == 2.0


def test_interval_of_few_repeats_is_students_t_about_their_mean():
    # Mean 1, deviation 2, t with 2 degrees of freedom 4.3027: 4.3027 * 2 / sqrt(3) = 4.9683.
    estimate = median([3.0, 1.0, -1.0])
    assert estimate[1:] == (pytest.approx(1 - 4.9683, abs=1e-4), pytest.approx(5.9683, abs=1e-4), 3)


def test_interval_of_values_above_zero_is_that_of_their_logarithms():
    # Logarithms 0, 1 and 2: 1 +- 2.4842.
    low, high = median(np.exp([2.0, 0.0, 1.0]))[1:3]
    assert (math.log(low), math.log(high)) == pytest.approx((-1.4842, 3.4842), abs=1e-4)


@pytest.mark.parametrize(("count", "ends"), [(6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (12, (3, 10))])
def test_interval_of_more_repeats_is_two_of_them(count, ends):
    # At 9, the chance that 1 or 0 of them lie below the median is 10/512: 1.95% at either end.
    assert median([float(n) for n in range(1, count + 1)])[1:3] == pytest.approx(ends)


def pairs_apart(differences) -> Estimate:
    x = pd.Series(differences, dtype=float)
    return paired_median_difference(x, 0 * x)


@pytest.mark.parametrize(
    ("differences", "ends"),
    [
        ([1, 2, 4, 8, 16, 32], (1, 32)),  # of 64 signs of ranks two in 64 are as far: 3.1%
        # Of 128 the sums 0, 1 and 2 are three, 2.3% at either end: the third mean is 2.
        ([1, 2, 4, 8, 16, 32, 64], (2, 40)),
        # Of 256 the sums 0 to 3 are five, 2.0%: of the means 1, 1.5, 2, 2.5, ... the fourth.
        ([1, 2, 4, 8, 16, 32, 64, 128], (2.5, 72)),
    ],
)
def test_interval_of_pairs_is_by_signed_ranks(differences, ends):
    assert pairs_apart(differences)[1:3] == pytest.approx(ends)


def test_eight_pairs_have_an_interval_a_third_narrower_than_their_ends():
    drawn = np.random.default_rng(1).standard_normal((SAMPLES, 8))
    narrower = [np.ptp(pairs_apart(one)[1:3]) / np.ptp(one) for one in drawn]
    assert np.median(narrower) < 0.67


@pytest.mark.parametrize("noise", ["heavy-tailed", "outliers"])
@pytest.mark.parametrize("count", [6, 8, 13, 24])
def test_pairs_of_which_one_is_disturbed_more_cover(noise, count):
    rng = np.random.default_rng(count)
    middle = float(np.median(NOISE[noise](rng, 10**5) - 0.3 * NOISE[noise](rng, 10**5)))
    found = [
        pairs_apart(NOISE[noise](rng, count) - 0.3 * NOISE[noise](rng, count))
        for _ in range(SAMPLES)
    ]
    assert np.mean([one.low <= middle <= one.high for one in found]) >= 0.93


def test_equal_repeats_give_an_interval_of_no_width():
    assert median([4.0, 4.0, 4.0])[:3] == (4.0, 4.0, 4.0)


def test_one_repeat_has_a_value_and_no_interval():
    assert median([5.0]) == (5.0, None, None, 1)


def test_no_repeat_is_unknown_and_not_zero():
    assert median([]) == (None, None, None, 0)


def test_values_that_are_not_finite_are_not_repeats():
    assert median([2.0, math.nan, math.inf]) == (2.0, None, None, 1)


def test_an_interval_holds_its_value():
    # The t interval of the pairs' differences alone would be 0.75 +- 0.35.
    x = pd.Series([1.0, 2.0, 3.0, 4.0, 5.0, 9.0, 9.0])
    y = pd.Series([1.0, 2.0, 3.0, 0.0, 5.0, 9.0, 9.0])
    value, low, high, _ = paired_median_difference(x, y)
    assert value == 1.0
    assert low <= value <= high


@pytest.mark.parametrize("count", [3, 5, 6, 10])
@pytest.mark.parametrize("drawn", DRAWN.values(), ids=DRAWN)
def test_interval_covers_the_true_median_in_95_of_100_samples(drawn, count):
    estimates = [median(drawn(np.random.default_rng(n), count)) for n in range(SAMPLES)]
    assert np.mean([one.low <= 1 <= one.high for one in estimates]) >= 0.93


@pytest.mark.parametrize("count", [3, 5, 6, 10])
@pytest.mark.parametrize("drawn", DRAWN.values(), ids=DRAWN)
def test_interval_of_a_ratio_of_independent_medians_covers_it(drawn, count):
    rng = np.random.default_rng(count)
    estimates = [median_ratio(2 * drawn(rng, count), drawn(rng, count)) for _ in range(SAMPLES)]
    assert np.mean([one.low <= 2 <= one.high for one in estimates]) >= 0.93


@pytest.mark.parametrize("count", [3, 5, 6, 8, 10, 24])
@pytest.mark.parametrize("drawn", DRAWN.values(), ids=DRAWN)
@pytest.mark.parametrize(
    ("of", "nothing"), [(paired_median_difference, 0.0), (paired_median_ratio, 1.0)]
)
def test_pairs_without_an_effect_are_told_apart_in_5_of_100_samples(of, nothing, drawn, count):
    rng = np.random.default_rng(count)
    found = []
    for _ in range(SAMPLES):
        shared = drawn(rng, count)  # what disturbs both of a pair
        x, y = (pd.Series(shared * drawn(rng, count)) for _ in range(2))
        found.append(of(x, y))
    assert np.mean([one.low <= nothing <= one.high for one in found]) >= 0.93


# Times of the cells of a table, with medians of 1: how much more one scatters than another.
LIKE = {
    "alike": lambda rng, cells: np.ones(cells),
    "lognormal": lambda rng, cells: np.exp(0.5 * rng.standard_normal(cells)),
    "a noisy cell": lambda rng, cells: np.r_[10.0, np.ones(cells - 1)],
}
# Of logarithms; at times another process takes up to a few times as long as the noise.
NOISE = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "heavy-tailed": lambda rng, size: rng.standard_t(2, size),
    "outliers": lambda rng, size: (
        rng.standard_normal(size) + np.where(rng.random(size) < 0.1, rng.exponential(5, size), 0)
    ),
}

MIDDLES = {
    noise: float(np.median(noise(np.random.default_rng(0), 10**5))) for noise in NOISE.values()
}


def like_cells(rng, noise, spread, cells: int, launches: int) -> np.ndarray:
    """Times [cells, launches] of median 1."""
    scatter = 0.03 * spread(rng, cells)[:, None]
    return np.exp(scatter * (noise(rng, (cells, launches)) - MIDDLES[noise]))


@pytest.mark.parametrize(("cells", "launches"), [(6, 3), (3, 6), (6, 8)])
@pytest.mark.parametrize("spread", LIKE.values(), ids=LIKE)
@pytest.mark.parametrize("noise", NOISE.values(), ids=NOISE)
def test_intervals_that_borrow_from_like_cells_cover(noise, spread, cells, launches):
    rng, covered = np.random.default_rng(launches), []
    for _ in range(3 * SAMPLES // cells):
        times = like_cells(rng, noise, spread, cells, launches)
        prior = prior_of(np.log(times))
        found = [median(own, prior=prior) for own in times]
        covered += [one.low <= 1 <= one.high for one in found]
    assert np.mean(covered) >= 0.93


def test_three_launches_that_borrow_from_five_cells_more_have_intervals_a_third_narrower():
    rng, narrower = np.random.default_rng(3), []
    for _ in range(SAMPLES // 10):
        times = like_cells(rng, NOISE["normal"], LIKE["alike"], 6, 3)
        prior = prior_of(np.log(times))
        pairs = [(median(own, prior=prior), median(own)) for own in times]
        narrower += [(one.high - one.low) / (alone.high - alone.low) for one, alone in pairs]
    assert np.median(narrower) < 0.67


@pytest.mark.parametrize("seeds", [3, 5])
@pytest.mark.parametrize("arms", [4, 7])
def test_all_pairs_of_some_arms_cover_though_they_share_them(arms, seeds):
    rng, covered = np.random.default_rng(arms), []
    for _ in range(SAMPLES // 4):
        times = like_cells(rng, NOISE["normal"], LIKE["lognormal"], arms, seeds)
        pairs = [(pd.Series(x), pd.Series(y)) for x, y in combinations(times, 2)]
        prior = like_pairs((np.log(x), np.log(y)) for x, y in pairs)
        found = [paired_median_ratio(*pair, prior) for pair in pairs]
        covered += [one.low <= 1 <= one.high for one in found]
    assert np.mean(covered) >= 0.93


def test_of_few_like_cells_each_has_the_interval_of_its_launches():
    times = like_cells(np.random.default_rng(1), NOISE["normal"], LIKE["alike"], 5, 3)
    assert median(times[0], prior=prior_of(np.log(times))) == median(times[0])


def test_from_nine_launches_on_two_of_them_are_the_interval_whatever_is_borrowed():
    times = like_cells(np.random.default_rng(1), NOISE["normal"], LIKE["alike"], 6, 9)
    assert median(times[0], prior=prior_of(np.log(times))) == median(times[0])


def test_ratio_is_of_the_medians():
    assert median_ratio([9.0, 6.0, 3.0], [2.0, 2.0, 2.0]).value == 3.0


def test_independent_samples_have_the_interval_of_welch():
    # Logarithms 0, 1, 2 and 0, 0, 0: mean 1, error 1/sqrt(3), 2 degrees of freedom: 1 +- 2.4842.
    value, low, high, _ = median_ratio(np.exp([0.0, 1.0, 2.0]), [1.0, 1.0, 1.0])
    assert math.log(value) == pytest.approx(1.0)
    assert (math.log(low), math.log(high)) == pytest.approx((-1.4842, 3.4842), abs=1e-4)


def test_samples_without_shared_labels_are_independent():
    x, y = pd.Series([1.0, 2.0, 3.0]), pd.Series([1.0, 2.0, 3.0], index=[3, 4, 5])
    assert paired_median_difference(x, x)[1:3] == (0.0, 0.0)
    # Variances 1/3 and 1/3, 4 degrees of freedom: 2.7764 * sqrt(2/3) = 2.2670.
    assert paired_median_difference(x, y)[1:3] == pytest.approx((-2.2670, 2.2670), abs=1e-4)


def test_an_accuracy_has_the_error_of_its_test_set_too():
    # 352 of 360 right, by scipy.stats.binomtest(352, 360).proportion_ci(method="wilson"):
    share, wilson = 352 / 360, (0.956769, 0.988698)
    found = on_images(median([share] * 3), 360, share)
    assert found[1:3] == pytest.approx(wilson, abs=1e-6)
    # What the seeds scatter is added in squares, and so are the errors of two accuracies.
    below, above = share - wilson[0], wilson[1] - share
    spread = on_images(Estimate(share, share - 0.01, share + 0.01, 3), 360, share)
    assert share - spread.low == pytest.approx(math.hypot(0.01, below), abs=1e-6)
    both = on_images(Estimate(0.0, 0.0, 0.0, 3), 360, share, share)
    assert both[1:3] == pytest.approx(
        (-math.hypot(below, above), math.hypot(below, above)), abs=1e-6
    )


def test_all_images_right_is_no_certainty_and_an_unknown_interval_stays_unknown():
    # scipy.stats.binomtest(360, 360).proportion_ci(method="wilson")
    assert on_images(median([1.0] * 3), 360, 1.0)[1:3] == pytest.approx((0.989442, 1.0), abs=1e-6)
    assert on_images(median([1.0]), 360, 1.0) == (1.0, None, None, 1)


def test_verdicts_on_the_same_arm_twice_are_wrong_in_5_of_100_labs():
    rng, found = np.random.default_rng(7), []
    for _ in range(SAMPLES):
        x, y = (pd.Series(rng.binomial(360, 0.98, 3) / 360) for _ in range(2))
        gap = on_images(paired_median_difference(x, y), 360, x.median(), y.median())
        found.append(verdict(gap.low, gap.high, 0.0))
    assert np.mean([one == "indistinct" for one in found]) >= 0.95


# Images that are easy or hard (spread of their logits about a mean), for one arm more than for the
# other (apart), seeds that train better or worse, and how much better the first arm is.
ARMS = {
    "equal arms": {"mean": 9, "spread": 4, "apart": 1.5, "seeds": 0.3, "better": 0},
    "equal arms of one model": {"mean": 9, "spread": 4, "apart": 0, "seeds": 0, "better": 0},
    "a better arm": {"mean": 9, "spread": 4, "apart": 1.5, "seeds": 0.3, "better": 2},
    "nearly all right": {"mean": 14, "spread": 5, "apart": 2, "seeds": 0.1, "better": 3},
    "seeds that scatter": {"mean": 1, "spread": 2, "apart": 0.5, "seeds": 0.3, "better": 0.5},
}


def drawn_differences(rng, seeds: int, images: int, arm: dict) -> np.ndarray:
    """Return which images the first of two arms gets right and the other not, less the reverse."""
    logits = arm["mean"] + arm["spread"] * rng.standard_normal(images)
    better = np.array([arm["better"], 0])[:, None, None]
    own = arm["apart"] * rng.standard_normal((2, 1, images))
    luck = arm["seeds"] * rng.standard_normal((2, seeds, 1))
    right = rng.random((2, seeds, images)) < expit(logits + better + own + luck)
    return right[0].astype(float) - right[1]


def true_difference(arm: dict) -> float:
    """Return the mean of `drawn_differences`, by the middles of a million parts of a normal."""
    spread = math.hypot(arm["spread"], arm["apart"], arm["seeds"])
    logits = arm["mean"] + spread * ndtri((np.arange(10**6) + 0.5) / 10**6)
    return float((expit(logits + arm["better"]) - expit(logits)).mean())


@pytest.mark.parametrize("seeds", [2, 3, 5, 10])
@pytest.mark.parametrize("arm", ARMS.values(), ids=ARMS)
def test_interval_on_the_same_images_covers_the_difference_and_finds_none_where_there_is_none(
    arm, seeds
):
    rng = np.random.default_rng(seeds)
    difference, covered = true_difference(arm), []
    for _ in range(SAMPLES):
        drawn = drawn_differences(rng, seeds, 360, arm)
        found = on_same_images(float(drawn.mean()), drawn)
        covered.append(found.low <= difference <= found.high)
    assert np.mean(covered) >= 0.93


def test_the_same_images_halve_the_interval_of_ten_seeds():
    rng = np.random.default_rng(0)
    drawn = drawn_differences(rng, 10, 360, ARMS["equal arms"])
    share = 0.97
    apart = on_images(Estimate(0.0, -0.003, 0.003, 10), 360, share, share)
    found = on_same_images(0.0, drawn)
    assert found.high - found.low < (apart.high - apart.low) / 2


def test_on_the_same_images_an_interval_stays_within_a_difference_of_shares():
    # Of ten images nine are right with one arm alone.
    found = on_same_images(0.9, np.tile(np.repeat([1.0, 0.0], [9, 1]), (3, 1)))
    assert found.high == 1.0


def test_values_on_a_line_do_not_scatter_about_their_neighbours():
    assert about_neighbours(np.array([0.0, 1, 3, 4]), np.array([1.0, 2, 4, 5]))[0] < 1e-12
    scatter, freedom = about_neighbours(np.arange(3.0), np.array([0.0, 3, 0]))
    assert (scatter, freedom) == pytest.approx((3 / math.sqrt(1.5), 1))
    assert math.isnan(about_neighbours(np.arange(2.0), np.arange(2.0))[0])


def test_ratio_with_a_single_base_has_no_interval():
    assert median_ratio([6.0], [2.0, 3.0, 4.0]) == (2.0, None, None, 1)


def test_a_ratio_to_nothing_is_unknown_and_one_of_nothing_has_no_interval():
    assert median_ratio([1.0, 2.0], [0.0, 0.0]).value is None
    assert median_ratio([0.0, 0.0], [1.0, 2.0]) == (0.0, None, None, 2)


def test_difference_with_an_empty_sample_is_unknown():
    assert paired_median_difference(pd.Series([1.0, 2.0]), pd.Series(dtype=float)).value is None


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


def test_an_error_of_few_seeds_has_the_interval_of_its_accuracy():
    errors = pd.Series([0.005, 0.024, 0.08])
    wrong, right = over_seeds(errors), over_seeds(1 - errors)
    assert (wrong.low, wrong.high) == pytest.approx((1 - right.high, 1 - right.low))


def test_an_unknown_estimate_is_three_nulls():
    assert set(interval_columns("test_accuracy_frac", UNKNOWN).values()) == {None}


def test_a_difference_among_others_has_a_wider_interval_on_the_side_that_was_wider():
    # 97.5% and 99.75% of a normal distribution lie below 1.960 and 2.807.
    found = difference_together(Estimate(1.0, 0.5, 2.0, 5), 10)
    assert found.low == pytest.approx(1 - 0.5 * 2.807 / 1.960, abs=1e-3)
    assert found.high == pytest.approx(1 + 1.0 * 2.807 / 1.960, abs=1e-3)
    alone = difference_together(Estimate(1.0, 0.5, 2.0, 5), 1)
    assert alone == pytest.approx((1.0, 0.5, 2.0, 5))
    assert difference_together(UNKNOWN, 10) == UNKNOWN


@pytest.mark.parametrize(
    ("confidence", "wider"),
    [
        (0.95, 2.8701 / 2.2281),  # Student's t with 10 degrees of freedom, 2.5%/3 and 2.5% beyond
        (0.98, 3.4093 / 2.7638),  # 1%/3 and 1%
    ],
)
def test_a_ratio_among_others_is_widened_from_the_confidence_that_it_has(confidence, wider):
    ratio = Estimate(2.0, 2.0 / math.e, 2.0 * math.e, 11)
    found = together(ratio, 3, confidence)
    assert found.low == pytest.approx(2.0 * math.exp(-wider), rel=1e-3)
    assert found.high == pytest.approx(2.0 * math.exp(wider), rel=1e-3)


def test_a_trend_says_what_all_pairs_of_a_series_say():
    random = np.random.default_rng(5)
    for _ in range(200):
        middles, widths = random.normal(size=6).round(1), random.exponential(size=6).round(1)
        rows = [
            {"x": middle, "x_low": middle - width, "x_high": middle + width}
            for middle, width in zip(middles, widths, strict=True)
        ]
        pairs = [beside(later, earlier, "x") for earlier, later in combinations(rows, 2)]
        assert trend(rows, "x") == overall(pairs)
    assert trend([{"x": 1.0}, {"x": None}], "x") == "unknown"
    assert trend([{"x": None}], "x") == trend([], "x") == "indistinct"


@pytest.mark.parametrize("values", [[3.0], [5.0, 1.0], [2.0, 9.0, 4.0], [0.1, 0.7, 0.3, 0.2]])
def test_the_middle_of_a_few_values_is_numpys_median_bit_for_bit(values: list[float]) -> None:
    assert middle(np.array(values)) == np.median(values)
