"""How a published claim is judged: one case a rule and outcome, worked by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpscale.derive.columns import as_table
from dpscale.derive.contrasts import by_chance
from dpscale.derive.published import CLAIM_COLUMNS, claim_row, judge, other_devices
from dpscale.derive.statistics import Estimate
from dpscale.reporting.words import macros, squeezed

CASES = {  # rule: (ends of the published, margin, [(low, high, verdict)])
    "sign": (
        (2.0, 2.0),
        None,
        [
            (0.1, 0.3, "agrees"),
            (-0.3, -0.1, "disagrees"),
            (-0.1, 0.3, "not decidable"),
            (0.0, 0.3, "not decidable"),
        ],
    ),
    "none": (
        (0.0, 0.0),
        0.2,
        [
            (-0.1, 0.1, "agrees"),
            (0.3, 0.5, "disagrees"),
            (-0.5, -0.3, "disagrees"),
            (-0.1, 0.5, "not decidable"),
        ],
    ),
    "near": (
        (0.6007, 0.6007),
        0.05,
        [
            (0.595, 0.599, "agrees"),
            (0.30, 0.95, "not decidable"),
            (0.7, 0.8, "disagrees"),
            (0.3, 0.4, "disagrees"),
            (0.64, 0.66, "not decidable"),
        ],
    ),
    "range": (
        (1.3, 4.0),
        None,
        [
            (1.3, 4.0, "agrees"),
            (1.5, 1.6, "agrees"),
            (4.1, 9.0, "disagrees"),
            (1.0, 1.2, "disagrees"),
            (1.2, 1.5, "not decidable"),
            (0.5, 9.0, "not decidable"),
        ],
    ),
    "at least": (
        (0.9, 0.9),
        None,
        [(0.9, 1.0, "agrees"), (0.5, 0.89, "disagrees"), (0.8, 0.9, "not decidable")],
    ),
    "above": (
        (1.0, 1.0),
        None,
        [
            (1.1, 2.0, "agrees"),
            (0.5, 0.9, "disagrees"),
            (0.9, 1.1, "not decidable"),
            (-1.0, 0.5, "not decidable"),
        ],
    ),
    "up to": (
        (0.0, 0.0),
        0.2,
        [
            (-0.1, 0.1, "agrees"),
            (0.3, 0.4, "disagrees"),
            (-0.9, -0.5, "not decidable"),
            (-0.3, 0.3, "not decidable"),
        ],
    ),
    "magnitude": (
        (1.0, 1.0),
        10.0,
        [(0.2, 9.0, "agrees"), (11.0, 20.0, "disagrees"), (5.0, 20.0, "not decidable")],
    ),
    "apart": (
        (1.0, 1.0),
        1.25,
        [
            (1.3, 2.0, "agrees"),
            (1.05, 1.2, "disagrees"),
            (0.9, 2.0, "not decidable"),
            (1.1, 1.4, "not decidable"),
        ],
    ),
}


@pytest.mark.parametrize(
    ("rule", "low", "high", "verdict"),
    [(rule, *one) for rule, (_, _, cases) in CASES.items() for one in cases],
)
def test_a_claim_is_judged_by_the_measured_interval(rule, low, high, verdict):
    ends, margin, _ = CASES[rule]
    measured = Estimate((low + high) / 2, low, high, 3)
    row = claim_row("a", rule, published=ends[0], ends=ends, margin=margin, measured=measured)
    assert row["verdict"] == verdict


RULES = tuple(CASES)
NUMBERS = st.floats(0.01, 20.0)


@settings(max_examples=300)
@given(st.sampled_from(RULES), NUMBERS, NUMBERS, st.floats(0, 1), st.floats(0, 1))
def test_what_a_narrow_interval_leaves_open_no_wider_one_decides(rule, a, b, below, above):
    ends, margin, _ = CASES[rule]
    low, high = sorted([a, b])
    narrow = judge(rule, low, high, ends, margin or 0.0)
    wide = judge(rule, low - below, high + above, ends, margin or 0.0)
    assert wide in (narrow, "not decidable")


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.985, 0.986, "agrees"), (0.99, 0.999, "not decidable"), (0.9, 0.91, "disagrees")],
)
def test_a_published_interval_counts_as_a_measured_one(low, high, verdict):
    measured = Estimate(low, low, high, 3)
    row = claim_row("a", "near", published=0.985, ends=(0.98, 0.99), margin=0.01, measured=measured)
    assert row["verdict"] == verdict


def test_without_an_interval_nothing_is_decided_and_with_a_reason_nothing_is_judged():
    known = Estimate(1.0, 0.9, 1.1, 3)
    assert claim_row("a", "sign", published=1.0)["verdict"] == "not decidable"
    unknown = claim_row("a", "sign", published=1.0, measured=Estimate(1.0, None, None, 1))
    assert unknown["verdict"] == "not decidable"
    kept = claim_row("a", "sign", published=1.0, measured=known, reason="of another kind")
    assert (kept["verdict"], kept["reason"]) == ("not judged", "of another kind")


@pytest.mark.parametrize(
    ("device", "oversubscribed", "reason"),
    [
        ("CPU core", False, "measured on CPU cores, published on GPUs"),
        ("group of CPU cores", None, "measured on CPU cores, published on GPUs"),
        ("NVIDIA H200", True, "workers share devices here"),
        ("NVIDIA H200", False, None),
        (None, None, None),
    ],
)
def test_speeds_of_other_devices_are_of_another_kind(device, oversubscribed, reason):
    assert other_devices(device, oversubscribed) == reason


def test_a_row_has_the_columns_of_every_study():
    row = claim_row("a", "range", published=2.0, ends=(1.5, 2.5), source="Table 1", runs="one")
    made = as_table([row], CLAIM_COLUMNS)
    assert (made["published_low"][0], made["published_high"][0]) == (1.5, 2.5)
    assert list(made.columns) == list(CLAIM_COLUMNS)
    assert set(row) <= set(CLAIM_COLUMNS)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, ""),
        (1, ""),
        (
            2,
            "Of 2 such comparisons, each by a 95% interval, chance alone decides about 0.1 where "
            "nothing differs.",
        ),
        (
            15,
            "Of 15 such comparisons, each by a 95% interval, chance alone decides about 0.75 where "
            "nothing differs.",
        ),
    ],
)
def test_a_table_of_comparisons_says_what_chance_alone_decides(count, text):
    assert squeezed(macros("published.j2", {}).by_chance(by_chance(count))) == text
