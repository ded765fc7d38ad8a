"""Q4.2: what it says of each remedy follows its test accuracy and that of the large batch."""

from typing import Any

import pytest

from builders import Tables, full_lab
from cases import Case, Edit, around, both, check, where, without
from dpscale.studies import answer_one

NAN = float("nan")
REMEDIES = ["linear_scaling", "warmup", "zero_gamma", "more_epochs"]


def _of(arm: str | list[str], **columns: Any) -> Edit:
    return where({"arm": arm}, **columns)


def _accuracy(arm: str | list[str], value: float) -> Edit:
    return _of(arm, **around("test_accuracy_frac", value))


def _without_interval(arm: str | list[str]) -> Edit:
    return _of(arm, test_accuracy_frac_low=NAN)


def _edits(*edits: Edit) -> dict[str, Edit]:
    return {"accuracy": both(*edits)}


def _no_seed_of_the_large_batch() -> Tables:
    tidy = full_lab()
    return tidy | {"epochs": tidy["epochs"][tidy["epochs"]["run"] != "large_batch-large"]}


def _no_steps() -> Tables:
    tidy = full_lab()
    return tidy | {"steps": tidy["steps"][~tidy["steps"]["run"].str.startswith("large_batch")]}


CASES = [
    Case("all help",
         says=["Against the large batch alone, which has a test accuracy of 77.0% (76.2 to 77.8) "
               "after five epochs, linear scaling with 81.0%", "with 89.0% (88.1 to 89.9) help. ",
               "section 2.1). Gradual warm-up raises the rate", "section 2.2). Zero gamma adds",
               "section 5.1). Longer training gives", "All remedies use the large batch (B = 2048)",
               "after 5 epochs; the exception is longer training, with 10, which therefore costs",
               "warm-up added to linear scaling raises the test accuracy further and zero gamma",
               "accuracy of 92.0% (91.0 to 92.9): linear scaling, gradual warm-up, zero gamma and "
               "longer training stay below it.", "small batch 128", "the mark to reach large batch",
               "the base linear scaling 2048", " helps"],
         never=["makes it worse here", "In training the picture differs", "With zero gamma each"]),
    Case("one as good as none", edits=_edits(_accuracy("warmup", 0.775)),
         says=["gradual warm-up with 77.5% (76.7 to 78.3) cannot be told apart from it.",
               "not distinguishable", "warm-up added to linear scaling lowers the test accuracy",
               "In training the picture differs: gradual warm-up with a training loss of 0.300 "
               "(0.297 to 0.303) is below the large batch alone with 0.500",
               "which after 10 updates lag behind"]),
    Case("two as good as none", lab=_no_steps,
         edits=_edits(_accuracy(["linear_scaling", "warmup"], 0.775)),
         says=["(0.297 to 0.303) are below the large batch alone", "after few updates lag behind",
               "added to linear scaling makes no difference that shows above the seeds"]),
    Case("one helps, one makes it worse",
         edits=_edits(_accuracy("zero_gamma", 0.5),
                      _without_interval(["linear_scaling", "warmup"])),
         says=["longer training with 89.0% (88.1 to 89.9) helps; zero gamma with 50.0% (49.5 to "
               "50.5) makes it worse; linear scaling with 81.0% and gradual warm-up with 85.0% "
               "stay undecided for want of seeds.",
               "in 10 updates that is a late start", " undecided",
               "warm-up added to linear scaling is not decided by so few seeds",
               "zero gamma and longer training stay below it; linear scaling and gradual warm-up "
               "are undecided."],
         never=["The scaled rate"]),
    Case("one undecided, two worse",
         edits=_edits(_accuracy(["zero_gamma", "more_epochs"], 0.5), _without_interval("warmup")),
         says=["zero gamma with 50.0% (49.5 to 50.5) and longer training with 50.0% (49.5 to "
               "50.5) make it worse; gradual warm-up with 85.0% stays undecided for want of seeds.",
               "gradual warm-up is undecided."]),
    Case("zero gamma worse, updates unknown", lab=_no_steps,
         edits=_edits(_accuracy("zero_gamma", 0.5)),
         says=["in few updates that is a late start"]),
    Case("the scaled rate makes it worse", edits=_edits(_accuracy("linear_scaling", 0.5)),
         says=["linear scaling with 50.0% (49.5 to 50.5) makes it worse.",
               "The scaled rate, 1.6 instead of 0.1, makes it worse here",
               "early in training, and all 10 updates of these runs are early. That"]),
    Case("the scaled rate makes it worse, updates unknown", lab=_no_steps,
         edits=_edits(_accuracy(["linear_scaling", "zero_gamma"], 0.5)),
         says=["The scaled rate", "early in training. That"], never=["late start"]),
    Case("more epochs make it worse", edits=_edits(_accuracy("more_epochs", 0.5)),
         never=["The scaled rate", "With zero gamma each"]),
    Case("beside the small batch",
         edits=_edits(_accuracy("warmup", 0.97), _accuracy("more_epochs", 0.92)),
         says=["linear scaling and zero gamma stay below it; longer training cannot be told apart "
               "from it; gradual warm-up exceeds it."]),
    Case("one below the small batch",
         edits=_edits(_accuracy(["warmup", "zero_gamma"], 0.97), _accuracy("more_epochs", 0.92)),
         says=["linear scaling stays below it;", "gradual warm-up and zero gamma exceed it."]),
    Case("a remedy diverged", edits=_edits(_of("linear_scaling", status="diverged")),
         says=["with 89.0% (88.1 to 89.9) help; linear scaling gives no result (diverged).",
               "Training with linear scaling diverged for some seeds",
               "other: zero gamma added to gradual warm-up raises"]),
    Case("two remedies ran out of memory",
         edits=_edits(_of(["warmup", "zero_gamma"], status="out_of_memory", train_loss=NAN)),
         says=["gradual warm-up gives no result (out of memory); zero gamma gives no result "
               "(out of memory)."],
         never=["build on each other"]),
    Case("no remedy has a result", edits=_edits(_of(REMEDIES, status="diverged")),
         says=["after five epochs, linear scaling gives no result (diverged); gradual"],
         never=["the mark to reach, has"]),
    Case("a remedy left out", edits=_edits(without(arm="zero_gamma")),
         never=["zero gamma", "Zero gamma"]),
    Case("no longer training", edits=_edits(without(arm="more_epochs")),
         says=["after 5 epochs. A number"], never=["the exception is"]),
    Case("seeds of the large batch diverged",
         edits=_edits(_of("large", status="diverged", seeds=2)),
         says=["The large batch alone diverged for some seeds, so no remedy is compared with it; "
               "test accuracy with a remedy: linear scaling 81.0% (80.2 to 81.8) after five "
               "epochs, gradual",
               "Training with the large batch diverged for some seeds, which have no number here",
               "no difference is claimed", "large batch (seeds that did not diverge) 2048",
               "undecided"],
         never=["higher", " help.", " helps"]),
    Case("no seed of the large batch left", lab=_no_seed_of_the_large_batch,
         edits=_edits(_of("large", status="diverged")),
         says=["The large batch alone diverged for every seed, so no remedy",
               "longer training 89.0% (88.1 to 89.9) after ten epochs. "]),
    Case("the large batch ran out of memory", lab=_no_seed_of_the_large_batch,
         edits=_edits(_of(["large", *REMEDIES], status="out_of_memory", train_loss=NAN)),
         says=["The large batch alone has no number (out of memory), so no remedy is compared with "
               "it; linear scaling gives no result (out of memory); gradual"],
         never=["test accuracy with a remedy"]),
    Case("seeds of the small batch diverged", edits=_edits(_of("small", status="diverged")),
         says=["Training with the small batch diverged",
               "small batch (seeds that did not diverge) 128"],
         never=["the mark to reach, has"]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_q4_2_says(case: Case) -> None:
    check("Q4.2", case)


def _answer(**given: Any) -> Any:
    return answer_one("Q4.2", Case("", **given).inputs)


def test_a_diverged_remedy_is_a_result_without_a_number():
    value = _answer(edits=_edits(_of("linear_scaling", status="diverged"))).values
    assert value["linear_scaling_test_accuracy_frac"].status == "diverged"
    assert value["linear_scaling_test_accuracy_frac"].value is None


def test_a_large_batch_without_a_number_withholds_nothing():
    assert not _answer(lab=_no_seed_of_the_large_batch,
                       edits=_edits(_of("large", status="diverged"))).missing  # fmt: skip


def test_without_any_remedy_the_conclusion_is_withheld():
    assert _answer(edits=_edits(without(arm=REMEDIES))).missing == [
        "large_batch: no remedy has a run"
    ]
