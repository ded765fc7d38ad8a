"""H6: it names a best number of workers only where that is decided, and one node refers to H5."""

import pandas as pd

from cases import Case, Edit, around, both, says, where, without
from dpscale.studies import answer_one

TRAININGS = "assignment"
PUBLISHED = "assignment_published"
ACCURACY = "test_accuracy_frac"
STEPS = {"claim": "steps", "nodes": 2}
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


def second_steps(rows: pd.DataFrame) -> pd.DataFrame:
    """Steps are published of six workers too, and contradict their number."""
    own = rows[(rows["claim"] == "steps") & (rows["nodes"] == 2)]
    return pd.concat([rows, own.assign(workers=6, published=2340.0)], ignore_index=True)


CASES = [
    Case(
        "one node, decided",
        says=[
            "On one node the best is one worker, 95.0%, above two and four workers (93.0% to "
            "94.0%); two nodes were not run. The 99.02% published for two workers on two nodes is "
            "likely mislabelled: its 3 120 steps fit six workers (two make 9 360); of rows "
            "without a contradiction the best is 99.05% (98.86 to 99.24) with six. As many "
            "workers make the same updates on two nodes as on one: the same accuracy is expected, "
            "not tested. The table has",
            "In short: Two nodes were not run; best on one: one worker, 95.0%, above two and four",
            "Of 2 such comparisons",
            "The table has what others published for two nodes of GPUs, whose model is not named, "
            "after training on MNIST. Of these test accuracies, none is judged (not measured "
            "here).",
            "With more workers an epoch has fewer steps, so that published steps allow $N \\le "
            "D/(b \\cdot \\text{steps}/\\text{epochs})$ workers. Published for two workers are 3 "
            "120 steps in 40 epochs, 78 an epoch: 60 000/(128 · 78) = 6.01, at most six workers. "
            "An accuracy",
            "Published for two nodes, beside the steps that as many workers make of 60 000 images "
            "at b = 128. 2 40 99.02% (98.83 to 99.21) 3 120 9360 six workers contradict each other "
            "6 40 99.05% (98.86 to 99.24) None 3120 – – 8 40 98.79% (98.58 to 99) None 2320 – –",
        ],
        never=["withheld", "no measurable", "Without a number", "hardware."],
    ),
    Case(
        "one node, not decided",
        edits={TRAININGS: both(behind(2, -0.02, 0.01), behind(4, -0.03, 0.01))},
        says=[
            "best on one: one worker, 95.0%, not measurably above two and four workers (93.0% to "
            "94.0%)."
        ],
        never=[", above"],
    ),
    Case(
        "one seed",
        edits={TRAININGS: where(best_difference_frac_low=NAN)},
        says=["not measurably above two and four workers (93.0% to 94.0%)."],
        never=[", above"],
    ),
    Case(
        "one of two less",
        edits={TRAININGS: behind(2, -0.02, 0.01)},
        says=[
            "best on one: one worker, 95.0%, not measurably above two workers (94.0%); above "
            "four workers (93.0%)."
        ],
    ),
    Case(
        "two as high",
        edits={
            TRAININGS: both(behind(2, -0.01, 0.01), where({"workers": 2}, test_accuracy_frac=0.95))
        },
        says=["best on one: one and two workers alike, 95.0%, above four workers (93.0%)."],
        never=["not measurably"],
    ),
    Case(
        "two nodes, decided",
        lab=TWO_NODES,
        edits={TRAININGS: where({"nodes": 2, "workers": 2}, **around("test_accuracy_frac", 0.991))},
        says=[
            "Best: two workers on two nodes, 99.1%, above four workers on two nodes (94.0%). The "
            "99.02% published for two",
            "so the accuracy should not depend on the nodes; H5 compares them.",
        ],
        never=["not run", "one node one", "not tested"],
    ),
    Case(
        "two nodes, not decided",
        lab=TWO_NODES,
        edits={TRAININGS: behind(4, -0.02, 0.01, nodes=2)},
        says=[
            "Best: two workers on two nodes, 95.0%, not measurably above four workers on two "
            "nodes (94.0%)."
        ],
        never=["not run", ", above"],
    ),
    Case(
        "one number of workers",
        edits={TRAININGS: where({"workers": [2, 4]}, status="diverged")},
        says=[
            "On one node the best is one worker, 95.0%, with nothing else tried; two nodes "
            "were not run.",
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
            "On one node the best is ",
            "(93.0% to 94.0%); two nodes have no number. The 99.02%",
            "the linear rule at N = 2 on two nodes (unavailable)",
        ],
    ),
    Case(
        "published of every verdict",
        edits={PUBLISHED: both(judged(2, "agrees"), judged(6, "disagrees"))},
        says=[
            "Of these test accuracies, one agrees, one disagrees and one is not judged (not",
            "not measured agrees test",
        ],
    ),
    Case(
        "published agree",
        edits={PUBLISHED: both(*(judged(n, "agrees") for n in (2, 6, 8)))},
        says=["Of these test accuracies, all agree. With more workers"],
        never=["decidable"],
    ),
    Case(
        "other published steps",
        edits={PUBLISHED: where({**STEPS, "workers": 2}, published=4680.0)},
        says=[
            "two nodes is likely mislabelled: its 4 680 steps fit four workers (two make 9 360); "
            "of rows without a contradiction the best",
            "117 an epoch: 60 000/(128 · 117) = 4.01, at most four workers.",
        ],
    ),
    Case(
        "published steps of two numbers of workers are contradicted",
        edits={PUBLISHED: second_steps},
        says=[
            "99.02% published for two workers on two nodes is likely mislabelled: its 3 120 steps "
            "fit six workers (two make 9 360); of rows without a contradiction the best",
            "Published for six workers are 2 340 steps in 40 epochs, 58.5 an epoch: 60 000/(128 · "
            "58.5) = 8.01, at most eight workers. The accuracy",
            "The accuracy published for six workers on two nodes, 99.05%, may then be of eight "
            "workers too.",
        ],
    ),
    Case(
        "no accuracy published of the contradicted number of workers",
        edits={PUBLISHED: without(nodes=2, claim=ACCURACY, workers=2)},
        says=["at most six workers. An accuracy", "at b = 128. 2 40 None 3 120 9360 six workers"],
        never=["may then be", "mislabelled"],
    ),
    Case(
        "an accuracy published of as many workers after other epochs",
        edits={PUBLISHED: where({"nodes": 2, "workers": 2, "claim": ACCURACY}, epochs=21)},
        says=[
            "at most six workers. An accuracy",
            "2 21 99.02% (98.83 to 99.21) None 4914 – – 2 40 None 3 120 9360 six workers",
        ],
        never=["may then be", "mislabelled"],
    ),
    Case(
        "no published steps are contradicted",
        edits={PUBLISHED: where(STEPS, verdict="not judged")},
        says=["3 120 9360 six workers – 6 40"],
        never=["may then be", "mislabelled", "contradicts", "formula"],
    ),
    Case(
        "nothing published",
        edits={PUBLISHED: without(nodes=2)},
        never=["The table", "images at b", "ublished", "mislabelled", "formula"],
    ),
]


test_what_h6_says = says("H6", CASES)


def test_the_best_accuracy_is_a_value() -> None:
    best = answer_one("H6", Case("", ["x"]).inputs).values["best_test_accuracy_frac"]
    assert best.value == 0.95
    assert best.runs[0] == "assignment-linear-n1"
