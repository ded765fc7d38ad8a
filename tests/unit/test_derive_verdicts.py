import pytest

from dpscale.derive.verdicts import direction, no_difference, within


@pytest.mark.parametrize(
    ("low", "high", "published", "verdict"),
    [
        (0.1, 0.3, 2.0, "agrees"),
        (-0.3, -0.1, -2.0, "agrees"),
        (0.1, 0.3, -2.0, "disagrees"),
        (-0.1, 0.3, 2.0, "not decidable"),
        (0.0, 0.3, 2.0, "not decidable"),
        (None, None, 2.0, "not decidable"),
    ],
)
def test_a_difference_agrees_by_its_sign(low, high, published, verdict):
    assert direction(low, high, published) == verdict


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.1, 0.1, "agrees"),
        (0.3, 0.5, "disagrees"),
        (-0.5, -0.3, "disagrees"),
        (-0.1, 0.5, "not decidable"),
        (None, 0.1, "not decidable"),
    ],
)
def test_no_difference_is_one_within_the_margin(low, high, verdict):
    assert no_difference(low, high, 0.2) == verdict


def test_intervals_of_the_same_thing_agree_where_they_meet():
    assert within(1.0, 2.0, 1.9, 3.0) == "agrees"
    assert within(1.0, 2.0, 2.1, 3.0) == "disagrees"
    assert within(None, None, 2.1, 3.0) == "not decidable"
