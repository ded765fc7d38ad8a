"""S1: what it says of batch sizes, momentum and networks follows the measured steps."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pandas as pd
import pytest

import steps_to_goal_builders as planted
from builders import Tables, empty_lab, run_row, table
from cases import Case, Edit, around, both, says, where
from dpscale.reporting.answer import Answer
from dpscale.studies import answer_one
from dpscale.studies.steps_to_goal.derive.fit import sides

NAN = float("nan")


Curves = dict[tuple[str, str], float]


def searched(
    status: str = "complete",
    momentum: str = "nesterov",
    other: float = 120.0,
    sgd: float = 40.0,
    every: Curves | None = None,
    **how: float,
) -> Callable[[], Tables]:
    """A lab of two searches: plain SGD and one with momentum, of these critical batch sizes.

    every: those of other searches instead.
    """

    def tidy() -> Tables:
        curves = every or {("mlp", "sgd"): sgd, ("mlp", momentum): other}
        made = planted.rows(curves, **how)
        if status != "complete":  # nothing was measured
            made = {"runs": made["runs"]}
        made["runs"] = [run_row(**row, status=status) for row in made["runs"]]
        return empty_lab() | {name: table(name, own) for name, own in made.items()}

    return tidy


def contrasts(cell: dict[str, str] | None = None, **columns: Any) -> Edit:
    """Give contrasts other ratios, and the sides that follow."""

    def follow(rows: pd.DataFrame) -> pd.DataFrame:
        found = pd.DataFrame(map(sides, rows.to_dict("records")), index=rows.index)
        return rows.assign(**found)

    return both(where(cell, **columns), follow)


def judged(cell: dict[str, str], verdict: str) -> Edit:
    return where(cell, verdict=verdict, found=verdict)


BASE = searched()
SGD, NESTEROV = {"optimizer": "sgd"}, {"optimizer": "nesterov"}
SMALL = {"claim": "small"}
NOISE = {"claim": "noise"}
EVERY = {
    (model, optimizer): 40.0
    for model in ("mlp", "softmax")
    for optimizer in ("sgd", "momentum", "nesterov")
}
CASES = [
    Case(
        "perfect scaling and its end",
        says=[
            "For mlp with plain SGD twice the batch takes about half the steps at small "
            "batches, "
            "up to about B = 10.0 (9.6 to 10.5). At the critical batch size, 40.1 (38.4 to "
            "42.0), steps are twice the least; Nesterov momentum makes it larger (3.01×). Sizes",
            "Beside plain SGD, the critical batch size with momentum is larger (3.01× (2.81 to "
            "3.21)) in mlp with Nesterov momentum. At the smallest batch momentum needs more "
            "steps (2.904× (2.904 to 2.907)) in mlp with Nesterov momentum.",
            "Between networks, whose goals differ, it is the same, within a factor of 1.25, "
            "(1.13× (1.06 to 1.20)) in softmax with plain SGD.",
        ],
        never=["none was found"],
    ),
    Case(
        "the protocol",
        says=[
            "3 quasi-random points",
            "from 0.01 to 30 and, with momentum, one minus it from 0.01",
            "(4.00% for mlp and 4.00% for softmax), when",
            "4000 steps, 400 epochs, or 3 times",
            "once 2 trials are there",
            "are 5 repeats of the winner",
            "every 16 steps",
            "median steps with 95% interval",
        ],
    ),
    Case(
        "the regimes",
        says=[
            "Perfect scaling ends at $B_{\\text{crit}}/4$; from $4 B_{\\text{crit}}$",
            "it is −0.8 at $B_{\\text{crit}}/4$, the end of perfect scaling, and −0.2 at $4 "
            "B_{\\text{crit}}$.",
        ],
    ),
    Case(
        "the slopes of both ends",
        says=[
            "Without the fit, over the four smallest batch sizes the slope is −1 within 0.2 in "
            "all three searches. Over the four largest batch sizes the slope is 0 within 0.2 in "
            "mlp with plain SGD and softmax with plain SGD and is not yet 0 within 0.2, and may "
            "be at batches larger than were measured, in mlp with Nesterov momentum."
        ],
    ),
    Case(
        "the noise scale and equal budgets",
        says=[
            "The gradient noise scale, where a gradient's noise equals the gradient (both "
            "squared)"
            ", needs",
            "along the repeats of one winner, at B = 32,",
            "it is within a factor of 10 in all three searches.",
            "At equal epochs the smallest batch has the lower error in 3 of 3 searches, which "
            "chance could give too; at equal steps the largest batch in 3 of 3, which chance "
            "could give too.",
        ],
        never=["So whether large batches"],
    ),
    Case(
        "equal budgets of six searches",
        lab=searched(every=EVERY),
        says=[
            "At equal epochs the smallest batch has the lower error in 6 of 6 searches; at "
            "equal "
            "steps the largest batch in 6 of 6.",
            "So whether large batches look good or bad",
        ],
        never=["which chance could give too"],
    ),
    Case(
        "the searches",
        says=[
            "Of 90 trials 33.3% reached the goal before the search ended, 33.3% were incomplete "
            "and 33.3% infeasible",
            "No winner lies in the outer 10% of the search space. ",
        ],
        never=["Repeats that did not reach", "Without a median"],
    ),
    Case(
        "beside what was published",
        says=[
            "Of 12 measurements of published claims (Shallue et al., 2019; McCandlish et al., "
            "2018), nine agree, two disagree and one is not decidable. Against the publication: "
            "momentum matches plain SGD at small batches and networks differ in the largest "
            "useful batch.",
            "Sizes are",
            "Each verdict rests on a 95% interval: of 12 that have one about 0.6 may be wrong",
            "small batches mlp, plain SGD −0.874 (−0.907 to −0.840) slope −1 within 0.2 Shallue",
            "parallelism at large batches mlp, plain SGD −0.122 (−0.155 to −0.090) slope 0 "
            "within 0.2 in the end Shallue",
            "mlp, Nesterov momentum over plain SGD 3.01 (2.81 to 3.21) ratio above 1 Shallue",
            "plain SGD at small batches mlp, Nesterov momentum over plain SGD 2.904 (2.904 to "
            "2.907) ratio 1 within a factor of 1.5 Shallue",
            "largest useful batch softmax, plain SGD over mlp 1.13 (1.06 to 1.20) ratio not 1 "
            "within a factor of 1.25 Shallue",
            "mlp, plain SGD 1.25 (1.19 to 1.30) ratio 1 within a factor of 10 McCandlish",
        ],
    ),
    Case(
        "what was expected beside what came out",
        says=[
            "Expected before the run: “That steps fall as 1/B at first.” What came out: perfect "
            "scaling up to B = 10.0 to 30.2 and hardly a gain from B = 161 to 483; momentum"
        ],
    ),
    Case(
        "steps that do not fall in proportion",
        lab=searched(slope=0.6),
        says=[
            "steps do not fall in proportion to the batch even at the smallest ones (slope "
            "−0.466 "
            "(−0.497 to −0.435)). At the critical batch size, 11.0 (7.3 to 16.2), steps are "
            "twice the least; Nesterov momentum is not told to change it (1.77×). Sizes",
            "the slope is not −1 within 0.2 in",
        ],
        never=["about half the steps"],
    ),
    Case(
        "steps that are not decided to fall in proportion",
        lab=BASE,
        edits={"published_steps_to_goal": judged(SMALL | SGD, "not decidable")},
        says=[
            "it is not decided whether steps fall in proportion to the batch at the smallest "
            "ones (slope −0.874 (−0.907 to −0.840)). At",
            "the slope is not decided to be so in mlp with plain SGD and is −1 within 0.2 in",
        ],
    ),
    Case(
        "slopes of too few batch sizes",
        lab=BASE,
        edits={
            "goal_fit": where(small_slope=NAN),
            "published_steps_to_goal": judged(SMALL, "not decidable"),
        },
        says=["at the smallest ones (no slope could be measured). At the"],
    ),
    Case(
        "an end of perfect scaling below the batch sizes",
        lab=searched(sgd=6.0),
        edits={"published_steps_to_goal": judged(SMALL, "agrees")},
        says=[
            "though by the fit only below B = 2, the smallest. At the critical batch size, 6.08",
            " below B = 2 6.08",
        ],
        never=["about B ="],
    ),
    Case(
        "momentum shortens it",
        lab=searched(other=10.0),
        says=[
            "Nesterov momentum makes it smaller (0.251×). S",
            "with momentum is smaller (0.251× (0.235 to 0.267)) in",
            "needs fewer steps (",
        ],
        never=["it larger"],
    ),
    Case(
        "momentum makes no difference",
        lab=searched(other=40.0, momentum="momentum"),
        says=[
            "; momentum is not told to change it (1.00×).",
            "with momentum is not told apart (1.00× (0.94 to 1.06)) in mlp",
            "At the smallest batch momentum needs as many steps, within a factor of 1.5, (1.00×",
        ],
    ),
    *(
        Case(
            f"steps at the smallest batch whose ratio is {low} to {high}",
            lab=BASE,
            edits={
                "goal_contrasts": contrasts(small_steps_ratio_low=low, small_steps_ratio_high=high)
            },
            says=[f"At the smallest batch momentum needs {words} ("],
        )
        for low, high, words in [
            (0.6, 4.0, "steps not told apart"),
            (1.3, 1.8, "more steps"),
            (0.2, 0.3, "fewer steps"),
            (1.2, 1.4, "as many steps, within a factor of 1.5,"),
        ]
    ),
    Case(
        "no bend",
        lab=searched(sgd=1e7, other=1e7),
        says=[
            "No end of perfect scaling can be given for any network and optimiser: no bend.",
            "No fit shows a bend among its batch sizes",
            "with momentum cannot be compared (no bend) in mlp with Nesterov momentum.",
        ],
        never=["noise scale was measured", "is larger"],
    ),
    Case(
        "no bend with plain SGD",
        lab=searched(sgd=1e7),
        says=["For mlp with Nesterov momentum twice", "; with plain SGD none was found (no bend)."],
    ),
    Case(
        "steps of one repeat",
        lab=BASE,
        edits={"goal_contrasts": contrasts(small_steps_ratio_low=NAN)},
        says=["needs steps not told apart, for want of an interval, ("],
    ),
    *(
        Case(
            f"two kinds of momentum: {verdict}",
            edits={"goal_contrasts": contrasts(contrast="optimizer", model="mlp", **ratio)},
            says=[f"; Nesterov momentum and plain SGD {verdict} ({shown})."],
        )
        for verdict, ratio, shown in [
            ("make it larger", around("b_crit_ratio", 3.0), "3.00×"),
            ("make it smaller", around("b_crit_ratio", 0.5), "0.500×"),
            ("are not told to change it", around("b_crit_ratio", 1.0), "1.00×"),
            ("are not comparable", {"b_crit_ratio_low": NAN}, "1.13× to 3.01×"),
        ]
    ),
    Case(
        "the noise scale off and undecided",
        edits={
            "published_steps_to_goal": both(
                where(NOISE | SGD, verdict="disagrees"),
                where(NOISE | NESTEROV, verdict="not decidable"),
            )
        },
        says=[
            "it is more than a factor of 10 off in mlp with plain SGD and softmax with plain "
            "SGD; "
            "not decided to be within a factor of 10 or not in mlp with Nesterov momentum."
        ],
    ),
    Case(
        "a winner on the border of the search space",
        lab=BASE,
        edits={"steps_to_goal": where(SGD | {"global_batch": 2}, at_border=True)},
        says=[
            "One winner of 20 lies in the outer 10% of the search space (mlp with plain SGD "
            "at B = 2): there a wider space might do better."
        ],
        never=["No winner lies"],
    ),
    Case(
        "all winners there",
        lab=searched(lr=29.0),
        says=[
            "winners of 20 lie in",
            "mlp with plain SGD at B = 2, 4",
            "there a wider space might",
        ],
    ),
    Case(
        "repeats that did not reach the goal",
        lab=BASE,
        edits={
            "steps_to_goal": both(
                where({"global_batch": 4}, repeats_reached=4),
                where({"global_batch": 2}, steps_to_goal=NAN),
            )
        },
        says=[
            "slower than all: 1 of 5 for mlp with plain SGD at B = 4 and 1 of 5 for mlp with "
            "Nesterov momentum at B = 4. Without a median, and left out of the fit: mlp with "
            "plain SGD at B = 2 and mlp with Nesterov momentum at B = 2."
        ],
    ),
    Case(
        "a search that did not run",
        lab=searched("not run yet"),
        says=[
            "The conclusion is withheld",
            "steps_to_goal, network = mlp, optimiser = sgd: not run yet; "
            "steps_to_goal, network = mlp, optimiser = nesterov: not run yet.",
        ],
    ),
    Case(
        "searches out of memory",
        lab=searched("out_of_memory"),
        says=[
            "No end of perfect scaling can be given for any network and optimiser: out of memory."
        ],
        never=["out_of_memory"],
    ),
]


test_what_s1_says = says("S1", CASES)


@cache
def answered(**how: Any) -> Answer:
    return answer_one("S1", Case("", lab=searched(**how)).inputs)


def test_a_curve_without_a_bend_says_so_in_the_place_of_its_critical_batch() -> None:
    assert answered(sgd=1e7, other=1e7).values["b_crit_mlp_sgd"].status == "no bend"


def test_a_network_has_a_table_with_a_column_an_optimiser() -> None:
    first = next(one for one in answered().tables if one.caption.startswith("mlp: "))
    assert [column.title for column in first.columns] == [
        "Batch B",
        "Plain SGD",
        "Nesterov momentum",
    ]
    assert first.rows[0]["steps_to_goal_sgd"].value == 643
    assert first.runs[0] == ["steps_to_goal-mlp-nesterov", "steps_to_goal-mlp-sgd"]


def test_captions_say_what_the_figures_show() -> None:
    steps, budget = answered().figures  # of two searches
    assert "in two of two searches, and hardly at the largest in one of two." in steps.caption
    assert budget.further
    assert budget.caption.startswith(
        "At equal epochs the smallest batch does better in 2 of 2 searches; at equal steps the "
        "largest batch does better in 2 of 2 searches. "
    )


def test_the_verdicts_stand_beside_what_was_published() -> None:
    (made,) = (one for one in answered().tables if "Published claims" in one.caption)
    momentum = next(row for row in made.rows if row["claim"] == "momentum extends perfect scaling")
    assert momentum["verdict"] == "agrees"
    assert momentum["published_as"] == "ratio above 1"
    assert momentum["who"] == "mlp, Nesterov momentum over plain SGD"


def test_a_published_claim_without_an_id_is_an_error() -> None:
    renamed = {"published_steps_to_goal": where({"claim": "matches"}, claim="another")}
    with pytest.raises(KeyError, match="another"):
        answer_one("S1", Case("", lab=BASE, edits=renamed).inputs)
