"""Q4.2: what it says of each remedy follows its test accuracy and that of the large batch."""

from collections.abc import Callable
from typing import Any

from builders import Tables, full_lab
from cases import Case, Edit, both, says, where, without
from dpscale.studies import answer_one
from trained import trained

NAN = float("nan")
REMEDIES = ["linear_scaling", "warmup", "zero_gamma", "more_epochs"]


def _of(arm: str | list[str], **columns: Any) -> Edit:
    return where({"arm": arm}, **columns)


def _edits(*edits: Edit) -> dict[str, Edit]:
    return {"accuracy": both(*edits)}


def _reached(**accuracies: float) -> Callable[[], Tables]:
    return trained({arm: {"test_accuracy_frac": value} for arm, value in accuracies.items()})


def _run_status(status: str, *arms: str) -> Callable[[], Tables]:
    return trained({arm: {"status": status} for arm in arms})


def _without_steps(lab: Callable[[], Tables]) -> Callable[[], Tables]:
    def made() -> Tables:
        tidy = lab()
        own = tidy["steps"]["run"].str.startswith("large_batch")
        return tidy | {"steps": tidy["steps"][~own]}

    return made


def _no_seed_of_the_large_batch() -> Tables:
    tidy = full_lab()
    return tidy | {"curves": tidy["curves"][tidy["curves"]["run"] != "large_batch-large"]}


