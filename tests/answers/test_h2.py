"""H2: what it says of steps and seconds follows the records."""

from cases import Case, Edit, says, where

NAN = float("nan")


def _trainings(cell: dict[str, object] | None = None, **columns: object) -> dict[str, Edit]:
    return {"assignment": where(cell, **columns)}


CASES = [
    Case(
        "steps and seconds",
        says=[
            "A full run of 40 epochs makes 3 120 steps in 340 s (337 to 343) with one worker "
            "and 760 steps in 135 s (134 to 136) with four workers. N workers share an epoch:",
            "the 16 images left over, drawn anew in each epoch, are dropped (drop-last)",
            "are as many as computed, for every number of workers",
            "This is scaled from runs of 4 epochs.",
            "Runs of 4 epochs were trained, and their time is scaled by 40/4, since",
            "The start-up, 3.00 s, 6.00 s and 12.0 s for N = 1, N = 2 and N = 4 until",
        ],
        never=["Without a number", "nothing is scaled"],
    ),
    Case(
        "no image left over",
        edits=_trainings(train_samples=9_984),
        says=["78 steps; no image is left over (drop-last)"],
        never=["are dropped"],
    ),
    Case(
        "other steps than computed",
        edits=_trainings({"workers": 2}, steps=78),
        says=["not as many as computed: 78 instead of 156 at N = 2."],
        never=["are as many as computed"],
    ),
    Case(
        "a full run trained",
        edits=_trainings(epochs=40),
        says=["A full run of 40 epochs makes", "A full run was trained, so nothing is scaled."],
        never=["uns of", "is scaled by"],
    ),
    Case(
        "a start-up not known",
        edits=_trainings({"workers": 2}, startup_s=NAN),
        never=["The start-up,"],
    ),
    Case(
        "a training that diverged",
        edits=_trainings({"workers": 4, "rule": "linear"}, status="diverged"),
        says=["Without a number, for its outcome, is the linear rule at N = 4 (diverged)."],
        never=["with four workers"],
    ),
    Case(
        "two nodes",
        lab={"two_nodes": True},
        says=[
            "and 760 steps in 135 s (134 to 136) with four workers on two nodes.",
            "12.0 s for N = 1, N = 2, N = 4, N = 2 on two nodes and N = 4 on two nodes",
        ],
    ),
    Case(
        "published",
        says=[
            "The published 18 750 steps are",
            "makes 18 720, and one that keeps it 18 760.",
            "Published, and not judged here (other data, digits): steps 18 750 at N = 1.",
        ],
    ),
    Case(
        "published steps contradicted",
        edits={"assignment_published": where({"claim": "steps"}, verdict="contradicts itself")},
        says=["The published figure for the steps at N = 1, 18 750, contradicts others: other"],
        never=["one that keeps it", "Of the published figures"],
    ),
]


test_what_h2_says = says("H2", CASES)
