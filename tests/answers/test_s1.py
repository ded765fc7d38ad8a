"""S1: what it says of batch sizes, momentum and networks follows the measured steps."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

import steps_to_goal_builders as planted
from builders import Tables, empty_lab, run_row, table
from cases import Case, around, both, check, only, where, without
from dpscale.reporting.answer import Answer
from dpscale.studies import answer_one

NAN = float("nan")


def searched(status: str = "complete", momentum: str = "nesterov", other: float = 120.0,
             sgd: float = 40.0, **how: float) -> Callable[[], Tables]:  # fmt: skip
    """A lab of two searches: plain SGD and one with momentum, of these critical batch sizes."""

    def tidy() -> Tables:
        """Its tidy tables."""
        rows = planted.rows({("mlp", "sgd"): sgd, ("mlp", momentum): other}, **how)
        rows["runs"] = [run_row(**row, status=status) for row in rows["runs"]]
        return empty_lab() | {name: table(name, own) for name, own in rows.items()}

    return tidy


BASE = searched()
SGD, NESTEROV = {"optimizer": "sgd"}, {"optimizer": "nesterov"}
SMALL = {"claim": "small"}
LARGE = {"claim": "large"}
NOISE = {"claim": "noise"}
CASES = [
    Case("perfect scaling and its end",
         says=["For mlp with plain SGD steps to the goal fall in proportion to the batch size up "
               "to about B = 10.0 (9.7 to 10.4), a quarter of the critical batch size 40.1 (38.7 "
               "to 41.7); Nesterov momentum (3.01× (2.83 to 3.18) the critical batch) extends "
               "perfect scaling.",
               "Momentum: mlp with Nesterov momentum has a larger critical batch size than plain "
               "SGD, 3.01× (2.83 to 3.18) as large. At the smallest batch it needs, as far as the "
               "intervals tell, more steps than plain SGD for mlp with Nesterov momentum.",
               "Between networks: softmax with plain SGD has a larger critical batch size than "
               "mlp, 1.13× (1.07 to 1.19) as large. Networks also"]),
    Case("the protocol",
         says=["3 quasi-random points", "from 0.01 to 30 and, with momentum, $1-\\mu$ from 0.01 to",
               "(4.00% for mlp and 4.00% for softmax), when", "4000 steps, 400 epochs, or 3 times",
               "once 2 trials are there", "are 5 repeats of the winner", "every 16 steps"]),
    Case("the slopes of both ends",
         says=["alone: over the four smallest batch sizes the slope is −1 within 0.2, perfect "
               "scaling, for mlp with plain SGD, mlp with Nesterov momentum and softmax with "
               "plain SGD. Over the four largest the slope is 0 within 0.2, hardly a gain from a "
               "larger batch, for mlp with plain SGD and softmax with plain SGD. Over the four "
               "largest the slope is not decided to be 0 within 0.2 or not for mlp with Nesterov"]),
    Case("the noise scale and equal budgets",
         says=["at B = 32, from", "is within a factor of ten for mlp with plain SGD, mlp with "
               "Nesterov momentum and softmax with plain SGD.",
               "at equal epochs the smallest batch has the lower error in 20 of 21 comparisons "
               "and at equal steps the largest batch has the lower error in 16 of 16 comparisons,",
               "So whether large batches look good"]),
    Case("the searches",
         says=["Of 90 trials 33.3% reached the goal before the search ended, 33.3% were incomplete "
               "and 33.3% infeasible", "No winner lies in the outer tenth"],
         never=["Repeats that did not reach", "Without a median"]),
    Case("beside what was published",
         says=["2018) stands beside what was measured. Of the measurements of “perfect scaling at "
               "small batches”, three agree. Of the measurements of “maximal data parallelism at "
               "large batches”, two agree and one is not decidable. Of the measurements of "
               "“momentum extends",
               "order of magnitude”, three agree. Sizes are",
               "mlp, plain SGD −0.874 (−0.909 to −0.838) slope −1 Shallue",
               "mlp, plain SGD −0.115 (−0.155 to −0.090) slope 0 Shallue",
               "mlp, Nesterov momentum over plain SGD 3.01 (2.83 to 3.18) ratio above 1 Shallue",
               "plain SGD at small batches mlp, Nesterov momentum over plain SGD 2.904 (2.904 to "
               "2.907) ratio 1 Shallue",
               "largest useful batch softmax, plain SGD over mlp 1.13 (1.07 to 1.19) ratio other "
               "than 1 Shallue",
               "mlp, plain SGD 1.25 (1.20 to 1.29) ratio within a factor of 10 McCandlish"]),
    Case("what was expected beside what came out",
         says=["Expected before the run: “That steps fall as 1/B at first.” What came out: For"]),
    Case("steps that do not fall in proportion", lab=searched(slope=0.6),
         says=["do not fall in proportion to the batch size even at the smallest ones (slope "
               "−0.467 (−0.502 to −0.429)); the fitted critical batch size is 11.0 ("]),
    Case("steps that are not decided to fall in proportion", lab=BASE,
         edits={"published_steps_to_goal": where(SMALL | SGD, verdict="not decidable")},
         says=["the fit puts the end of perfect scaling at B = 10.0 (9.7 to 10.4), a quarter of",
               "decided by the measured slope, −0.874 (−0.909 to −0.838); Nesterov",
               "the slope is not decided to be −1 within 0.2 or not for mlp with plain SGD. Over "
               "the four smallest batch sizes the slope is −1 within 0.2"]),
    Case("slopes unlike the published ones", lab=BASE,
         edits={"published_steps_to_goal": where(LARGE, verdict="disagrees")},
         says=["Over the four largest the slope is not 0 within 0.2 for mlp with plain SGD and"]),
    Case("momentum shortens it", lab=searched(other=10.0),
         says=["the critical batch) shortens perfect scaling.",
               "has a smaller critical batch size than plain SGD", "fewer steps than plain SGD"],
         never=["extends perfect scaling."]),
    Case("momentum makes no difference", lab=searched(other=40.0, momentum="momentum"),
         says=["; momentum (1.00×", "is not shown to extend it.",
               "a critical batch size that cannot be told apart from that of plain SGD, 1.00×",
               "as many steps as plain SGD for mlp with momentum"]),
    Case("no bend", lab=searched(sgd=1e7, other=1e7),
         says=["No end of perfect scaling can be given for any network and optimiser: no bend.",
               "No fit shows a bend", "has no critical batch size to compare with plain SGD."],
         never=["noise scale was measured", "as large"]),
    Case("no bend with momentum", lab=BASE,
         edits={"goal_contrasts": where(b_crit_ratio=NAN, small_steps_ratio=NAN)},
         says=["; Nesterov momentum is not decided."], never=["At the smallest batch it needs"]),
    Case("no bend with plain SGD", lab=BASE, edits={"goal_fit": where(SGD, b_crit=NAN)},
         says=["For mlp with Nesterov momentum steps"]),
    Case("steps of one repeat", lab=BASE,
         edits={"goal_contrasts": where(small_steps_ratio_low=NAN)},
         says=["as many steps as plain SGD"]),
    Case("several kinds of momentum",
         edits={"goal_contrasts": where({"contrast": "model"}, contrast="optimizer",
                                           model="mlp", **around("b_crit_ratio", 0.5))},
         says=["extends perfect scaling; plain SGD (0.500× (0.495 to 0.505) the critical batch) "
               "shortens perfect scaling."]),
    *(Case(f"two kinds of momentum {verdict}",
           edits={"goal_contrasts": where(contrast="optimizer", model="mlp", **ratio)},
           says=[f"the critical batch) {verdict}."])
      for verdict, ratio in [
          ("extend perfect scaling", around("b_crit_ratio", 3.0)),
          ("shorten perfect scaling", around("b_crit_ratio", 0.5)),
          ("are not shown to extend it", around("b_crit_ratio", 1.0)),
          ("are not decided", {"b_crit_ratio_low": NAN}),
      ]),
    Case("one network", lab=BASE, never=["Between networks", "softmax"]),
    Case("the noise scale off and undecided",
         edits={"published_steps_to_goal": both(where(NOISE | SGD, verdict="disagrees"),
                                         where(NOISE | NESTEROV, verdict="not decidable"))},
         says=["more than a factor of ten off for mlp with plain SGD and softmax with plain SGD; "
               "not decided to be within a factor of ten or not for mlp with Nesterov momentum."]),
    Case("the same end at both budgets",
         edits={"budget": where({"kind": "steps"}, validation_error_frac=lambda error: -error)},
         says=["at equal steps the smallest batch has the lower error in 16 of 16"],
         never=["So whether large batches"]),
    Case("no budget", edits={"budget": only(kind="none")}, never=["The same searches read"]),
    Case("a winner on the border of the search space", lab=BASE,
         edits={"steps_to_goal": where(SGD | {"global_batch": 2}, at_border=True)},
         says=["One winner of 20 lies in the outer tenth of the search space (mlp with plain SGD "
               "at B = 2): there a wider space might do better."],
         never=["No winner lies"]),
    Case("all winners there", lab=searched(lr=29.0),
         says=["winners of 20 lie in", "mlp with plain SGD at B = 2, 4",
               "there a wider space might"]),
    Case("repeats that did not reach the goal", lab=BASE,
         edits={"steps_to_goal": both(where({"global_batch": 4}, repeats_reached=4),
                                      where({"global_batch": 2}, steps_to_goal=NAN))},
         says=["slower than all: 1 of 5 for mlp with plain SGD at B = 4 and 1 of 5 for mlp with "
               "Nesterov momentum at B = 4. Without a median, and left out of the fit: mlp with "
               "plain SGD at B = 2 and mlp with Nesterov momentum at B = 2."]),
    Case("no contrasts", lab=BASE, edits={"goal_contrasts": without()},
         never=["Momentum:", "extends perfect scaling."]),
    Case("a search that did not run", lab=searched("not run yet"),
         says=["The conclusion is withheld",
               "steps_to_goal, network = mlp, optimiser = sgd: not run yet; "
               "steps_to_goal, network = mlp, optimiser = nesterov: not run yet."]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_s1_says(case: Case) -> None:
    check("S1", case)


@cache
def answered(**how: Any) -> Answer:
    return answer_one("S1", Case("", lab=searched(**how)).inputs)


def test_a_curve_without_a_bend_says_so_in_the_place_of_its_critical_batch() -> None:
    assert answered(sgd=1e7, other=1e7).values["b_crit_mlp_sgd"].status == "no bend"


def test_a_network_has_a_table_with_two_columns_an_optimiser() -> None:
    first = answered().tables[0]
    assert [column.title for column in first.columns] == [
        "Batch B", "Steps, plain SGD", "Steps, Nesterov momentum", "Epochs, plain SGD",
        "Epochs, Nesterov momentum",
    ]  # fmt: skip
    assert first.rows[0]["steps_to_goal_sgd"].value == 643
    assert first.runs[0] == ["steps_to_goal-mlp-nesterov", "steps_to_goal-mlp-sgd"]


def test_the_verdicts_stand_beside_what_was_published() -> None:
    (made,) = (one for one in answered().tables if "Published claims" in one.caption)
    momentum = next(row for row in made.rows if row["claim"] == "momentum extends perfect scaling")
    assert momentum["verdict"] == "agrees"
    assert momentum["published_as"] == "ratio above 1"
    assert momentum["who"] == "mlp, Nesterov momentum over plain SGD"


def test_the_last_paragraph_ends_with_the_sentence() -> None:
    assert answered().paragraphs[-1].endswith(answered().sentence)


def test_a_published_claim_without_an_id_is_an_error() -> None:
    renamed = {"published_steps_to_goal": where({"claim": "matches"}, claim="another")}
    with pytest.raises(KeyError, match="another"):
        answer_one("S1", Case("", lab=BASE, edits=renamed).inputs)
