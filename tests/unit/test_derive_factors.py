"""Parts of a sum: their intervals over launches, and which of them is most of it."""

import numpy as np
import pandas as pd
import pytest

from dpscale.derive.factors import cause_of, sum_columns, weighted_sums, with_leads

PARTS = {
    "exposed": {"ddp": 1, "noop": -1},
    "overhead": {"noop": 1, "copies": -1},
    "contention": {"copies": 1, "one": -1},
}
SUMS = with_leads(PARTS, "whole")


def sides(ddp, noop, copies, one) -> list[pd.DataFrame]:
    """The seconds of each launch of N workers, and of one worker's share."""
    return [pd.DataFrame({"ddp": ddp, "noop": noop, "copies": copies}), pd.DataFrame({"one": one})]


def test_a_sum_has_the_scatter_of_what_is_paired_by_launch():
    """Means of 1.9, 1.5 and 1.1 s less 1 s: 0.5 s, with t of 2 times 0.4 / root 3."""
    of_n = pd.DataFrame({"mean_copy": [1.9, 1.5, 1.1]})
    sides = [of_n, pd.DataFrame({"one": [1.0] * 3})]
    (found,) = weighted_sums([sides], {"mean_copy": 1, "one": -1})
    half = 4.303 * 0.4 / 3**0.5
    assert found.value == pytest.approx(0.5)
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half), rel=1e-3)


def test_one_workers_launch_is_paired_with_that_of_several_whose_name_ends_alike():
    # The pace doubles: 2 and 1 s less half of 2.2 and 1 s are 0.9 and 0.5 s; unlike ends scatter.
    of_n = pd.DataFrame({"ddp": [2.0, 1.0]}, index=["n2", "n2-launch2"])
    one = pd.DataFrame({"one": [0.5, 1.1]}, index=["n1-launch2", "n1"])
    weights = {"ddp": 1, "one": -1}
    (paired,) = weighted_sums([[of_n, one]], weights)
    (apart,) = weighted_sums([[of_n, one.rename(index={"n1": "n1-launch3"})]], weights)
    half = 12.706 * np.std([0.9, 0.5], ddof=1) / 2**0.5
    assert paired.value == apart.value == pytest.approx(0.7)
    assert (paired.low, paired.high) == pytest.approx((0.7 - half, 0.7 + half), rel=1e-3)
    assert apart.high - apart.low > 2 * half


def test_a_median_is_of_all_launches_and_the_interval_of_those_that_timed_both():
    of_n = pd.DataFrame({"ddp": [3.0, 3.0, 5.0, 5.0, 5.0], "noop": [2.0, 2.0, None, None, None]})
    (found,) = weighted_sums([[of_n]], {"ddp": 1, "noop": -1})
    assert found == (pytest.approx(3.0), pytest.approx(1.0), pytest.approx(3.0), 2)


def test_an_arm_that_nobody_timed_leaves_the_sum_unknown():
    of_n = pd.DataFrame({"ddp": [3.0, 3.0], "noop": [np.nan, np.nan]})
    assert weighted_sums([[of_n]], {"ddp": 1, "noop": -1})[0].value is None


def test_one_launch_gives_no_interval():
    (row,) = sum_columns([sides([3.0], [2.0], [2.0], [1.0])], SUMS)
    ends = [row[f"whole_s{end}"] for end in ("", "_low", "_high")]
    assert ends == [pytest.approx(2.0), None, None]


def test_parts_add_up_to_the_whole():
    (row,) = sum_columns([sides([6.0, 6.6], [3.0, 3.1], [2.5, 2.4], [1.0, 1.1])], SUMS)
    assert sum(row[f"{name}_s"] for name in PARTS) == pytest.approx(row["whole_s"])
    assert row["whole_s"] == pytest.approx(6.3 - 1.05)
    assert row["exposed_lead_s"] == pytest.approx(3.25 - 0.6 - 1.4)


