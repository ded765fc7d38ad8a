"""H6: it names a best number of workers only where that is decided, and one node refers to H5."""

from cases import Case, Edit, around, both, says, where, without
from dpscale.studies import answer_one

TRAININGS = "assignment"
PUBLISHED = "assignment_published"
NAN = float("nan")
TWO_NODES = {"two_nodes": True}


def behind(workers: int, low: float, high: float, nodes: int = 1) -> Edit:
    """What a number of workers has more than the best."""
    columns = dict(zip(("", "_low", "_high"), ((low + high) / 2, low, high), strict=True))
    cell = {"workers": workers, "nodes": nodes, "rule": "linear"}
    return where(cell, **{f"best_difference_frac{end}": value for end, value in columns.items()})


def judged(workers: int, verdict: str, reason: str | None = None) -> Edit:
    cell = {"workers": workers, "nodes": 2, "claim": "test_accuracy_frac"}
    return where(cell, verdict=verdict, reason=reason)


CASES = [
    Case(
        "one node, decided",
        says=[
            "Two nodes were not run; as many workers make the same updates there, so expect what "
            "one "
            "node gives: one worker reaches the best test accuracy, 95.0%, "
            "two and four workers less (93.0% to 94.0%). H5 says what keeps the accuracy",
            "Of 2 such comparisons",
            "The published figure for the steps at N = 2 on two nodes, 3 120, contradicts others",
        ],
        never=["withheld", "no measurable", "Without a number", "hardware."],
    ),
    Case(
        "one node, not decided",
        edits={TRAININGS: both(behind(2, -0.02, 0.01), behind(4, -0.03, 0.01))},
        says=[
            "one node gives: one, two and four workers reach 93.0% to 95.0%, with no measurable "
            "difference. H5"
        ],
        never=["best test accuracy"],
    ),
    Case(
        "one seed",
        edits={TRAININGS: where(best_difference_frac_low=NAN)},
        says=["one, two and four workers reach 93.0% to 95.0%, with no measurable difference"],
        never=["best test accuracy"],
    ),
    Case(
        "two nodes, decided",
        lab=TWO_NODES,
        edits={TRAININGS: where({"nodes": 2, "workers": 2}, **around("test_accuracy_frac", 0.991))},
        says=[
            "Two workers on two nodes reach the best test accuracy, 99.1%, four workers on two "
            "nodes less (94.0%).",
            "so the accuracy should not depend on the nodes; H5 compares them.",
        ],
        never=["not run", "one node one"],
    ),
    Case(
        "two nodes, not decided",
        lab=TWO_NODES,
        edits={TRAININGS: behind(4, -0.02, 0.01, nodes=2)},
        says=[
            "Two and four workers on two nodes reach 94.0% to 95.0%, with no measurable difference."
        ],
        never=["best test accuracy", "one node one"],
    ),
    Case(
        "one number of workers",
        edits={TRAININGS: where({"workers": [2, 4]}, status="diverged")},
        says=[
            "one node gives: one worker reaches 95.0%, and nothing else was tried",
            "are the linear rule at N = 2 (diverged) and the linear rule at N = 4 (diverged).",
        ],
    ),
    Case(
        "no accuracy",
        edits={TRAININGS: where(test_accuracy_frac=NAN)},
        says=["No training has a test accuracy."],
    ),
    Case(
        "one worker diverged",
        edits={TRAININGS: where({"workers": 1}, status="diverged")},
        says=["Missing: assignment, one worker, the base of every comparison: diverged."],
    ),
    Case(
        "two nodes unavailable",
        lab=TWO_NODES,
        edits={TRAININGS: where({"nodes": 2}, status="unavailable", test_accuracy_frac=NAN)},
        says=[
            "Two nodes have no number; as many",
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
        says=["not named, all agree. The published figure"],
        never=["decidable"],
    ),
    Case("nothing published", edits={PUBLISHED: without(nodes=2)}, never=["ublished"]),
]


test_what_h6_says = says("H6", CASES)


def test_the_best_accuracy_is_a_value() -> None:
    best = answer_one("H6", Case("", ["x"]).inputs).values["best_test_accuracy_frac"]
    assert best.value == 0.95
    assert best.runs[0] == "assignment-linear-n1"
