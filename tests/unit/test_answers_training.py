"""Q4 and Q5: what the answers say follows trainings and orders."""

import pytest

from answer_checks import answers, lab, text_of, where


def measure(name: str, value: float, width: float) -> dict[str, float]:
    return {name: value, f"{name}_low": value - width, f"{name}_high": value + width}


# Q4.1 ---------------------------------------------------------------------------------------


def test_a_large_batch_that_is_behind_is_said_to_be_behind():
    answer = answers(*lab())["Q4.1"]
    assert answer.sentence.startswith(
        "In the 5th epoch the large batch (B = 2048) has a higher training loss, a lower training "
        "accuracy and a lower test accuracy than the small one (B = 128)"
    )
    assert "slower optimisation" in text_of(answer)


def test_a_large_batch_that_is_ahead_is_said_to_be_ahead():
    answer = where(
        "accuracy",
        "arm",
        "large",
        **measure("train_loss", 0.05, 0.001),
        **measure("test_accuracy_frac", 0.97, 0.001),
    )["Q4.1"]
    assert (
        "has a higher test accuracy, a lower training loss and a lower training accuracy "
        "than the small one"
    ) in answer.sentence
    assert "slower optimisation" not in text_of(answer)


def test_measures_whose_intervals_meet_are_not_called_different():
    answer = where(
        "accuracy",
        "arm",
        "large",
        **measure("train_loss", 0.10, 0.01),
        **measure("train_accuracy_frac", 0.95, 0.01),
        **measure("test_accuracy_frac", 0.92, 0.01),
    )["Q4.1"]
    assert (
        "cannot be told apart from the small one (B = 128) in training loss, training "
        "accuracy and test accuracy"
    ) in answer.sentence


def test_equal_training_loss_and_lower_test_accuracy_is_the_generalisation_gap():
    answer = where("accuracy", "arm", "large", **measure("train_loss", 0.10, 0.01))["Q4.1"]
    assert "agrees with the generalisation gap of Keskar" in text_of(answer)


def test_the_updates_of_both_trainings_are_counted_from_the_steps():
    # two steps an epoch in the lab's tables, five epochs
    assert answers(*lab())["Q4.1"].values["large_updates"].value == 10


@pytest.mark.parametrize("question", ["Q4.1", "Q4.2"])
def test_seeds_left_of_a_diverged_arm_are_not_compared(question):
    found = where("accuracy", "arm", "large", status="diverged", seeds=2)
    text = text_of(found[question])
    assert "the large batch diverged for some seeds, which have no number here" in text
    assert "no difference is claimed" in text
    assert "slower optimisation" not in text
    assert not [word for word in ("higher", "help") if word in found[question].sentence]


def test_the_seeds_of_the_protocol_are_the_planned_ones():
    assert "Each batch was trained with three seeds" in text_of(
        where("accuracy", "arm", "large", status="diverged", seeds=2)["Q4.1"]
    )


def test_few_seeds_are_said_to_span_their_interval():
    derived, tidy = lab()
    few = text_of(answers(derived, tidy)["Q4.1"])
    assert "With three seeds an interval spans the smallest and the largest" in few
    more = tidy | {"runs": tidy["runs"].assign(seeds=5)}
    assert "an interval spans" not in text_of(answers(derived, more)["Q4.1"])


def test_a_large_batch_that_diverged_in_every_seed_leaves_what_the_remedies_reach():
    derived, tidy = lab()
    lost = derived["accuracy"]["arm"] == "large"
    nan = float("nan")
    accuracy = derived["accuracy"].assign(
        status=derived["accuracy"]["status"].mask(lost, "diverged"),
        train_loss=derived["accuracy"]["train_loss"].mask(lost, nan),
    )
    epochs = tidy["epochs"][tidy["epochs"]["run"] != "large_batch-large"]
    found = answers(derived | {"accuracy": accuracy}, tidy | {"epochs": epochs})
    sentence = found["Q4.2"].sentence
    assert sentence.startswith("The large batch alone diverged for every seed")
    assert "longer training 89.0% (88.1 to 89.9) after ten epochs" in sentence
    assert found["Q4.2"].missing == []
    assert "has no number after its 5th epoch" in found["Q4.1"].sentence


# Q4.2 ---------------------------------------------------------------------------------------


def test_remedies_above_the_large_batch_help():
    assert answers(*lab())["Q4.2"].sentence.endswith("with 89.0% (88.1 to 89.9) help.")


def test_a_remedy_within_the_large_batchs_interval_cannot_be_told_apart():
    answer = where("accuracy", "arm", "warmup", **measure("test_accuracy_frac", 0.775, 0.01))[
        "Q4.2"
    ]
    assert "gradual warm-up with 77.5% (76.5 to 78.5) cannot be told apart" in answer.sentence
    assert answer.tables[0].rows[3]["verdict"] == "not distinguishable"


def test_a_remedy_below_the_large_batch_makes_it_worse():
    answer = where("accuracy", "arm", "zero_gamma", **measure("test_accuracy_frac", 0.5, 0.01))[
        "Q4.2"
    ]
    assert "zero gamma with 50.0% (49.0 to 51.0) makes it worse" in answer.sentence


def test_a_scaled_rate_that_makes_it_worse_is_explained():
    answer = where("accuracy", "arm", "linear_scaling", **measure("test_accuracy_frac", 0.5, 0.01))[
        "Q4.2"
    ]
    assert "The scaled rate, 1.6 instead of 0.1, makes it worse here" in text_of(answer)
    assert "makes it worse here" not in text_of(answers(*lab())["Q4.2"])


def test_a_diverged_remedy_is_a_result_without_a_number():
    answer = where("accuracy", "arm", "linear_scaling", status="diverged")["Q4.2"]
    assert "linear scaling gives no result (diverged)" in answer.sentence
    assert answer.values["linear_scaling_test_accuracy_frac"].value is None


# Q5 -----------------------------------------------------------------------------------------


def test_without_set_epoch_the_orders_are_the_same():
    answer = answers(*lab())["Q5"]
    assert "without set_epoch every epoch has the same order" in answer.sentence
    assert "with it no later epoch repeats the order of the first" in answer.sentence
    assert answer.values["orders_repeated_without_set_epoch"].value == 8


def test_orders_that_differ_without_set_epoch_turn_the_sentence_round():
    answer = where("order", "arm", "without_set_epoch", same_as_first=False)["Q5"]
    assert "without set_epoch no later epoch repeats" in answer.sentence
    assert "epoch after epoch" not in text_of(answer)


def test_curves_whose_intervals_meet_are_not_called_different():
    assert "the training curves of the two cannot be told apart" in answers(*lab())["Q5"].sentence


def test_curves_that_part_are_said_to_differ():
    answer = where("accuracy", "arm", "without_set_epoch", **measure("train_loss", 0.9, 0.01))["Q5"]
    assert (
        "after three epochs the training loss without it is higher, 0.900 (0.890 to 0.910) "
        "against 0.298"
    ) in answer.sentence


def test_unavailable_devices_are_given_as_the_reason():
    assert "unavailable (2 devices asked, 1 found)" in text_of(answers(*lab())["Q5"])
