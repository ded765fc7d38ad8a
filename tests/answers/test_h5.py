"""H5: the rule that it advises, and those that it warns of, follow the paired differences."""

from collections.abc import Callable, Mapping

from builders import Tables, full_lab
from cases import Case, Edit, around, both, only, says, where, without

TRAININGS = "assignment"
NAN = float("nan")
NO_ACCURACY = {f"test_accuracy_frac{end}": NAN for end in ("", "_low", "_high")}
FOUR = {"workers": 4, "nodes": 1}


def apart(low: float, high: float, share: float | None = None, **cell: object) -> Edit:
    """What trainings have more than one worker, as an interval, and what they reach."""
    name = "test_accuracy_difference_frac"
    columns = {name: (low + high) / 2, f"{name}_low": low, f"{name}_high": high}
    reached = {} if share is None else around("test_accuracy_frac", share)
    return where(cell or None, **columns, **reached)


def gone(status: str, **cell: object) -> Edit:
    return where(cell, status=status, **NO_ACCURACY)


def changed(*edits: Edit) -> Mapping[str, Edit]:
    return {TRAININGS: both(*edits)}


def warmed_up(kind: str) -> Callable[[], Tables]:
    """The lab, all of whose trainings warm up so."""

    def lab() -> Tables:
        tidy = full_lab()
        return tidy | {"runs": tidy["runs"].assign(warmup=kind)}

    return lab