@pytest.mark.parametrize(
    ("seconds", "cause"),
    [
        ((4.0, 2.2, 2.1, 2.0), "exposed"),  # 1.8 of 2 s
        ((3.5, 2.0, 2.0, 1.0), "exposed"),  # 1.5 of 2.5 s
        ((4.0, 3.0, 2.0, 1.0), None),  # each a third
        ((4.0, 2.0, 4.0, 2.0), None),  # overhead below zero: both others are the whole
        ((1.0, 1.0, 1.0, 2.0), None),  # nothing is added
    ],
)
def test_a_cause_is_at_least_half_of_a_sum(seconds, cause):
    launches = [[time * off for off in (0.99, 1.0, 1.01)] for time in seconds]
    (row,) = sum_columns([sides(*launches)], SUMS)
    assert cause_of(row, list(PARTS), "whole") == cause


def test_a_sum_of_one_launch_has_no_cause():
    (row,) = sum_columns([sides([4.0], [2.2], [2.1], [2.0])], SUMS)
    assert cause_of(row, list(PARTS), "whole") is None


def test_noise_names_the_half_of_two_equal_parts_in_at_most_5_of_100_cells():
    random = np.random.default_rng(1)
    named = 0
    for _ in range(400):
        off = np.exp(random.normal(0, 0.03, (4, 3)))
        launches = [time * one for time, one in zip((1.4, 1.2, 1.2, 1.0), off, strict=True)]
        (row,) = sum_columns([sides(*launches)], SUMS)
        named += cause_of(row, ["exposed"], "whole") is not None
    assert named <= 20


def of_cells(random: np.random.Generator, parts_s: dict[str, float]) -> list[list[pd.DataFrame]]:
    """Six cells of six launches, three batches of two numbers of workers; each batch has a base."""
    scatter = np.exp(0.5 * random.standard_normal(6))
    bases = [sides([], [], [], np.exp(0.1 * random.standard_normal(6)))[1] for _ in range(3)]
    cells = []
    for place in range(6):
        off = np.exp(0.1 * scatter[place] * random.standard_normal((3, 6)))
        added = np.cumsum([parts_s[name] for name in ("contention", "overhead", "exposed")])
        cells.append([sides(*((1 + added)[::-1, None] * off), [])[0], bases[place % 3]])
    return cells


def test_parts_of_like_cells_cover_and_their_intervals_are_narrower():
    random, covered, narrower = np.random.default_rng(2), [], []
    parts_s = {"contention": 0.2, "overhead": 0.0, "exposed": 0.1}
    for _ in range(200):
        cells = of_cells(random, parts_s)
        for cell, row in zip(cells, sum_columns(cells, SUMS), strict=True):
            (alone,) = sum_columns([cell], SUMS)
            for name, part_s in parts_s.items():
                low, high = (row[f"{name}_s_{end}"] for end in ("low", "high"))
                covered.append(low <= part_s <= high)
                narrower.append((high - low) / (alone[f"{name}_s_high"] - alone[f"{name}_s_low"]))
    assert np.mean(covered) >= 0.93
    assert np.median(narrower) < 0.9


def test_noise_names_the_half_of_two_equal_parts_in_at_most_5_of_100_like_cells():
    random, named = np.random.default_rng(3), []
    for _ in range(100):
        cells = of_cells(random, {"contention": 0.3, "overhead": 0.0, "exposed": 0.3})
        named += [cause_of(row, ["exposed"], "whole") for row in sum_columns(cells, SUMS)]
    assert np.mean([one is not None for one in named]) <= 0.05


def test_the_whole_needs_no_arm_that_cancels_out():
    (row,) = sum_columns([sides([6.0, 6.6], [np.nan] * 2, [np.nan] * 2, [1.0, 1.1])], SUMS)
    assert row["whole_s"] == pytest.approx(6.3 - 1.05)
    assert row["exposed_s"] is None
