"""S1: what it says of batch sizes, momentum and networks follows the measured steps."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pandas as pd
import pytest

import steps_to_goal_builders as planted
from builders import Tables, empty_lab, run_row, table
from cases import Case, Edit, around, both, only, says, where, without
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
            made = {name: made[name] for name in ("runs", "goal_margins")}
        made["runs"] = [run_row(**row, status=status) for row in made["runs"]]
        return empty_lab() | {name: table(name, own) for name, own in made.items()}

    return tidy


def contrasts(cell: dict[str, str] | None = None, **columns: Any) -> Edit:
    """Give contrasts other ratios, and the sides that follow."""

    def follow(rows: pd.DataFrame) -> pd.DataFrame:
        found = pd.DataFrame(map(sides, rows.to_dict("records")), index=rows.index)
        return rows.assign(**found)

    return both(where(cell, **columns), follow)


def networks(optimizer: str, ends: tuple[float, float]) -> Edit:
    """Give two networks as large critical batch sizes, to an interval, and the side of it."""
    cell = {"contrast": "model", "optimizer": optimizer}
    low, high = ends
    return contrasts(cell, b_crit_ratio=1.0, b_crit_ratio_low=low, b_crit_ratio_high=high)


def judged(cell: dict[str, str], verdict: str) -> Edit:
    return where(cell, verdict=verdict, found=verdict)


BASE = searched()
SGD, NESTEROV = {"optimizer": "sgd"}, {"optimizer": "nesterov"}
SMALL = {"claim": "small"}
NOISE = {"claim": "noise"}
OPTIMIZERS = ("sgd", "momentum", "nesterov")
EVERY = {(model, optimizer): 40.0 for model in ("mlp", "softmax") for optimizer in OPTIMIZERS}
CLEAR = searched(sgd=100.0, other=300.0)
CLUSTER = {
    (model, optimizer): b_crit * factor
    for model, b_crit in (("resnet_8x8", 150.0), ("resnet20", 100.0))
    for optimizer, factor in (("sgd", 1.0), ("momentum", 2.2), ("nesterov", 2.5))
}


def unreached() -> Tables:
    """Two searches whose trials all ended before the goal."""
    trials = BASE()["trials"]
    ended = trials.assign(steps_to_goal=None, status="incomplete").astype(trials.dtypes)
    return BASE() | {"trials": ended}


CASES = [
    Case(
        "perfect scaling that the slope cannot confirm",
        says=[
            "By three fits doubling B saves 40% of steps or more (perfect "
            "scaling: 50%) up to B = 10.0 to 30.2, 10% or less from 161 to 483. Measured medians: "
            "43.6% to 49.9% up to 16, 15.0% to 33.9% up to 256, at most 6.06% beyond. "
            "Nesterov "
            "momentum raises the critical batch size (one hidden layer: 40.1) 3.01×. With plain "
            "SGD (one hidden layer) perfect scaling ends at B = 10.0 (40% saved), maximal data "
            "parallelism begins at 161 (10%). From 16 to 256 each doubling saved 15.0% to 33.0%. "
            "B = 2 reaches the goal with 1 286 samples (0.129 epochs), B = 1024 with 31 744 (3.17)",
            "With momentum the critical batch size is larger (3.01× (2.81 to 3.21)). At the "
            "smallest batches momentum needs more steps (2.74× (2.38 to 3.06)). Between networks, "
            "whose goals differ, the critical batch size is the same within a factor of 1.5 (1.13× "
            "(1.06 to 1.20)).",
            "By a line through the four smallest B steps fall in proportion (slope −1 within 0.2) "
            "in one of three searches; in two this is undecided. By one through the four largest "
            "it is undecided whether steps hardly fall (slope 0 within 0.2).",
            "In short: By a fit the critical batch size is 40.1 (one hidden layer, plain SGD); "
            "Nesterov momentum raises it 3.01×.",
            "By the fit twice the batch saves 40% or more of the steps up to B = 10, 10% or less "
            "from B = 161 (one hidden layer, plain SGD). Solid",
        ],
        never=["there is none"],
    ),
    Case(
        "perfect scaling and its end",
        lab=CLEAR,
        says=[
            "Each doubling of B saved 40.5% to 51.1% of steps up to 64, at most 26.7% beyond (one "
            "hidden layer, plain SGD). A fit",
            "3.00× (2.76 to 3.27). The smallest batches scale perfectly. By the fit perfect "
            "scaling (40% saved) ends at B = 25.1, maximal data parallelism (10%) begins at 402. ",
            "Savings above",
            "steps fall in proportion (slope −1 within 0.2). By one through the four largest "
            "steps still fall (slope below −0.2) in one of two searches; in one it is undecided "
            "whether they hardly fall.",
        ],
    ),
    *(
        Case(
            f"doublings that save more than half, {name}",
            lab=CLEAR,
            edits={
                "steps_to_goal": both(
                    where(SGD, **around("steps_to_goal", 100, 0.01)),
                    where(SGD | {"global_batch": 2}, **around("steps_to_goal", 800, 0.01)),
                    where(SGD | {"global_batch": 4}, **around("steps_to_goal", 320, near)),
                    where(SGD | {"global_batch": 8}, **around("steps_to_goal", 120, far)),
                )
            },
            says=[
                "of steps up to 8, none beyond 16 (one hidden layer, plain SGD). A fit",
                "From 8 to 16 each doubling saved 16.7%.",
                words,
            ],
            never=never,
        )
        for name, near, far, words, never in (
            (
                "beyond the scatter of seeds",
                0.01,
                0.01,
                "Savings above 50%, the ideal, lie beyond the scatter of the seeds (at most 62.5% "
                "(62.0 to 63.0), from 4 to 8).",
                ["within the scatter"],
            ),
            (
                "within the scatter of seeds",
                0.8,
                0.9,
                "Savings above 50%, the ideal, lie within the scatter of the seeds (at most 62.5%",
                ["beyond the scatter"],
            ),
            (
                "in part",
                0.01,
                0.9,
                "Savings above 50%, the ideal, lie within the scatter of the seeds (at most 62.5% "
                "(28.7 to 96.3), from 4 to 8); others lie beyond the scatter of the seeds (at most "
                "60.0% (59.4 to 60.6), from 2 to 4).",
                [],
            ),
            ("without intervals", NAN, NAN, "With plain SGD B = 2 reach", ["the ideal, lie"]),
        )
    ),
    Case(
        "doublings of which none saves much, and a batch without a median",
        lab=CLEAR,
        edits={
            "steps_to_goal": both(
                where(SGD | {"global_batch": 2}, steps_to_goal=NAN),
                where(SGD | {"global_batch": [4, 8, 16, 32, 64, 128, 256, 512]}, steps_to_goal=100),
                where(SGD | {"global_batch": 1024}, steps_to_goal=80),
            )
        },
        says=[
            "Each doubling of B saved 0% to 20.0% of steps up to 1024 (one hidden layer, plain "
            "SGD). A fit",
            "begins at 402. With plain",
        ],
        never=["each doubling saved"],
    ),
    Case(
        "batches that are no doublings",
        lab=CLEAR,
        edits={"steps_to_goal": without(global_batch=[4, 16, 64, 256, 1024])},
        says=[
            "By a fit the critical batch size is 101 (one hidden layer, plain SGD), with twice "
            "the fewest steps to 4% error. Nesterov momentum raises it 3.00× (2.76 "
            "to 3.27). The smallest batches scale perfectly. With plain SGD B = 2 reaches the "
            "goal with",
            "In short: By a fit the critical batch size is 101 (one hidden layer, plain SGD), with",
        ],
        never=["doubling of B", "oubling saved"],
    ),
    Case(
        "three regimes of large networks on a cluster",
        lab=searched(every=CLUSTER),
        says=[
            "beyond (small residual network, plain SGD). A fit, assuming perfect scaling at small "
            "B, puts the critical batch size (4% error) at 150 (142 to 158). Momentum raises it "
            "2.24× (2.07 to 2.42), Nesterov's 2.55× (2.35 to 2.78). The smallest batches scale "
            "perfectly. By the fit perfect scaling (40% saved) ends at B = 37.4, maximal data "
            "parallelism (10%) begins at 599.",
            "With momentum the critical batch size is larger (2.19× to 2.55× (intervals: 2.02 to "
            "2.78)).",
            "reaches the goal (4% for the small residual network and 4% for the ResNet-20)",
            "Between networks, whose goals differ, the critical batch size is smaller (0.653× to "
            "0.672× (intervals: 0.598 to 0.726)).",
        ],
    ),
    Case(
        "nothing that reaches the goal",
        lab=unreached,
        says=[
            "No batch size reached the goal, 4% validation error, within the budget: there are no "
            "steps to compare (network of one hidden layer, plain SGD).",
            "No batch size reached the goal (one hidden layer, plain SGD). Solid:",
            "cannot be compared (too few batch sizes)",
        ],
        never=["the slope", "critical batch size, "],
    ),
    Case(
        "two batch sizes at the goal",
        lab=BASE,
        edits={"goal_fit": where(status="too few batch sizes", fitted_batches=2, b_crit=NAN)},
        says=[
            "Too few batch sizes reached the goal, 4% validation error, for a curve of steps (",
            "Too few batch sizes reached the goal (one hidden layer, plain SGD). Solid:",
        ],
    ),
    Case(
        "the protocol",
        says=[
            "3 quasi-random points",
            "from 0.01 to 30 and, with momentum, one minus it from 0.01",
            "(4% for the network of one hidden layer and 4% for the linear classifier), when",
            "4000 steps, 400 epochs, or 3 times",
            "once 2 trials are there",
            "are 5 repeats of the winner",
            "every 16 steps",
            "median steps with 95% interval",
            "the medians of four batch sizes, with Student's t",
        ],
    ),
    Case(
        "the regimes",
        says=[
            "it is −0.8 at $B_{\\text{crit}}/4$, by convention the end of perfect scaling, where "
            "twice the batch saves 40% of steps, and −0.2 at $4 B_{\\text{crit}}$, where it saves "
            "10%."
        ],
    ),
    Case(
        "the noise scale and equal budgets",
        says=[
            "Without a search the gradient noise scale, the variance of gradients over their "
            "mean's squared length, is 0.414× to 1.25× the critical batch size (50.0 against 40.1 "
            "for plain SGD).",
            "along the repeats of one winner, at B = 32,",
            "At equal epochs the smallest batch has the lower error in 3 of 3 searches; at equal "
            "steps the largest in 3 of 3: chance could give either.",
        ],
        never=["the budget decides", "within a training"],  # known at one point beside the start
    ),
    Case(
        "a noise scale that grows within a training",
        edits={"noise_scale": where(SGD | {"point": 0}, point=2, noise_scale=80.0)},
        says=["(50.0 against 40.1 for plain SGD; it varies from 50.0 to 80.0 within a training)."],
    ),
    Case(
        "a noise scale that is unknown at a point of a training",
        edits={"noise_scale": where(SGD | {"point": 0}, point=2, noise_scale=NAN)},
        says=["(50.0 against 40.1 for plain SGD)."],
    ),
    Case(
        "equal budgets of six searches",
        lab=searched(every=EVERY),
        says=[
            "At equal epochs the smallest batch has the lower error in 6 of 6 searches; at equal "
            "steps the largest in 6 of 6: the budget decides."
        ],
        never=["chance could give"],
    ),
    Case(
        "equal budgets of which chance could give the outcome of one",
        lab=searched(every=EVERY),
        edits={"budget_ends": where({"kind": "steps"}, by_chance=True)},
        says=[
            "At equal epochs the smallest batch has the lower error in 6 of 6 searches; at equal "
            "steps the largest in 6 of 6, which chance could give too. Of"
        ],
        never=["the budget decides", "chance could give either"],
    ),
    Case(
        "one kind of equal budgets, which chance could give",
        lab=BASE,
        edits={"budget_ends": only(kind="epochs")},
        says=["in 2 of 2 searches, which chance could give too. Of"],
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
            "2018), five agree, two disagree and five are not decidable. They disagree on whether "
            "momentum matches plain SGD at small batches and networks differ in the largest useful "
            "batch.",
            "Sizes are",
            "Of 12 such comparisons, each by a 95% interval, chance alone decides about 0.6 where",
            "small batches scale perfectly Network of one hidden layer, plain SGD −0.874 (",
            ") slope −1 within 0.2 Shallue",
            "the largest batches save no steps Network of one hidden layer, plain SGD −0.115 (",
            ") slope 0 within 0.2 in the end Shallue",
            "Nesterov momentum over plain SGD 3.01 (2.81 to 3.21) ratio above 1 Shallue",
            "plain SGD at small batches Network of one hidden layer, Nesterov momentum over plain "
            "SGD 2.74 (2.38 to 3.06) ratio 1 within a factor of 1.5 Shallue",
            "largest useful batch Linear classifier, plain SGD over network of one hidden layer "
            "1.13 (1.06 to 1.20) ratio not 1 within a factor of 1.5 Shallue",
            "Network of one hidden layer, plain SGD 1.25 (1.19 to 1.30) ratio 1 within a factor of "
            "10 McCandlish",
        ],
    ),
    Case(
        "what was expected beside what came out",
        says=[
            "Expected before the run: “That steps fall as 1/B at first.” What came out: the fits "
            "put the end of perfect scaling at B = 10.0 to 30.2 and that of gains at B = 161 to "
            "483, momentum made the critical batch size 3.01× (2.81 to 3.21) "
            "as large and the other network 1.13× (1.06 to 1.20)."
        ],
    ),
    Case(
        "steps that do not fall in proportion",
        lab=searched(slope=0.4),
        says=[
            "Each doubling of B saved 2.33% to 22.0% of steps up to 1024 (one hidden layer, plain "
            "SGD). A fit, assuming perfect scaling at small B, puts the critical batch size (4% "
            "error) at 4.83 (2.69 to 7.85). Nesterov momentum does not measurably change it, "
            "1.38× (0.62 to 3.05). Even the smallest batches do not scale perfectly. By the fit "
            "perfect scaling (40% saved) ends below B = 2, maximal data parallelism (10%) begins "
            "at 19.3. With plain SGD B = 2 reaches the goal with 264",
            "By a line through the four smallest B steps do not fall in proportion (slope not −1 "
            "within 0.2).",
            "Steps do not fall in proportion even at the smallest B",
        ],
        never=["halves the steps", "From 2"],
    ),
    *(
        Case(
            f"steps over the largest batch sizes: {words}",
            lab=BASE,
            edits={
                "published_steps_to_goal": both(
                    where({"claim": "large"}, found="not decidable"),
                    where({"claim": "large"} | SGD, verdict=verdict, found=verdict),
                )
            },
            says=[f"By one through the four largest steps {words} in one of two searches; {more}"],
        )
        for verdict, words, more in (
            ("agrees", "hardly fall (slope 0 within 0.2)", "in one this is undecided."),
            (
                "disagrees",
                "rise (slope above 0.2)",
                "in one it is undecided whether they hardly fall.",
            ),
        )
    ),
    Case(
        "steps that always fall in proportion",
        lab=searched(sgd=1e7, other=1e7),
        says=[
            "Twice the batch halves the steps to 4% validation error at all sizes up to B = 1 024: "
            "perfect scaling has no end here (network of one hidden layer, plain SGD).",
            "No fit shows a bend among its batch sizes",
            "Steps fall in proportion at all sizes (one hidden layer, plain SGD). Solid:",
            "With momentum the critical batch size cannot be compared (no bend).",
            "put the end of perfect scaling at no measured batch and that of gains at no measured "
            "batch, and no two critical batch sizes can be compared.",
        ],
        never=["The gradient noise scale", "is larger"],
    ),
    Case(
        "steps that no batch saves",
        lab=searched(sgd=1e-3, other=1e-3),
        says=[
            "A larger batch saves no steps to 4% validation error, up to B = 1 024 (",
            "They disagree on whether small batches scale perfectly.",
            "Steps do not fall (one hidden layer, plain SGD). Solid:",
        ],
    ),
    Case(
        "steps with neither a bend nor a straight line",
        lab=searched(sgd=1e7, other=1e7),
        edits={"goal_fit": where(small_slope_low=-1.5)},
        says=[
            "Steps to 4% validation error show no bend that a fit could place, up to B = 1 024 (",
            "Steps show no bend that a fit could place (one hidden layer, plain SGD). Solid:",
        ],
    ),
    Case(
        "an end of perfect scaling below the batch sizes",
        lab=searched(sgd=6.0),
        edits={"published_steps_to_goal": judged(SMALL, "agrees")},
        says=[
            "Each doubling of B saved 10.0% to 39.3% of steps up to 64, at most 6.25% beyond (",
            "puts the critical batch size (4% error) at 6.08 (5.70 to 6.48).",
            "By the fit perfect scaling (40% saved) ends below B = 2, maximal data parallelism "
            "(10%) begins at 24.3.",
            "Steps fall less than in proportion from B = 2, the smallest; twice the batch saves "
            "10% or",
            " below B = 2 6.08",
        ],
        never=["about B ="],
    ),
    Case(
        "gains that end beyond the batch sizes",
        lab=searched(sgd=400.0),
        says=[
            "The smallest batches scale perfectly. By the fit perfect scaling (40% saved) ends at "
            "B = 101."
        ],
        never=["maximal data parallelism"],
    ),
    Case(
        "momentum shortens it",
        lab=searched(other=10.0),
        says=[
            "By two fits doubling B saves 40% of steps or more (perfect scaling: "
            "50%) up to B = 2.52 to 10.0, 10% or less from 40.3 to 161. Measured medians: "
            "46.9% up to 4, 9.80% to 38.0% up to 256, at most 4.64% beyond. Nesterov momentum "
            "lowers the critical batch size "
            "(one hidden layer: 40.1) 0.251×. With plain SGD",
            "With momentum the critical batch size is smaller (0.251× (0.235 to 0.267)).",
            "needs fewer steps (",
        ],
        never=["is larger"],
    ),
    Case(
        "momentum makes no difference",
        lab=searched(other=40.0, momentum="momentum"),
        says=[
            "Momentum does not measurably change the critical batch size (one hidden layer: "
            "40.1), 1.00×. With plain SGD",
            "does not differ measurably (1.00× (0.94 to 1.06)).",
            "At the smallest batches momentum needs as many steps as plain SGD within a factor of "
            "1.5 (1.00×",
        ],
    ),
    *(
        Case(
            f"steps at the smallest batches whose ratio is {low} to {high}",
            lab=BASE,
            edits={
                "goal_contrasts": contrasts(small_steps_ratio_low=low, small_steps_ratio_high=high)
            },
            says=[f"At the smallest batches momentum needs {words} ("],
        )
        for low, high, words in [
            (0.6, 4.0, "no measurably other number of steps"),
            (1.3, 1.8, "more steps"),
            (0.2, 0.3, "fewer steps"),
            (1.2, 1.4, "as many steps as plain SGD within a factor of 1.5"),
            (NAN, 1.4, "steps without an interval"),
        ]
    ),
    *(
        Case(
            f"networks of which the ratios are {name}",
            lab=searched(every=EVERY),
            edits={"goal_contrasts": both(*map(networks, OPTIMIZERS, ends))},
            says=[f"Between networks, whose goals differ, the critical batch size {words}."],
        )
        for name, ends, words in (
            (
                "the same",
                [(0.7, 1.4), (0.8, 1.3), (0.9, 1.2)],
                "is the same within a factor of 1.5 (1.00× (intervals: 0.7 to 1.4))",
            ),
            ("larger", [(1.1, 1.6)] * 3, "is larger (1.00× (intervals: 1.1 to 1.6))"),
            (
                "undecided",
                [(0.6, 1.4), (0.7, 1.6), (0.5, 2.0)],
                "is undecided, the same within a factor of 1.5 or not (1.00× (intervals: 0.5 to "
                "2))",
            ),
            (
                "undecided in part",
                [(0.6, 1.4), (0.7, 1.4), (0.7, 1.6)],
                "is undecided (1.00× (intervals: 0.6 to 1.6)) in two of three comparisons; is the "
                "same within a factor of 1.5 (1.00× (0.70 to 1.40)) in one",
            ),
        )
    ),
    Case(
        "a claim that one of three comparisons contradicts",
        lab=searched(every=EVERY),
        edits={
            "published_steps_to_goal": both(
                judged({"claim": "networks"}, "not decidable"),
                judged({"claim": "networks"} | SGD, "disagrees"),
            )
        },
        says=[
            "They disagree on whether networks differ in the largest useful batch (one of three)."
        ],
    ),
    Case(
        "perfect scaling that the leading search shows, and no other",
        edits={
            "published_steps_to_goal": both(
                judged(SMALL, "disagrees"), judged(SMALL | SGD | {"model": "mlp"}, "agrees")
            )
        },
        says=["3.01× (2.81 to 3.21). The smallest batches scale perfectly. By the fit"],
    ),
    Case(
        "perfect scaling of which no claim was judged",
        edits={"published_steps_to_goal": without(claim="small")},
        says=[
            "10% or less from 161 to 483. Measured medians: 43.6% to 49.9% up to 16, 15.0% "
            "to 33.9% up to 256, at most 6.06% beyond. "
            "Nesterov momentum raises the critical batch size (one hidden layer: 40.1) 3.01×. "
            "With plain SGD"
        ],
        never=["mallest batches scale perfectly"],
    ),
    Case(
        "most searches still gain beyond what the leading one does",
        lab=searched(other=230.0),
        says=["Measured medians: 45.1% to 50.7% up to 16, 12.1% to 38.7% up to 1024. Nest"],
        never=[", beyond"],
    ),
    Case(
        "no bend with two kinds of momentum",
        lab=searched(
            every={
                ("mlp", "sgd"): 40.0,
                ("mlp", "momentum"): 1e7,
                ("mlp", "nesterov"): 1e7,
                ("softmax", "sgd"): 45.0,
            }
        ),
        says=[
            "By two fits doubling B saves 40% of steps or more (perfect scaling: 50%) up to B = "
            "10.0 to 11.3, 10% or less from 161 to 181. Measured medians:",
            "With momentum there is no critical batch size (no bend); with Nesterov momentum there "
            "is none (no bend). With plain",
        ],
    ),
    Case(
        "no bend with plain SGD",
        lab=searched(sgd=1e7),
        says=[
            "(one hidden layer, Nesterov momentum). A fit, assuming perfect scaling at small B, "
            "puts the critical batch size (4% error) at 121 (115 to 127). With plain SGD there is "
            "none (no bend). The smallest"
        ],
    ),
    *(
        Case(
            f"two kinds of momentum: {verdict}",
            lab=searched(every=EVERY),
            edits={"goal_contrasts": contrasts({"contrast": "optimizer", "model": "mlp"}, **ratio)},
            says=[
                f"10% or less from 161. Measured medians: 43.0% to 49.8% up to 16, 15.0% to "
                f"33.0% up to 256, at most 6.06% beyond. Momentum {verdict}. With plain SGD"
            ],
        )
        for verdict, ratio in [
            (
                "raises the critical batch size (one hidden layer: 40.1) 3.00×, Nesterov's 3.00×",
                around("b_crit_ratio", 3.0),
            ),
            (
                "lowers the critical batch size (one hidden layer: 40.1) 0.500×, Nesterov's 0.500×",
                around("b_crit_ratio", 0.5),
            ),
            (
                "does not measurably change the critical batch size (one hidden layer: 40.1), "
                "1.00×, Nesterov's 1.00×",
                around("b_crit_ratio", 1.0),
            ),
            ("cannot be compared, 1.00×, Nesterov's 1.00×", {"b_crit_ratio_low": NAN}),
        ]
    ),
    Case(
        "two kinds of momentum, of which one enlarges the critical batch size",
        lab=searched(every=EVERY),
        edits={
            "goal_contrasts": contrasts(
                {"contrast": "optimizer", "model": "mlp", "optimizer": "nesterov"},
                **around("b_crit_ratio", 2.0),
            )
        },
        says=[
            "Momentum does not measurably change the critical batch size (one hidden layer: "
            "40.1), 1.00×; Nesterov's raises it 2.00×. With plain SGD"
        ],
    ),
    Case(
        "critical batch sizes without an interval",
        edits={"goal_contrasts": contrasts(b_crit_ratio_low=NAN)},
        says=["With momentum the critical batch size has no interval to compare by (3.01×"],
    ),
    Case(
        "the noise scale off and undecided",
        edits={
            "published_steps_to_goal": both(
                judged(NOISE | SGD, "disagrees"), judged(NOISE | NESTEROV, "not decidable")
            )
        },
        says=[
            "for plain SGD), more than a factor of 10 off in two of three searches and undecided "
            "in one. At"
        ],
    ),
    Case(
        "a winner on the border of the search space",
        lab=BASE,
        edits={"steps_to_goal": where(SGD | {"global_batch": 2}, at_border=True)},
        says=[
            "One winner of 20 lies in the outer 10% of the search space (the network of one hidden "
            "layer with plain SGD at B = 2): there a wider space might do better."
        ],
        never=["No winner lies"],
    ),
    Case(
        "all winners there",
        lab=searched(lr=29.0),
        says=[
            "winners of 20 lie in",
            "layer with plain SGD at B = 2, 4",
            "there a wider space might",
        ],
    ),
    Case(
        "repeats that did not reach the goal",
        lab=BASE,
        edits={
            "steps_to_goal": both(
                where(SGD | {"global_batch": 4}, repeats_reached=4),
                where(SGD | {"global_batch": 2}, steps_to_goal=NAN),
            )
        },
        says=[
            "slower than all: 4 of 5 reached it for the network of one hidden layer with plain SGD "
            "at B = 4. Without a median, and left out of the fit: the network of one hidden layer "
            "with plain SGD at B = 2."
        ],
    ),
    Case(
        "a search that did not run",
        lab=searched("not run yet"),
        says=[
            "The conclusion is withheld",
            "steps_to_goal, network = mlp, optimiser = sgd: not run yet; steps_to_goal, network = "
            "mlp, optimiser = nesterov: not run yet.",
        ],
    ),
    Case(
        "searches out of memory",
        lab=searched("out_of_memory"),
        says=["No search has a result: out of memory.", "No search has a result. Solid:"],
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
    first = next(one for one in answered().tables if one.caption.startswith("Network of one"))
    assert [column.title for column in first.columns] == [
        "Batch B",
        "Plain SGD",
        "Nesterov momentum",
    ]
    assert first.rows[0]["steps_to_goal_sgd"].value == 643
    assert first.runs[0] == ["steps_to_goal-mlp-nesterov", "steps_to_goal-mlp-sgd"]


def test_captions_say_what_the_figures_show() -> None:
    steps, budget = answered().figures  # of two searches
    assert steps.caption.startswith(
        "By the fit twice the batch saves 40% or more of the steps up to B = "
    )
    assert budget.further
    assert budget.caption.startswith(
        "At equal epochs the smallest batch has the lower error in 2 of 2 searches; at equal steps "
        "the largest in 2 of 2: chance could give either. "
    )


def test_measured_stands_beside_what_was_published() -> None:
    (made,) = (one for one in answered().tables if "Published claims" in one.caption)
    momentum = next(row for row in made.rows if row["claim"] == "momentum extends perfect scaling")
    assert momentum["published_as"] == "ratio above 1"
    assert momentum["who"] == "Network of one hidden layer, Nesterov momentum over plain SGD"


def test_a_published_claim_without_an_id_is_an_error() -> None:
    renamed = {"published_steps_to_goal": where({"claim": "matches"}, claim="another")}
    with pytest.raises(KeyError, match="another"):
        answer_one("S1", Case("", lab=BASE, edits=renamed).inputs)
