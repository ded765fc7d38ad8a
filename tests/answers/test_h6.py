"""H6: the best number of workers, and whether it is told from the others, follow the trainings."""

import pandas as pd

from cases import Case, Edit, around, both, says, where, without
from dpscale.studies import answer_one

TRAININGS = "assignment"
PUBLISHED = "assignment_published"
NAN = float("nan")


def tight(rows: pd.DataFrame) -> pd.DataFrame:
    """The table with narrow intervals, so that a case says what differs."""
    value = rows["test_accuracy_frac"]
    ends = {"test_accuracy_frac_low": value * 0.998, "test_accuracy_frac_high": value * 1.002}
    return rows.assign(**ends)


def of(workers: int, value: float, rule: str = "linear", width: float = 0.001) -> dict[str, Edit]:
    cell = {"workers": workers, "rule": rule}
    return {TRAININGS: both(tight, where(cell, **around("test_accuracy_frac", value, width)))}


def judged(workers: int, verdict: str, reason: str | None = None) -> Edit:
    cell = {"workers": workers, "nodes": 2, "claim": "test_accuracy_frac"}
    return where(cell, verdict=verdict, reason=reason)


FOUR_BEST = Case(
    "four are best",
    edits=of(4, 0.99),
    says=["the best test accuracy is 99.0%", "with four workers, higher than with 1 and 2."],
)
CASES = [
    Case(
        "as measured",
        edits={TRAININGS: tight},
        says=[
            "On one node the best test accuracy is 95.0% (94.8 to 95.2),"
            " with one worker, higher than with 2 and 4. Two nodes were not run. As many "
            "workers make the same updates on one node and on two",
            "The best of three numbers of workers",
            "here its interval lies above that of every other.",
            "Of 2 such comparisons",
            "the fixed rate at N = 4 reaches most, 96.0% (95.8 to 96.2), higher than the best",
            "every run here has as many workers",
            "The published figure for the "
            "steps at N = 2 on two nodes, 3 120, "
            "contradicts others: so few steps",
            "come from 6 workers",
            "Published, and not judged here (not measured here): test accuracy 99.02% (98.83 "
            "to 99.21) at N = 2 on two nodes after 40 epochs, 99.05%",
        ],
        never=[
            "withheld",
            "not told apart",
            "Without a number",
            "contradicts the label",
            "hardware.",
            "configuration",
            "beside as many",
        ],
    ),
    FOUR_BEST,
    Case(
        "two as one",
        edits=of(2, 0.9505, width=0.01),
        says=[
            "with two workers, higher than with 4 and not told apart from that with 1.",
            "which of them is best is not decided.",
        ],
    ),
    Case(
        "one seed",
        edits={TRAININGS: where(test_accuracy_frac_low=NAN)},
        says=["with one worker, not comparable, for want of an interval, with that with 2 and 4."],
    ),
    *(
        Case(
            f"another rule {words}",
            edits=of(4, value, "fixed"),
            says=[f"at N = 4 reaches most, {100 * value:.1f}%", f"), {words} the best above."],
        )
        for value, words in ((0.97, "higher than"), (0.952, "not told apart from"))
    ),
    Case(
        "other rules worse",
        edits={
            TRAININGS: where(
                {"rule": ["sqrt", "fixed", "fixed_batch"]},
                **around("test_accuracy_frac", 0.9, 0.001),
            )
        },
        says=["the square-root rule at N = 4 reaches most, 90.0%", "lower than the best above"],
    ),
    Case(
        "other steps",
        edits={TRAININGS: where({"workers": 2}, steps=78)},
        says=[
            "The record contradicts the label of N = 2 (2 workers and 78 steps in its record, "
            "156 expected)."
        ],
        never=["every run here has"],
    ),
    Case(
        "other workers",
        edits={TRAININGS: where({"workers": [2, 4]}, counted_workers=6)},
        says=["N = 2 (6 workers and 156 steps in its record, 156 expected) and N = 4 (6 workers"],
    ),
    Case(
        "one number of workers",
        edits={TRAININGS: where({"workers": [2, 4]}, status="diverged")},
        says=[
            "with one worker.",
            "One number of workers has a result",
            "are the linear rule at N = 2 (diverged) and the linear rule at N = 4 (diverged).",
        ],
        never=["Of the other rules"],
    ),
    Case(
        "no accuracy",
        edits={TRAININGS: where(test_accuracy_frac=NAN)},
        says=["No training has a test accuracy.", "No number of workers has a result."],
    ),
    Case(
        "one worker diverged",
        edits={TRAININGS: where({"workers": 1}, status="diverged")},
        says=["Missing: assignment, one worker, the base of every comparison: diverged."],
    ),
    Case(
        "two nodes",
        lab={"two_nodes": True},
        edits={TRAININGS: tight},
        says=[
            "On two nodes the best test accuracy is 95.0% (94.8 to 95.2), with two workers, "
            "higher than with 4. As many workers",
            "beside as many workers on one node, N = 2 on two nodes and N = 4 on "
            "two nodes are higher than it.",
        ],
        never=["were not run", "None on two"],
    ),
    Case(
        "two nodes unavailable",
        lab={"two_nodes": True},
        edits={TRAININGS: where({"nodes": 2}, status="unavailable", test_accuracy_frac=NAN)},
        says=[
            "On one node the best",
            "2 and 4. None on two nodes has a number. As",
            "the linear rule at N = 2 on two nodes (unavailable)",
        ],
    ),
    Case(
        "published of every verdict",
        edits={PUBLISHED: both(judged(2, "agrees"), judged(6, "disagrees"))},
        says=["not named, one agrees and one disagrees. The published", "not measured agrees test"],
    ),
    Case(
        "published agree",
        edits={PUBLISHED: both(*(judged(n, "agrees") for n in (2, 6, 8)))},
        says=["not named, three agree. The published figure"],
        never=["decidable"],
    ),
    Case("nothing published", edits={PUBLISHED: without(nodes=2)}, never=["ublished"]),
]


test_what_h6_says = says("H6", CASES)


def test_the_best_accuracy_is_a_value() -> None:
    best = answer_one("H6", FOUR_BEST.inputs).values["best_test_accuracy_frac"]
    assert best.value == 0.99
    assert best.runs == ["assignment-linear-n4", "assignment-linear-n1"]
