"""Q4.1: what it says of the large batch follows the trainings and their seeds."""

from typing import Any

import pytest

from builders import Tables, full_lab
from cases import Case, Edit, around, check, where
from dpscale.studies import answer_one, questions

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


def _seeds(seeds: int) -> Tables:
    tidy = full_lab()
    return tidy | {"runs": tidy["runs"].assign(seeds=seeds)}


BEHIND = Case(
    "behind",
    says=["In the 5th epoch the large batch (B = 2048) has a higher training loss, a lower "
          "training accuracy and a lower test accuracy than the small one (B = 128): training "
          "loss 0.500 (0.495 to 0.505) against 0.100 (0.099 to 0.101), training accuracy 80.0%",
          "Accuracy: after the same epochs the large batch has a lower test accuracy",
          "with three seeds;", "With three seeds an interval spans the smallest and the largest",
          "Both use the learning rate 0.1, and", "Both saw each training image five times",
          "(N = 4, b = 32) made 10 updates for it and the large one (N = 4, b = 512) 10.",
          "in training loss already: what shows here is slower optimisation",
          "On one worker b = 1280 fits (Q1); the large batch per worker here is b = 512, which "
          "leaves memory for the buckets of DistributedDataParallel. The claim holds for four "
          "workers", "epoch 5. small 4 32 128 10"],
    never=["stands in for"],
)  # fmt: skip
CASES = [
    BEHIND,
    Case("ahead",
         edits=_large(**around("train_loss", 0.05), **around("test_accuracy_frac", 0.97)),
         says=["has a higher test accuracy, a lower training loss and a lower training accuracy "
               "than the small one", "reaches the lower training loss"],
         never=["slower optimisation"]),
    Case("as good",
         edits=_large(**around("train_loss", 0.1, 0.1), **around("train_accuracy_frac", 0.95),
                      **around("test_accuracy_frac", 0.92)),
         says=["cannot be told apart from the small one (B = 128) in training loss, training "
               "accuracy and test accuracy: training loss", "Neither the optimisation difficulty"]),
    Case("behind in test accuracy alone", edits=_large(**around("train_loss", 0.1, 0.1)),
         says=["agrees with the generalisation gap of Keskar",
               "than the small one (B = 128) and cannot be told apart from it in training loss: "]),
    Case("one seed", lab=lambda: _seeds(1),
         edits=_large(train_loss_low=NAN, train_accuracy_frac_low=NAN, test_accuracy_frac_low=NAN),
         says=["cannot be compared, for want of seeds, with the small one (B = 128) in training "
               "loss, training accuracy and test accuracy: ", "with one seed;",
               "With one seed there is no interval"]),
    Case("five seeds", lab=lambda: _seeds(5), says=["with five seeds;"],
         never=["an interval spans"]),
    Case("seeds of the large batch diverged", edits=_large(status="diverged", seeds=2),
         says=["Training with the large batch diverged for some seeds, which have no number here",
               "no difference is claimed", "Each batch was trained with three seeds",
               "small 4 32 128", "large (seeds that did not diverge) 4 512"],
         never=["higher", "slower optimisation"]),
    Case("seeds of both diverged", edits=_both(status="diverged"),
         says=["Training with the small batch and the large batch diverged",
               "small (seeds that did not diverge) 4 32"]),
    Case("no seed of the large batch left", edits=_large(status="diverged", train_loss=NAN),
         says=["training with the large batch has no number after its 5th epoch, with the outcome "
               "diverged."]),
    Case("out of memory", edits=_both(status="out_of_memory", train_loss=NAN),
         says=["training with the small batch has no number after its 5th epoch, with the outcome "
               "out of memory."]),
    Case("rates of their own", edits=_large(lr=0.2),
         says=["Both use learning rates of their own (0.1 and 0.2), and the same data"]),
    Case("three epochs", edits=_both(epochs=3),
         says=["In the 3rd epoch", "The runs have three epochs, so the 3rd stands in for the 5th.",
               "each training image three times"]),
    Case("fewer updates", lab=lambda: _steps_of(large=1),
         says=["made 10 updates for it and the large one (N = 4, b = 512) 5.",
               "is behind in training loss already after fewer updates: what"]),
    Case("one update", lab=lambda: _steps_of(small=1), edits=_both(epochs=1),
         says=["made 1 update for it"]),
    Case("updates unknown", lab=lambda: _steps_of(small=0, large=0), never=["updates for it"]),
    Case("the largest that fits", edits={"boundary": where(largest_fit_batch=512)},
         says=["b = 512 is the largest batch per worker that fits (Q1). The claim"],
         never=["On one worker"]),
    Case("cut for the updates of an epoch", edits=_large(train_samples=4200),
         says=["is b = 512, cut so that an epoch of 4 200 training images keeps two updates of "
               "N = 4 workers. The claim"]),
    Case("one worker", edits=_large(workers=1),
         says=["per worker here is b = 512. The claim holds for one worker,"]),
    Case("no boundary", edits={"boundary": lambda rows: rows[:0]}, never=["(Q1)"]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_q4_1_says(case: Case) -> None:
    check("Q4.1", case)


def test_updates_are_counted_from_steps_and_known_by_their_run():
    answer = answer_one("Q4.1", BEHIND.inputs)
    assert answer.values["large_updates"].value == 10  # two steps an epoch, five epochs
    assert [number.runs for number in answer.printed[2]] == [[run] for run in RUNS]


def test_a_training_without_a_number_has_values_that_say_why():
    found = questions()["Q4.1"](Case("", edits=_large(status="diverged", train_loss=NAN)).inputs)
    assert found.values["large_train_loss"].status == "diverged"
    assert "large_updates" not in found.values
