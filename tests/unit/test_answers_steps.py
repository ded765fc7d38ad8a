"""S1's answer: its sentences turn round with the data."""

from functools import cache

import pytest

import steps_to_goal_builders as planted
from answer_checks import answers, table_of, text_of
from builders import empty_lab, run_row, table
from dpscale.derive.tables import Derived
from dpscale.reporting.answer import Answer

CURVES = {("mlp", "sgd"): 40.0, ("mlp", "nesterov"): 120.0}


@cache
def built(nesterov: float = 120.0, sgd: float = 40.0, slope: float = 1.0, lr: float = 0.1,
          status: str = "complete") -> Answer:  # fmt: skip
    rows = planted.rows({("mlp", "sgd"): sgd, ("mlp", "nesterov"): nesterov}, slope=slope, lr=lr)
    rows["runs"] = [run_row(**row, status=status) for row in rows["runs"]]
    tidy = empty_lab() | {name: table(name, own) for name, own in rows.items()}
    return answers(Derived(tidy), tidy)["S1"]


def test_perfect_scaling_and_its_end_are_told_with_their_interval():
    assert built().sentence.startswith(
        "For mlp with plain SGD steps to the goal fall in proportion to the batch size up to about "
        "B = 10"
    )


def test_steps_that_do_not_fall_in_proportion_are_said_not_to():
    assert "do not fall in proportion" in built(slope=0.6).sentence


@pytest.mark.parametrize(("nesterov", "words"), [
    (120.0, "extends perfect scaling"),
    (10.0, "shortens perfect scaling"),
    (40.0, "is not shown to extend it"),
])  # fmt: skip
def test_what_momentum_does_turns_round_with_the_data(nesterov, words):
    assert words in built(nesterov=nesterov).sentence


def test_a_curve_without_a_bend_gives_no_end_of_perfect_scaling():
    one = built(sgd=1e7, nesterov=1e7)
    assert one.sentence == (
        "No end of perfect scaling can be given for any network and optimiser: no bend."
    )
    assert one.values["b_crit_mlp_sgd"].status == "no bend"


def test_a_winner_on_the_border_of_the_search_space_is_named():
    assert "No winner lies in the outer tenth" in text_of(built())
    text = text_of(built(lr=29.0))
    assert "mlp with plain SGD at B = 2, 4" in text
    assert "there a wider space might do better" in text


def test_the_verdicts_stand_beside_what_was_published():
    rows = table_of(built(), "Published claims").rows
    momentum = next(row for row in rows if row["claim"] == "momentum extends perfect scaling")
    assert momentum["verdict"] == "agrees"
    assert momentum["published_as"] == "ratio above 1"
    assert momentum["who"] == "mlp, Nesterov momentum over plain SGD"


def test_the_expected_outcome_stands_beside_what_came_out():
    last = built().paragraphs[-1]
    assert last.startswith("Expected before the run: “That steps fall as 1/B at first.”")
    assert last.endswith(built().sentence)


def test_the_better_end_at_an_equal_budget_is_that_of_the_data():
    assert "at equal epochs the smallest batch has the lower error" in text_of(built())
    assert "at equal steps the largest batch has the lower error" in text_of(built())


def test_a_search_that_did_not_run_withholds_the_conclusion():
    one = built(status="not run yet")
    assert one.sentence.startswith("The conclusion is withheld")
    assert one.missing == [
        "steps_to_goal, network = mlp, optimiser = sgd: not run yet",
        "steps_to_goal, network = mlp, optimiser = nesterov: not run yet",
    ]
