"""Q4.1: what it says of the large batch follows the trainings and their seeds."""

from typing import Any

from builders import Tables, full_lab
from cases import Case, Edit, numbers, says, where
from dpscale.studies import answer_one, questions
from trained import Given, changed, trained

NAN = float("nan")
RUNS = ["large_batch-small", "large_batch-large"]


def _large(**columns: Any) -> dict[str, Edit]:
    return {"accuracy": where({"arm": "large"}, **columns)}


def _both(**columns: Any) -> dict[str, Edit]:
    return {"accuracy": where({"arm": ["small", "large"]}, **columns)}


def _steps_of(**most: int) -> Tables:
    """The lab where trainings made that many steps an epoch at the most."""
    tidy = full_lab()
    steps = tidy["steps"]
    for arm, count in most.items():
        own = steps["run"] == f"large_batch-{arm}"
        steps = steps[~own | (steps["step"] < steps.loc[own, "step"].min() + count)]
    return tidy | {"steps": steps}


def _level(name: str, accuracy: Given, large: Given = 0.63, **words: list[str]) -> Case:
    """Small batch with as many updates after two epochs as the large one makes in four."""
    ends = {
        "large": {"epochs": 4, "epoch": [4], "test_accuracy_frac": large},
        "small": {"epochs": 4, "epoch": [2], "test_accuracy_frac": accuracy},
    }
    seeds = 1 if accuracy == [0.63] else None
    return Case(name, lab=lambda: changed(_steps_of(large=1), ends, seeds, "large_batch-"), **words)


