"""H5: which rules it says keep the accuracy follows the trainings of each."""

import pandas as pd

from cases import Case, Edit, around, both, only, says, where, without

TRAININGS = "assignment"
NAN = float("nan")
NO_ACCURACY = {f"test_accuracy_frac{end}": NAN for end in ("", "_low", "_high")}


def tight(rows: pd.DataFrame) -> pd.DataFrame:
    """The table with narrow intervals, so that a case says what differs."""
    value = rows["test_accuracy_frac"]
    ends = {"test_accuracy_frac_low": value * 0.998, "test_accuracy_frac_high": value * 1.002}
    return rows.assign(**ends)


def of_four(rule: str, value: float) -> Edit:
    return where({"workers": 4, "rule": rule}, **around("test_accuracy_frac", value, 0.001))


def gone(status: str, **cell: object) -> Edit:
    return where(cell, status=status, **NO_ACCURACY)


def changed(*edits: Edit) -> dict[str, Edit]:
    return {TRAININGS: both(tight, *edits)}


CASES = [
    Case(
        "as measured",
        edits=changed(),
        says=[
            "On two nodes as on one, four workers have 4 times the global batch and, by the "
            "linear rule, the rate of one. Against one worker's 95.0% (94.8 to 95.2)",
            "the fixed rate reaches more; the linear rule and the square-root rule lose "
            "accuracy; the fixed global batch is not told apart. Two nodes were not run.",
            "Against one worker, with four workers the fixed rate reaches more;",
            "The same epochs then make "
            "fewer updates: 312, 156 and 76. The square-root rule takes the root of N instead, "
            "the fixed rate is that of one worker and the fixed global batch is that of one",
            "With the fixed global batch N workers make the same updates",
            "Not told apart is no proof that accuracy is kept.",
            "Of 5 such comparisons",
            "linear rule 1 128 0.001 312 95.0% (94.8 to 95.2) the base",
            "linear rule 4 512 0.004 76 93.0% (92.8 to 93.2) lower",
            "square-root rule 4 512 0.002",
            "fixed rate 4 512 0.001",
            "fixed global batch 4 128 0.001 312 95.0% (94.8 to 95.2) not told apart",
        ],
        never=[
            "withheld",
            "Without a number",
            "No rule but",
            "no loss",
            "hardware.",
            "configuration",
            "two_node_",
        ],
    ),
    Case(
        "a wide interval",  # 80% (50 to 95.5) against 95% is no proof of anything
        edits=changed(
            where(
                {"workers": 4, "rule": "linear"},
                test_accuracy_frac=0.8,
                test_accuracy_frac_low=0.5,
                test_accuracy_frac_high=0.955,
            )
        ),
        says=[
            "the linear rule and the fixed global batch are not told apart.",
            "Not told apart is no proof",
        ],
        never=["no loss"],
    ),
    Case(
        "one seed",
        edits=changed(where(test_accuracy_frac_low=NAN, test_accuracy_frac_high=NAN)),
        says=[
            "every rule tried (93.0% to 96.0%) is undecided.",
            "What has no interval is undecided.",
            "fixed global batch are not comparable, for want of seeds, with the linear rule.",
            "94.5% undecided",
        ],
        never=["no proof", "loses accuracy"],
    ),
    Case(
        "without the fixed batch",
        edits=changed(without(rule="fixed_batch")),
        says=["root of N instead and the fixed rate is that of one worker. Where the"],
        never=["fixed global batch"],
    ),
    Case(
        "linear alone",
        edits=changed(only(rule="linear")),
        says=[
            "four workers have 4 times the global batch",
            "the linear rule loses accuracy.",
            "More epochs may make up for fewer updates (Hoffer et al., 2017). No rule but "
            "the linear one was tried here.",
            "312, 156 and 76. Where the N workers sit",
        ],
        never=["At N = 4 "],
    ),
    *(
        Case(
            f"square root {words}",
            edits=changed(of_four("sqrt", value)),
            says=[
                f"the square-root rule{others} {words} the linear rule",
                f"{100 * value:.1f}%",
                f") {cell} fixed rate",
            ],
        )
        for value, words, cell, others in (
            (0.97, "higher than", "higher", ", the fixed rate and the fixed global batch are"),
            (0.90, "lower than", "lower", " is"),
            (0.93, "not told apart from", "lower", " is"),
        )
    ),
    Case(
        "linear diverged",
        edits=changed(gone("diverged", workers=4, rule="linear")),
        says=["fewer updates: 312 and 156."],
        never=["At N = 4 "],
    ),
    Case(
        "each rule ends otherwise",
        edits=changed(
            gone("diverged", workers=4, rule="sqrt"),
            gone("out_of_memory", workers=4, rule="fixed"),
            gone("exceeds_dataset", workers=4, rule="fixed_batch"),
            gone("unavailable", workers=4, rule="linear"),
        ),
        says=[
            "two workers have 2 times the global batch",
            "diverged diverged",
            "out of memory out of memory",
            "exceeds dataset exceeds dataset",
            "unavailable unavailable",
        ],
    ),
    Case(
        "several workers unavailable",
        edits=changed(gone("unavailable", workers=[2, 4])),
        says=[
            "On two nodes as on one the global batch grows with the workers, and by the linear "
            "rule so does the rate. No training of several workers has a result. Two nodes were "
            "not"
        ],
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
        says=["four workers have 4 times the global batch", "linear rule 2 2 256 0.002"],
        never=["were not run", "None on two"],
    ),
    Case(
        "two nodes unavailable",
        lab={"two_nodes": True},
        edits=changed(gone("unavailable", nodes=2)),
        says=[
            "is not told apart. None on two nodes has a number.",
            "are the linear rule at N = 2 on two nodes (unavailable) and the linear rule at N",
        ],
    ),
]


test_what_h5_says = says("H5", CASES)
