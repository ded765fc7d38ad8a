"""Lessons: what an effect is at least, and which sentence it leads with."""

import math

import pytest

from dpscale.reporting.answer import Value
from dpscale.reporting.lessons import complement, exactly, first_sentence, ratio_of, weight


def ratio(low: float | None, high: float | None) -> Value:
    return Value(value=1.0, unit="ratio", low=low, high=high, runs=["r"])


@pytest.mark.parametrize(
    ("ends", "least"),
    [((1.5, 2.0), 1.5), ((0.25, 0.5), 2.0), ((0.9, 1.2), 1.0), ((None, None), 1.0)],
    ids=["above", "below", "undecided", "of one launch"],
)
def test_an_effect_weighs_the_factor_that_its_interval_shows_at_least(ends, least) -> None:
    assert weight([ratio(*ends)]) == least


def test_the_largest_effect_counts_and_none_weighs_one() -> None:
    assert weight([ratio(1.1, 1.2), ratio(0.2, 0.25)]) == 4.0
    assert weight([]) == 1.0


def test_a_ratio_has_the_widest_interval_that_both_numbers_allow() -> None:
    found = ratio_of(
        Value(value=8.0, unit="s", low=6.0, high=10.0, runs=["a"]),
        Value(value=4.0, unit="s", low=2.0, high=5.0, runs=["b"]),
    )
    assert (found.value, found.low, found.high, found.runs) == (2.0, 1.2, 5.0, ["a", "b"])


def test_a_ratio_to_what_may_be_nothing_has_no_upper_end() -> None:
    found = ratio_of(exactly(4), Value(value=1.0, unit="ratio", low=0.0, high=2.0))
    assert (found.low, found.high) == (2.0, math.inf)


def test_a_ratio_to_nothing_is_not_known() -> None:
    assert ratio_of(exactly(4), exactly(0)).value is None


def test_right_answers_are_what_wrong_ones_leave() -> None:
    found = complement(Value(value=0.25, unit="fraction", low=0.125, high=0.5))
    assert (found.value, found.low, found.high) == (0.75, 0.5, 0.875)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Up by 1.5 times. Why.", "Up by 1.5 times."),
        ("Is it? Yes.", "Is it?"),
        ("Alone.", "Alone."),
        ("At b = 2. 3 follows", "At b = 2. 3 follows"),
    ],
)
def test_the_lesson_is_the_first_sentence(text, first) -> None:
    assert first_sentence(text) == first
