"""Factors of a loss: their intervals over launches, and which of them is most of it."""

import numpy as np
import pandas as pd
import pytest

from dpscale.derive.factors import cause_of, factor_columns, weighted_product, weighted_sum

FACTORS = {
    "exposed": {"ddp": 1, "noop": -1},
    "overhead": {"noop": 1, "copies": -1},
    "contention": {"copies": 1, "one": -1},
}


def sides(ddp, noop, copies, one) -> list[pd.DataFrame]:
    """The seconds of each launch of N workers, and of one worker's share."""
    return [pd.DataFrame({"ddp": ddp, "noop": noop, "copies": copies}), pd.DataFrame({"one": one})]


def test_a_sum_has_the_scatter_of_what_is_paired_by_launch():
    """Means of 1.9, 1.5 and 1.1 s less 1 s: 0.5 s, with t of 2 times 0.4 / root 3."""
    of_n = pd.DataFrame({"mean_copy": [1.9, 1.5, 1.1]})
    found = weighted_sum([of_n, pd.DataFrame({"one": [1.0] * 3})], {"mean_copy": 1, "one": -1})
    half = 4.303 * 0.4 / 3**0.5
    assert found.value == pytest.approx(0.5)
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half), rel=1e-3)


def test_a_median_is_of_all_launches_and_the_interval_of_those_that_timed_both():
    of_n = pd.DataFrame({"ddp": [3.0, 3.0, 5.0, 5.0, 5.0], "noop": [2.0, 2.0, None, None, None]})
    found = weighted_sum([of_n], {"ddp": 1, "noop": -1})
    assert (found.value, found.low, found.high, found.repeats) == (3.0, 1.0, 3.0, 2)


def test_an_arm_that_nobody_timed_leaves_the_sum_unknown():
    of_n = pd.DataFrame({"ddp": [3.0, 3.0], "noop": [np.nan, np.nan]})
    assert weighted_sum([of_n], {"ddp": 1, "noop": -1}).value is None


def test_one_launch_gives_no_interval():
    found = weighted_product(sides([3.0], [2.0], [2.0], [1.0]), {"ddp": 1, "one": -1})
    assert (found.value, found.low, found.high) == (pytest.approx(3.0), None, None)


def test_factors_multiply_to_the_loss():
    row = factor_columns(sides([6.0, 6.6], [3.0, 3.1], [2.5, 2.4], [1.0, 1.1]), FACTORS)
    ratios = [row[f"{name}_ratio"] for name in FACTORS]
    assert np.prod(ratios) == pytest.approx(row["loss_ratio"])
    assert row["loss_ratio"] == pytest.approx(6.3 / 1.05)


@pytest.mark.parametrize(
    ("seconds", "cause"),
    [
        ((6.0, 2.2, 2.1, 2.0), "exposed"),  # 2.7 of a loss of 3
        ((6.0, 5.9, 5.8, 2.0), "contention"),
        ((4.0, 3.9, 2.1, 2.0), "overhead"),
        ((1.2**3, 1.2**2, 1.2, 1.0), None),  # each a third
        ((1.0, 1.0, 1.0, 2.0), None),  # no loss
    ],
)
def test_a_cause_is_at_least_half_of_the_loss(seconds, cause):
    launches = [[time * off for off in (0.99, 1.0, 1.01)] for time in seconds]
    assert cause_of(factor_columns(sides(*launches), FACTORS), list(FACTORS)) == cause


def test_noise_names_the_half_of_two_equal_factors_in_at_most_5_of_100_cells():
    random = np.random.default_rng(1)
    named = 0
    for _ in range(400):
        off = np.exp(random.normal(0, 0.03, (4, 3)))
        launches = [time * one for time, one in zip((1.44, 1.2, 1.2, 1.0), off, strict=True)]
        named += cause_of(factor_columns(sides(*launches), FACTORS), ["exposed"]) is not None
    assert named <= 20