HELPS = "linear scaling with warm-up and zero gamma"
CASES = [
    Case(
        "all help",
        says=[
            "Longer steps, or more of them, help the large batch: after five epochs alone its test "
            "accuracy is 77.0%, with linear scaling 81.0%,",
            "with longer training 89.0%; the small batch reaches 92.0%. Linear scaling multiplies",
            "section 2.1). Gradual warm-up raises the rate",
            "section 2.2). Zero gamma adds",
            "section 5.1). Longer training gives",
            "All remedies use the large batch (B = 2048)",
            "after 5 epochs; the exception is longer training, with 10, which therefore costs",
            "An interval is Student's t over three seeds",
            "Of 11 such comparisons, each by a",
            "warm-up added to linear scaling raises the test accuracy and zero gamma added to "
            "linear scaling with warm-up makes no measurable difference.",
            f"accuracy of 92.0% (89.3 to 94.6): linear scaling, linear scaling with warm-up, "
            f"{HELPS} and longer training stay below it.",
            "small batch 0.1 5",
            "the mark to reach large batch",
            "the base linear scaling 1.6 5",
            " helps",
            "linear scaling the large batch −0.100",
            "longer training the small batch 0.100 (0.098 to 0.102) −3.00 percentage points "
            "(−4.83 to −1.18) lower",
            "4.00 percentage points (1.47 to 6.52) higher",
            f"{HELPS} linear scaling with warm-up −0.0500 (−0.0512 to −0.0488) 2.00 percentage "
            "points (−0.15 to 4.15) no different",
            "Longer training takes the large batch from 77.0% to 89.0% on test images; the "
            "small one has 92.0%.",
        ],
        never=[
            "makes it worse",
            "In training the picture differs",
            "90 epochs",
            "100%",
            "running statistics",
        ],
    ),
    Case(
        "one as good as none",
        lab=_reached(warmup=0.775),
        says=[
            "Linear scaling with warm-up (77.5%) makes no measurable difference.",
            "no measurable effect",
            "zero gamma and longer training raise the large batch's test accuracy.",
            "warm-up added to linear scaling lowers the test accuracy",
            "In training the picture differs: linear scaling with warm-up with a training loss "
            "of 0.300 (0.293 to 0.308) is below the large batch alone with 0.500",
            "without a measurably higher test accuracy. No arm isolates why.",
        ],
        never=["running statistics", "The scaled rate"],
    ),
    Case(
        "two as good as none",
        lab=_reached(linear_scaling=0.775, warmup=0.775),
        says=[
            "(0.293 to 0.308) are below the large batch alone",
            "warm-up added to linear scaling makes no measurable difference",
        ],
    ),
    Case(
        "one helps, one makes it worse",
        lab=_reached(zero_gamma=0.5),
        says=[
            "92.0%. Linear scaling with warm-up and zero gamma (50.0%) makes it worse.",
            "zero gamma added to linear scaling with warm-up lowers the test "
            "accuracy. Goyal et al. (2017) used zero gamma in trainings of 90 epochs",
        ],
        never=["The scaled rate"],
    ),
    Case(
        "one undecided",
        edits={"large_batch": where({"arm": "warmup"}, test_accuracy_difference_frac_low=NAN)},
        says=[
            "Linear scaling with warm-up (85.0%) stays undecided for want of an interval.",
            "warm-up added to linear scaling is not decided for want of",
            "linear scaling with warm-up is undecided.",
            " undecided linear",
        ],
    ),
    Case(
        "one seed",
        lab=trained({}, seeds=1),
        says=[
            "longer training (88.1%) stay undecided for want of an interval.",
            "No remedy is compared with the large batch by an interval.",
            "With one seed there is no interval",
            "longer training are undecided.",
        ],
        never=["help the", "Student's t", "by chance"],
    ),
    Case(
        "two worse",
        lab=_reached(zero_gamma=0.5, more_epochs=0.5),
        says=[
            "Longer steps help the large batch",
            "zero gamma (50.0%) and longer training (50.0%) make it worse.",
        ],
    ),
    Case(
        "the scaled rate exceeds the small batch",
        lab=_reached(linear_scaling=0.95, more_epochs=0.5),
        says=[
            "Longer steps mend the large batch",
            "with linear scaling with warm-up and zero gamma 87.0%; the small batch’s "
            "92.0% is less than 95.0% and more than the others.",
        ],
        never=["is left"],
    ),
    Case(
        "more steps come near it where longer ones only help",
        lab=_reached(more_epochs=0.92),
        says=[
            "Longer steps, or more of them, help the large batch",
            "; the small batch’s 92.0% is not measurably different from 92.0% and more than the "
            "others.",
        ],
    ),
    Case(
        "more steps mend it where longer ones only help",
        lab=_reached(more_epochs=0.97),
        says=["More steps mend the large batch", "is less than 97.0% and more than the others."],
    ),
    Case(
        "every remedy reaches the small batch",
        lab=_reached(**dict.fromkeys(REMEDIES, 0.92)),
        says=[
            "Longer steps, or more of them, help the large batch",
            "; no measurable difference is left to the small batch’s 92.0%.",
        ],
    ),
    Case(
        "every remedy exceeds the small batch",
        lab=_reached(**dict.fromkeys(REMEDIES, 0.98)),
        says=["with longer training 98.0%, more than the small batch’s 92.0%."],
        never=["is left", "keep"],
    ),
    Case(
        "two remedies exceed the small batch",
        lab=_reached(linear_scaling=0.97, warmup=0.98),
        says=["; the small batch’s 92.0% is less than 97.0% or 98.0% and more than the others."],
    ),
    Case(
        "the scaled rate makes it worse",
        lab=_reached(linear_scaling=0.5),
        says=[
            "Longer steps after a warm-up, or more of them, help the large batch",
            "Linear scaling (50.0%) makes it worse.",
            "50.0% (47.5 to 52.5) makes it worse linear scaling with warm-up 1.6",
            "The scaled rate, 1.6 instead of 0.1, is all that linear scaling changes, so it "
            "makes it worse here",
            "changes fast, and these runs make only 10 updates. That",
        ],
    ),
    Case(
        "the scaled rate makes it worse, updates unknown",
        lab=_without_steps(_reached(linear_scaling=0.5)),
        says=["The scaled rate", "the network changes fast. That"],
    ),
    Case(
        "beside the small batch",
        lab=_reached(warmup=0.97, more_epochs=0.92),
        says=[
            "linear scaling and linear scaling with warm-up and zero gamma stay below it; "
            "longer training shows no measurable difference to it; linear scaling with "
            "warm-up exceeds it."
        ],
    ),
    Case(
        "every training image is learnt",
        lab=trained(
            {arm: {"train_accuracy_frac": [1.0] * 3} for arm in ["small", "large", *REMEDIES]}
        ),
        says=["Every training here fits all its training images (100%)"],
    ),
    Case(
        "a remedy diverged",
        lab=_run_status("diverged", "linear_scaling"),
        says=[
            "reaches 92.0%. Linear scaling gives no result (diverged).",
            "Training with linear scaling diverged for some seeds",
            "isolates them: zero gamma added to linear scaling with warm-up makes",
        ],
    ),
    Case(
        "two remedies ran out of memory",
        lab=trained(
            {
                arm: {"status": "out_of_memory", "train_loss": NAN}
                for arm in ("warmup", "zero_gamma")
            }
        ),
        says=[
            "Linear scaling with warm-up gives no result (out of memory); linear scaling with "
            "warm-up and zero gamma gives no result (out of memory)."
        ],
        never=["are added to others"],
    ),
    Case(
        "none better",
        lab=_reached(**dict.fromkeys(REMEDIES, 0.6)),
        says=[
            "No remedy measurably raises the large batch's test accuracy.",
            "No remedy measurably helps the large batch, whose test accuracy is 77.0% after five "
            "epochs. Linear scaling (60.0%)",
            "No remedy measurably helps the large batch, which has",
        ],
    ),
    Case(
        "no longer training",
        edits=_edits(without(arm="more_epochs")),
        says=["after 5 epochs. A number"],
        never=["the exception is"],
    ),
    Case(
        "seeds of the large batch diverged",
        lab=_run_status("diverged", "large"),
        says=[
            "The large batch alone diverged for some seeds, so no remedy is compared with it; "
            "test accuracy with a remedy: linear scaling 81.0%, linear",
            "Training with the large batch diverged for some seeds, which have no number here",
            "no difference to them is claimed",
            "large batch (seeds that did not diverge) 0.1",
            "undecided",
            "stay below it",
        ],
        never=["help the", " helps"],
    ),
    Case(
        "no seed of the large batch left",
        lab=_no_seed_of_the_large_batch,
        edits=_edits(_of("large", status="diverged")),
        says=[
            "The large batch alone diverged for every seed, so no remedy",
            "longer training 89.0%. ",
        ],
    ),
    Case(
        "the large batch ran out of memory",
        lab=_no_seed_of_the_large_batch,
        edits=_edits(_of(["large", *REMEDIES], status="out_of_memory", train_loss=NAN)),
        says=[
            "The large batch alone has no number (out of memory), so no remedy is compared with "
            "it linear scaling gives no result (out of memory); linear"
        ],
        never=["test accuracy with a remedy"],
    ),
    Case(
        "seeds of the small batch diverged",
        lab=_run_status("diverged", "small"),
        says=[
            "Training with the small batch diverged",
            "small batch (seeds that did not diverge) 0.1",
        ],
        never=["the mark to reach, has"],
    ),
]


test_what_q4_2_says = says("Q4.2", CASES)


def _answer(**given: Any) -> Any:
    return answer_one("Q4.2", Case("", **given).inputs)


def test_a_diverged_remedy_is_a_result_without_a_number():
    value = _answer(lab=_run_status("diverged", "linear_scaling")).values
    assert value["linear_scaling_test_accuracy_frac"].status == "diverged"
    assert value["linear_scaling_test_accuracy_frac"].value is None


def test_a_large_batch_without_a_number_withholds_nothing():
    assert not _answer(
        lab=_no_seed_of_the_large_batch, edits=_edits(_of("large", status="diverged"))
    ).missing


def test_without_any_remedy_the_conclusion_is_withheld():
    assert _answer(edits=_edits(without(arm=REMEDIES))).missing == [
        "large_batch: no remedy has a run"
    ]
