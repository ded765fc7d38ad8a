"""H2: what it says of steps and seconds follows the records."""

from cases import Case, Edit, plain, says, where
from dpscale.studies import answer_one


def _trainings(cell: dict[str, object] | None = None, **columns: object) -> dict[str, Edit]:
    return {"assignment": where(cell, **columns)}


NAN = float("nan")
FOUR = {"workers": 4, "rule": "linear"}
NETWORKS = {
    "resnet18_cifar": "ResNet-18 with a stem for small images with",
    "resnet18": "ResNet-18 with Adam",
    "resnet20": "ResNet-20 with",
    "mlp": "a small network of linear layers with",
    "mlp_4x512": "a network of four wide linear layers with",
    "softmax": "a linear classifier with",
    "own": "the network of your own file with",
}
DATA = {"mnist": "MNIST (", "cifar10": "CIFAR-10 ("}
CASES = [
    *(
        Case(model, edits=_trainings(model=model), says=[f"Trained is {words}"])
        for model, words in NETWORKS.items()
    ),
    *(
        Case(data, edits=_trainings(dataset=data), says=[f"with Adam on {words}"])
        for data, words in DATA.items()
    ),
    Case(
        "steps and seconds",
        says=[
            "The assignment's 40 epochs of 60 000 images at B = 128 are 18 720 steps (18 760 with "
            "partial batches, 18 750 by division). Here, with D = 10 000 and b = 128, they are 3 "
            "120 (340 s) with one worker and 760 (135 s) with four workers: about a quarter of "
            "the steps, and sooner. Seconds are scaled from 4 epochs. B",
            "and the evaluation after each epoch, not the start-up.",
            "In short: The assignment's full run is 18 720 steps; here (D = 10 000) it is 760 "
            "with four workers, 135 s scaled from 4 epochs.",
            "the 16 images left over, drawn anew in each epoch, are dropped (drop-last)",
            "The steps counted in the records are those computed.",
            "The seconds may be scaled, since every epoch",
        ],
        never=["Without a number", "contradict the label", "as here"],
    ),
    *(
        Case(
            f"four workers whose pace is {low} to {high}",
            edits=_trainings(
                FOUR, speedup_ratio=value, speedup_ratio_low=low, speedup_ratio_high=high
            ),
            says=[f"with four workers: about a quarter of the steps{words}. Seconds"],
        )
        for low, value, high, words in (
            (0.4, 0.5, 0.6, ", yet later"),
            (0.7, 1.1, 1.3, ", yet not measurably sooner"),
            (0.7, 0.785, 1.03, ", yet not measurably sooner"),
            (NAN, 0.785, NAN, ""),
        )
    ),
    Case(
        "exactly a quarter of the steps",
        edits=_trainings(FOUR, full_run_steps=780),
        says=["with four workers: a quarter of the steps, and"],
    ),
    Case(
        "two workers at most",
        edits=_trainings(FOUR, status="diverged"),
        says=["with two workers: half of the steps, and sooner."],
    ),
    Case(
        "eight workers",
        edits=_trainings(FOUR, workers=8),
        says=["with eight workers: about 1/8 of the steps, and sooner."],
    ),
    Case(
        "one worker alone",
        edits=_trainings({"workers": [2, 4]}, status="diverged"),
        says=["with one worker. Seconds"],
        never=["of the steps, ", "yet"],
    ),
    Case(
        "the assignment's own run",
        edits=_trainings({"workers": 1}, train_samples=60_000, full_run_steps=18_720),
        says=[
            "18 720 steps (18 760 with partial batches, 18 750 by division)",
            "In short: The assignment's full run is 18 720 steps; here it is 760 with",
        ],
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
        says=[
            "The records contradict the label of N = 2: 78 steps by 2 workers instead of 156 by 2."
        ],
        never=["as each N asks for"],
    ),
    Case(
        "other workers",
        edits=_trainings({"workers": [2, 4], "rule": "linear"}, counted_workers=6),
        says=["of N = 2: 156 steps by 6 workers instead of 156 by 2; N = 4: 76 steps by 6 workers"],
    ),
    Case(
        "a full run trained",
        edits=_trainings(epochs=40),
        says=["(340 s) with one worker", "four workers, 135 s.", "of the steps, and sooner. B"],
        never=["scaled", "times those"],
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
        says=["and 760 (135 s) with four workers on two nodes: about a quarter"],
    ),
    Case(
        "published",
        says=[
            "contradicts the published epochs, images and batch (40 of 60 000 at b = 128), by "
            "which 2 workers make 9 360 steps and 6 workers 3 120.",
            "Published, and not judged here (other data, digits): steps 18 750 at N = 1.",
        ],
    ),
]


test_what_h2_says = says("H2", CASES)


def test_the_steps_of_the_table_are_of_so_many_epochs() -> None:
    table = answer_one("H2", Case("").inputs).tables[0]
    titles = {column.key: column.title for column in table.columns}
    assert plain(titles["planned_steps"]) == "Steps of 4 epochs, computed"
    assert plain(titles["steps"]) == "Steps of 4 epochs, counted"