CASES = [
    *(
        Case(
            f"warm-up: {kind}",
            lab=warmed_up(kind),
            says=[f"comes with a gradual warm-up (Goyal et al., 2017), {words}; for Adam"],
        )
        for kind, words in (
            ("none", "which was not used here"),
            ("constant", "here with a constant one"),
            ("gradual", "as here"),
        )
    ),
    Case(
        "as measured",
        says=[
            "With four workers, keep the rate of one worker: accuracy 96.0%, more than one "
            "worker's 95.0%. N times the rate (93.0%, 2.00 points less) and the root of N (94.5%, "
            "0.500 points less) lose accuracy. On two nodes (not run) B and",
            "With four workers the linear rule and the square-root rule lose accuracy.",
            "comes with a gradual warm-up (Goyal et al., 2017); for Adam",
            "fewer updates: 312, 156 and 76. The fixed global batch is that of one",
            "differences are paired by seed",
            "Rules for the batch and the rate, each trained for the same epochs; kept within a "
            "point: the whole 95% interval excludes a loss of more.",
            "Of 5 such comparisons",
            "linear rule 1 128 0.001 312 95.0% (94.8 to 95.2) the base",
            "linear rule 4 512 0.004 76 93.0% (92.8 to 93.2) lower",
            "fixed rate 4 512 0.001 76 96.0% (95.8 to 96.2) higher",
            "fixed global batch 4 128 0.001 312 95.0% (94.8 to 95.2) kept within a point",
        ],
        never=[
            "withheld",
            "Without a number",
            "No rule but",
            "none either",
            "may hide",
            "hardware.",
        ],
    ),
    Case(
        "one rule keeps it within a point",
        edits=changed(apart(-0.05, 0.05), apart(-0.009, 0.02, **FOUR, rule="sqrt")),
        says=[
            "With four workers, take the root of N times the rate, 0.002: accuracy 94.5%, not a "
            "point below one worker's 95.0%. N times the rate (93.0%), the fixed rate (96.0%) and "
            "the fixed global batch (95.0%) show no measurable loss. On two nodes (not run) B and",
            "In short: With four workers, take the root of N times the rate, 0.002: accuracy "
            "94.5%, not a point below one worker's 95.0%.",
        ],
        never=["none either", "may hide"],
    ),
    Case(
        "nothing is decided",
        edits=changed(apart(-0.04, 0.04)),
        says=[
            "With four workers, keep the rate of one worker: accuracy 96.0%, no measurable loss "
            "against one worker's 95.0% (up to 4.00 points may hide). N times the rate (93.0%), "
            "the root of N (94.5%) and the fixed global batch (95.0%) show none either. On "
            "two nodes (not run) B and",
            "With four workers no rule measurably loses accuracy.",
            "no measurable loss",
        ],
        never=["lose accuracy", "keep one", "within a point"],
    ),
    Case(
        "of two rates that grow with N that of the linear rule is best",
        edits=changed(
            apart(-0.02, 0.04, 0.955, **FOUR, rule="linear"),
            apart(-0.03, 0.01, **FOUR, rule="sqrt"),
            apart(-0.05, -0.01, 0.92, **FOUR, rule="fixed"),
            without(**FOUR, rule="fixed_batch"),
        ),
        says=[
            "With four workers, multiply the rate by N (95.5%) or the root of "
            "N (94.5%): no measurable loss of accuracy against one worker's 95.0% (up to 3.00 "
            "points may hide). The fixed rate (92.0%) loses 3.00 points (1.00 to 5.00). On "
            "two nodes (not run) B and",
            "In short: With four workers, multiply the rate by N (95.5%) or the root of N (94.5%): "
            "no measurable loss against one worker's 95.0%.",
        ],
    ),
    Case(
        "of two rates that grow with N one shows no loss, the other and the fixed one lose",
        edits=changed(
            apart(-0.02, 0.04, 0.955, **FOUR, rule="linear"),
            apart(-0.05, -0.01, **FOUR, rule="sqrt"),
            apart(-0.05, -0.01, 0.92, **FOUR, rule="fixed"),
            without(**FOUR, rule="fixed_batch"),
        ),
        says=[
            "With four workers, take N times the rate, 0.004: accuracy 95.5%, no measurable loss "
            "against one worker's 95.0%. The root of N (94.5%, 3.00 points less) and the fixed "
            "rate (92.0%, 3.00 points less) lose accuracy. On two nodes (not run) B and"
        ],
        never=["multiply the rate"],
    ),
    Case(
        "of two rates that grow with N one shows no loss, and the fixed one none either",
        edits=changed(
            apart(-0.02, 0.04, 0.965, **FOUR, rule="linear"),
            apart(-0.03, 0.01, **FOUR, rule="sqrt"),
            apart(-0.03, 0.01, 0.92, **FOUR, rule="fixed"),
            without(**FOUR, rule="fixed_batch"),
        ),
        says=["(up to 2.00 points may hide). The root of N (94.5%) and the fixed rate (92.0%)"],
        never=["multiply the rate"],
    ),
    Case(
        "both rates that grow with N show no loss, nor does the fixed global batch",
        edits=changed(
            apart(-0.02, 0.04, 0.955, **FOUR, rule="linear"),
            apart(-0.03, 0.01, **FOUR, rule="sqrt"),
            apart(-0.05, -0.01, 0.92, **FOUR, rule="fixed"),
            apart(-0.03, 0.01, 0.93, **FOUR, rule="fixed_batch"),
        ),
        says=[
            "multiply the rate by N (95.5%) or the",
            "one worker's 95.0%. The fixed global batch (93.0%) shows none either; the fixed rate "
            "(92.0%)",
        ],
    ),
    Case(
        "of two rates that grow with N that of the square-root rule is best",
        edits=changed(
            apart(-0.04, 0.04, **FOUR, rule="linear"),
            apart(-0.03, 0.01, **FOUR, rule="sqrt"),
            apart(-0.05, -0.01, 0.92, **FOUR, rule="fixed"),
            without(**FOUR, rule="fixed_batch"),
        ),
        says=[
            "multiply the rate by the root of N (94.5%) or N (93.0%): no",
            "against one worker's 95.0% (up to 4.00 points may hide). The fixed rate (92.0%) loses",
        ],
    ),
    *(
        Case(
            f"the assignment's batch loses accuracy, at the fixed rate {most:+g}",
            lab={"assignment_batch": 32},
            edits=changed(
                apart(-0.02, 0.03, 0.955, **FOUR, rule="linear"),
                apart(-0.03, 0.01, 0.945, **FOUR, rule="sqrt"),
                apart(-0.05, most, 0.92, **FOUR, rule="fixed"),
                without(**FOUR, rule="fixed_batch"),
            )
            | {"assignment_assigned": apart(-0.05, -0.01, 0.91, workers=4)},
            says=[f"{words} (91.0%, H3). On two"],
        )
        for most, words in (
            (
                -0.01,
                "no measurable loss against one worker's 95.0%. The fixed rate (92.0%) loses 3.00 "
                "points; with b = 128 N times the rate loses accuracy too",
            ),
            (0.01, "show none either; with b = 128 N times the rate loses accuracy"),
        )
    ),
    Case(
        "the assignment's batch loses accuracy with fewer workers than are advised",
        lab={"assignment_batch": 32},
        edits={"assignment_assigned": apart(-0.02, 0.02, workers=4)},
        says=["With the assignment's b = 128 the linear rule loses accuracy with two workers"],
        never=["N times the rate loses"],
    ),
    Case(
        "of two rates that grow with N neither is best",
        edits=changed(
            apart(-0.04, 0.04, 0.945, **FOUR, rule="linear"),
            apart(-0.03, 0.01, 0.945, **FOUR, rule="sqrt"),
            apart(-0.05, -0.01, 0.92, **FOUR, rule="fixed"),
            without(**FOUR, rule="fixed_batch"),
        ),
        says=["multiply the rate by N (94.5%) or the root of N (94.5%): no measurable loss of"],
        never=["the higher median"],
    ),
    Case(
        "S2 keeps the error at one rate on test data alone",
        edits=changed(
            apart(-0.02, 0.04, **FOUR, rule="linear"),
            apart(-0.05, -0.01, 0.92, **FOUR, rule="fixed"),
        )
        | {
            "lr_scaling_elbow": where(
                {"rule": "fixed"}, status="complete", elbow_ratio=8.0, elbow_batch=256
            ),
            "lr_scaling": where(
                {"rule": "fixed", "global_batch": 256},
                validation_difference_frac=0.02,
                kept_on_validation=False,
            ),
        },
        says=["S2 keeps the error on test data at 8 times the batch with the unscaled rate, but"],
    ),
    Case(
        "two rates that grow with N show no loss, and the fixed one loses",
        edits=changed(
            apart(-0.02, 0.04, **FOUR, rule="linear"),
            apart(-0.03, 0.01, **FOUR, rule="sqrt"),
            apart(-0.05, -0.01, 0.92, **FOUR, rule="fixed"),
            apart(-0.05, -0.01, 0.92, **FOUR, rule="fixed_batch"),
        )
        | {"lr_scaling_elbow": where({"rule": "fixed"}, status="complete", elbow_ratio=8.0)},
        says=[
            "With four workers, multiply the rate by the root of N (94.5%) or N "
            "(93.0%): no measurable loss of accuracy against one worker's 95.0%. The fixed rate "
            "(92.0%, 3.00 points less) and the fixed global batch (92.0%, 3.00 points less) lose "
            "accuracy. On two nodes (not run) B and",
            "312, 156 and 76. At the rate of one worker so few updates may move the weights too "
            "little. S2 keeps the error at 8 times the batch with the unscaled rate, but that is "
            "0.5 with SGD there and 0.001 with Adam here: how far a rate carries may depend on "
            "where it begins. The fixed global batch",
            "In short: With four workers, multiply the rate by the root of N (94.5%) or N (93.0%): "
            "no measurable loss against one worker's 95.0%.",
        ],
    ),
    Case(
        "the fixed rate loses where S2 loses too",
        edits=changed(
            apart(0.001, 0.02, 0.99, **FOUR, rule="linear"),
            apart(-0.05, 0.05, **FOUR, rule="sqrt"),
            apart(-0.05, -0.01, 0.92, **FOUR, rule="fixed"),
        )
        | {"lr_scaling_elbow": where({"rule": "fixed"}, status="complete", elbow_ratio=2.0)},
        says=[
            "With four workers the fixed rate loses accuracy.",
            "The root of N (94.5%) shows no measurable loss; the fixed rate (92.0%) loses 3.00 "
            "points (1.00 to 5.00). On two nodes (not run) B and",
            "At the rate of one worker so few updates may move the weights too little. The fixed",
        ],
        never=["S2 keeps"],
    ),
    Case(
        "one seed",
        edits=changed(apart(NAN, NAN), where(seeds=1)),
        says=[
            "With four workers, by one seed alone, keep the rate",
            "and the fixed global batch (95.0%) are not compared. On two",
            "94.5% (",
            "undec",
        ],
        never=["lose accuracy", "no measurable loss"],
    ),
    Case(
        "every rule loses",
        edits=changed(apart(-0.05, -0.01), apart(-0.05, -0.01, 0.945, **FOUR, rule="linear")),
        says=[
            "With four workers no rule keeps the accuracy; at best, keep the rate of one worker: "
            "accuracy 96.0%, one worker 95.0%. On two nodes (not run) B and",
            "With four workers every rule loses accuracy.",
        ],
        never=["lose accuracy"],
    ),
    Case(
        "the linear rule on a cluster",
        edits=changed(apart(0.001, 0.02, 0.99, **FOUR, rule="linear")),
        says=["With four workers, take N times the rate, 0.004: accuracy 99.0%, more than one"],
    ),
    Case(
        "the fixed global batch",
        edits=changed(apart(0.001, 0.02, 0.99, **FOUR, rule="fixed_batch")),
        says=["With four workers, keep the rate and the global batch of one: accuracy 99.0%"],
    ),
    Case(
        "linear alone",
        edits=changed(only(rule="linear")),
        says=["With four workers no rule keeps the accuracy; at best, take N", "No rule but the"],
    ),
    Case(
        "without the fixed batch",
        edits=changed(without(rule="fixed_batch")),
        says=["fewer updates: 312, 156 and 76. The linear rule"],
        never=["fixed global batch"],
    ),
    Case(
        "one rule has no accuracy to compare, one shows no loss",
        edits=changed(
            apart(-0.02, 0.02, 0.95, **FOUR, rule="linear"),
            apart(-0.03, 0.01, 0.94, **FOUR, rule="fixed"),
            apart(NAN, NAN, 0.93, **FOUR, rule="sqrt"),
            without(**FOUR, rule="fixed_batch"),
        ),
        says=["The fixed rate (94.0%) shows none either; the root of N (93.0%) is not compared."],
    ),
    Case(
        "each rule ends otherwise",
        edits=changed(
            gone("diverged", **FOUR, rule="sqrt"),
            gone("out_of_memory", **FOUR, rule="fixed"),
            gone("exceeds_dataset", **FOUR, rule="fixed_batch"),
            gone("unavailable", **FOUR, rule="linear"),
        ),
        says=[
            "With two workers no rule keeps the accuracy",
            "diverged diverged",
            "out of memory out of memory",
            "exceeds dataset exceeds dataset",
            "unavailable unavailable",
        ],
    ),
    Case(
        "several workers unavailable",
        edits=changed(gone("unavailable", workers=[2, 4])),
        says=["No training of several workers has a result. On two nodes"],
    ),
    Case(
        "one worker diverged",
        edits=changed(gone("diverged", workers=1)),
        says=["Missing: assignment, one worker, the base of every comparison: diverged."],
        never=["the base fixed", "lower"],
    ),
    Case(
        "two nodes",
        lab={"two_nodes": True},
        edits=changed(where({"nodes": 2, "workers": 4}, one_node_difference_frac_low=-0.01)),
        says=[
            "On two nodes B and its linear",
            "beside as many on one node, two workers on two nodes reach more; four workers on "
            "two nodes make no measurable difference.",
            "linear rule 2 2 256 0.002",
        ],
        never=["not run", "none on two"],
    ),
    Case(
        "fewer on two nodes",
        lab={"two_nodes": True},
        edits=changed(
            where(
                {"nodes": 2},
                one_node_difference_frac=-0.02,
                one_node_difference_frac_low=-0.03,
                one_node_difference_frac_high=-0.01,
            )
        ),
        says=["beside as many on one node, two and four workers on two nodes reach less."],
    ),
    Case(
        "two nodes unavailable",
        lab={"two_nodes": True},
        edits=changed(gone("unavailable", nodes=2)),
        says=[
            "On two nodes (no number) B and",
            "are the linear rule at N = 2 on two nodes (unavailable) and the linear rule at N",
        ],
    ),
]


test_what_h5_says = says("H5", CASES)
