"""How a published claim is judged: one case a rule and outcome, worked by hand."""

import pytest

from dpscale.derive.columns import as_table
from dpscale.derive.published import CLAIM_COLUMNS, claim_row
from dpscale.derive.statistics import Estimate

CASES = {  # rule: (published, margin, [(low, high, verdict)])
    "sign": (2.0, None, [(0.1, 0.3, "agrees"), (-0.3, -0.1, "disagrees"),
                         (-0.1, 0.3, "not decidable"), (0.0, 0.3, "not decidable")]),
    "none": (0.0, 0.2, [(-0.1, 0.1, "agrees"), (0.3, 0.5, "disagrees"),
                        (-0.5, -0.3, "disagrees"), (-0.1, 0.5, "not decidable")]),
    "interval": (2.5, None, [(1.0, 2.5, "agrees"), (1.0, 2.4, "disagrees")]),
    "at least": (0.9, None, [(0.9, 1.0, "agrees"), (0.5, 0.89, "disagrees"),
                             (0.8, 0.9, "not decidable")]),
    "above": (1.0, None, [(1.1, 2.0, "agrees"), (0.5, 0.9, "disagrees"),
                          (0.9, 1.1, "not decidable"), (-1.0, 0.5, "not decidable")]),
    "near": (-1.0, 0.2, [(-1.1, -0.9, "agrees"), (-0.5, -0.4, "disagrees"),
                         (-1.1, -0.5, "not decidable")]),
    "up to": (0.0, 0.2, [(-0.1, 0.1, "agrees"), (0.3, 0.4, "disagrees"),
                         (-0.9, -0.5, "not decidable")]),
    "magnitude": (1.0, 10.0, [(0.2, 9.0, "agrees"), (11.0, 20.0, "disagrees"),
                              (5.0, 20.0, "not decidable")]),
    "apart": (1.0, 1.25, [(1.3, 2.0, "agrees"), (1.05, 1.2, "disagrees"),
                          (0.9, 2.0, "not decidable")]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "low", "high", "verdict"),
    [(rule, *one) for rule, (_, _, cases) in CASES.items() for one in cases],
)
def test_a_claim_is_judged_by_the_measured_interval(rule, low, high, verdict):
    published, margin, _ = CASES[rule]
    measured = Estimate((low + high) / 2, low, high, 3)
    row = claim_row("a", rule, published=published, margin=margin, measured=measured)
    assert row["verdict"] == verdict


def test_without_an_interval_or_with_a_reason_nothing_is_decided():
    known = Estimate(1.0, 0.9, 1.1, 3)
    assert claim_row("a", "sign", published=1.0)["verdict"] == "not decidable"
    unknown = claim_row("a", "sign", published=1.0, measured=Estimate(1.0, None, None, 1))
    assert unknown["verdict"] == "not decidable"
    kept = claim_row("a", "sign", published=1.0, measured=known, reason="of another kind")
    assert (kept["verdict"], kept["reason"]) == ("not decidable", "of another kind")


def test_a_row_has_the_columns_of_every_study():
    row = claim_row("a", "interval", published=2.0, around=0.5, source="Table 1", runs="one")
    made = as_table([row], CLAIM_COLUMNS)
    assert (made["published_low"][0], made["published_high"][0]) == (1.5, 2.5)
    assert list(made.columns) == list(CLAIM_COLUMNS)
    assert set(row) <= set(CLAIM_COLUMNS)