BEHIND = Case(
    "behind",
    says=[
        "In the 5th epoch the large batch (B = 2048) has learnt less than the small one (B = 128): "
        "training loss 0.500 against 0.100, training accuracy 80.0% against 95.0%, "
        "test accuracy 77.0% against 92.0%.",
        "After equal epochs the large batch (B = 2048) has training loss 0.500 against 0.100 and "
        "training accuracy 80.0% against 95.0%.",
        "with three seeds;",
        "An interval is Student's t over three seeds, of the values or",
        "the sampling of the 2 000 test images too.",
        "Both use the same data for as many epochs.",
        "In five epochs the small batch (N = 4, b = 32) made 10 updates and the large one (N = 4, "
        "b = 512) 10; the samples that fill no batch",
        "After the same epochs the large batch fits the training images less well",
        "does not isolate. Q4.2 draws both accuracies.",
        "Of 3 such comparisons",
        "On one worker b = 1280 is the largest that fits (Q1); the large batch per worker here "
        "is b = 512, with four updates an epoch. The claim holds for four workers",
        "epoch 5, with N = 4 and the learning rate 0.1. Training numbers are of the whole epoch, "
        "while the model learns. small 32 128 10",
        "same seed. 0.400 (0.390 to 0.410) −15.0 percentage points",
    ],
    never=["stands in for", "100%", "updates against", "small, after as many", "updates of both"],
)
CASES = [
    BEHIND,
    Case(
        "ahead",
        lab=trained({"large": {"train_loss": 0.05, "test_accuracy_frac": 0.97}}),
        says=[
            "fits the training data better than the small one",
            "has a training loss below and a test accuracy above that",
            "has training loss 0.0500 against 0.100 and training accuracy 80.0%",
        ],
        never=["less well"],
    ),
    Case(
        "no difference",
        lab=trained(
            {
                "large": {
                    "train_loss": [0.11, 0.1, 0.09],
                    "train_accuracy_frac": 0.95,
                    "test_accuracy_frac": [0.91, 0.92, 0.93],
                }
            }
        ),
        says=[
            "shows no measurable difference in training loss from the small one (B = 128)",
            "test accuracy 92.0% against 92.0%.",
            "has a training loss measurably no different from and a test accuracy measurably no "
            "different from that of the small one, so neither the optimisation difficulty",
            "training loss 0.100 against 0.100 and training accuracy 95.0% against 95.0% (no "
            "measurable difference).",
        ],
        never=["92.0%, no measurable"],
    ),
    Case(
        "a difference of one seed in three",  # the medians differ, the pairs do not
        lab=trained(
            {
                "small": {"test_accuracy_frac": [0.90, 0.92, 0.95]},
                "large": {"test_accuracy_frac": [0.94, 0.90, 0.91]},
            }
        ),
        says=["against 92.0%, no measurable difference.", "92.0%, no measurable difference."],
    ),
    Case(
        "behind in test accuracy alone",
        lab=trained(
            {"large": {"train_loss": [0.11, 0.1, 0.09], "train_accuracy_frac": [0.96, 0.95, 0.94]}}
        ),
        says=[
            "with a training loss that is measurably no different from that of the small one. That "
            "is what the generalisation gap of Keskar"
        ],
    ),
    Case(
        "behind in test accuracy with the lower loss",
        lab=trained({"large": {"train_loss": 0.05, "train_accuracy_frac": 0.97}}),
        says=["with a training loss that is lower than that of the small one. That is what"],
    ),
    Case(
        "behind in test accuracy and in training accuracy, not in loss",
        lab=trained({"large": {"train_loss": [0.11, 0.1, 0.09]}}),
        never=["looks like"],
    ),
    Case(
        "one seed",
        lab=trained({}, seeds=1),
        says=[
            "cannot be compared, for want of an interval, with the small one (B = 128): ",
            "94.0% (one seed).",
            "with one seed;",
            "With one seed there is no interval",
            "Without an interval neither",
        ],
        never=["less well", "Student's t"],
    ),
    Case(
        "every training image is learnt",
        lab=trained({arm: {"train_accuracy_frac": [1.0] * 3} for arm in ("small", "large")}),
        says=[
            "Every training here fits all its training images (100%), so training accuracy "
            "cannot discriminate"
        ],
    ),
    Case(
        "seeds of the large batch diverged",
        edits=_large(status="diverged", seeds=2),
        says=[
            "Training with the large batch diverged for some seeds, which have no number here",
            "no difference to them is claimed",
            "Each batch was trained with three seeds",
            "small 32 128",
            "large (seeds that did not diverge) 512",
        ],
        never=["higher", "less well"],
    ),
    Case(
        "seeds of both diverged",
        edits=_both(status="diverged"),
        says=[
            "Training with the small batch and the large batch diverged",
            "small (seeds that did not diverge) 32",
        ],
    ),
    Case(
        "no seed of the large batch left",
        edits=_large(status="diverged", train_loss=NAN),
        says=[
            "training with the large batch has no number after its 5th epoch, with the outcome "
            "diverged."
        ],
    ),
    Case(
        "out of memory",
        edits=_both(status="out_of_memory", train_loss=NAN),
        says=[
            "training with the small batch has no number after its 5th epoch, with the outcome "
            "out of memory."
        ],
    ),
    Case(
        "rates of their own",
        edits=_large(lr=0.2),
        says=["Both use learning rates of their own (0.1 and 0.2), and the same data"],
    ),
    Case(
        "three epochs",
        lab=trained({arm: {"epochs": 3} for arm in ("small", "large")}),
        says=[
            "In the 3rd epoch",
            "The runs have three epochs, so the 3rd stands in for the 5th.",
            "In three epochs the small batch",
        ],
    ),
    Case(
        "fewer updates",
        lab=lambda: _steps_of(large=1),
        says=[
            "made 10 updates and the large one (N = 4, b = 512) 5;",
            "After the same epochs and fewer updates the large batch fits",
            "It made 5 updates against 10.",
        ],
        never=["after as many"],
    ),  # no epoch of the small batch ends there
    _level(
        "as good by update",
        0.63,
        says=[
            "It made 4 updates against 8; after as many updates the small batch had 63.0%: "
            "missing updates alone can explain the gap at that rate.",
            "After 4 updates of both, the test accuracy of the large batch less that of the small "
            "one is 0 percentage points (−3 to 3).",
        ],
    ),
    _level("better by update", 0.5, says=["50.0%: update for update"]),
    _level("worse by update", 0.9, says=["90.0%: the large batch lacks more"]),
    _level("by update unknown", [0.63], never=["after as many"]),
    _level(
        "by update, in the table",
        0.5,
        says=["small, after as many updates 32 128 4 not comparable not comparable 50.0%"],
    ),
    _level(
        "worse by update in every seed, though the seeds lie far apart",
        [0.50, 0.63, 0.80],
        [0.42, 0.56, 0.71],
        says=["63.0%: the large batch lacks more"],
    ),
    Case(
        "one update",
        lab=lambda: _steps_of(small=1),
        edits=_both(epochs=1),
        says=["made 1 update and"],
    ),
    Case(
        "updates unknown", lab=lambda: _steps_of(small=0, large=0), never=["updates and the large"]
    ),
    Case(
        "the largest that fits",
        edits={"boundary": where(largest_fit_batch=512)},
        says=["b = 512 is the largest batch per worker that fits (Q1). The claim"],
        never=["On one worker"],
    ),
    Case(
        "what fits leaves four workers no full batch",
        edits={"boundary": where(largest_fit_batch=2_896)},
        says=[
            "the large batch (B = 2048, b = 512; b = 2896 fits but leaves no update) has learnt "
            "less"
        ],
    ),
    Case(
        "one worker",
        edits=_large(workers=1),
        says=[
            "with 19 updates an epoch. The claim holds for one worker,",
            "epoch 5, with the learning rate 0.1. Training numbers are of the whole epoch, while "
            "the model learns. small 4 32 128",
            "large 1 512",
        ],
    ),
    Case(
        "as large as the updates allow",
        edits=_large(per_worker_batch=625),
        says=["here is b = 625, the largest that leaves four updates an epoch. The claim"],
    ),
    Case("no boundary", edits={"boundary": lambda rows: rows[:0]}, never=["(Q1)"]),
]


test_what_q4_1_says = says("Q4.1", CASES)


def test_updates_are_counted_from_steps_and_known_by_their_run():
    answer = answer_one("Q4.1", BEHIND.inputs)
    assert answer.values["large_updates"].value == 10  # two steps an epoch, five epochs
    said = answer.said
    texts = (said.sentence, *said.paragraphs, *said.method)
    assert [[run] for run in RUNS] in [[own for _, own in numbers(text)] for text in texts]


def test_a_training_without_a_number_has_values_that_say_why():
    found = questions()["Q4.1"](Case("", edits=_large(status="diverged", train_loss=NAN)).inputs)
    assert found.values["large_train_loss"].status == "diverged"
    assert "large_updates" not in found.values
