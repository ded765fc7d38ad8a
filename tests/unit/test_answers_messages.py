"""Q6 and Q7: what the answers say follows the ledger, the interfaces and the replicas."""

import pandas as pd
import pytest

from answer_checks import answers, lab, table_of, text_of, where
from dpscale.reporting.answers import answer_all, findings

# Q6 -----------------------------------------------------------------------------------------


def test_buffers_besides_gradients_are_the_answer_no():
    assert answers(*lab())["Q6"].sentence.startswith(
        "No: with N = 4 a steady iteration passes 4\u202f000\u202f000\u00a0B of gradients and "
        "besides them 40\u202f000\u00a0B of batch-norm buffers"
    )


def test_gradients_alone_in_a_steady_iteration_are_the_answer_yes():
    derived, tidy = lab()
    ledger = derived["ledger"]
    answer = answers(derived | {"ledger": ledger[ledger["purpose"] != "buffers"]}, tidy)["Q6"]
    assert answer.sentence.startswith("In a steady iteration yes")
    assert "also pass parameters, a shape check and the rebuilt bucket layout" in answer.sentence


def test_the_ledger_names_the_type_of_each_collective():
    table = table_of(answers(*lab())["Q6"], "Every collective")
    assert {row["dtype"] for row in table.rows} == {"float32"}


def test_calls_of_one_purpose_and_two_types_are_two_values():
    derived, tidy = lab()
    ledger = derived["ledger"]
    counters = ledger[(ledger["purpose"] == "buffers") & (ledger["phase"] == "steady")]
    both = pd.concat([ledger, counters.assign(dtype="int64", bytes=160)])
    values = answers(derived | {"ledger": both}, tidy)["Q6"].values
    assert values["steady_broadcast_buffers_float32_bytes_n2"].value == 40_000
    assert values["steady_broadcast_buffers_int64_bytes_n2"].value == 160


def test_both_formulas_the_ledger_and_the_interface_stand_side_by_side():
    answer = answers(*lab())["Q6"]
    row = table_of(answer, "Bytes sent by all workers").rows[1]
    assert [row[name].value for name in ("gradient_bytes", "predicted_bytes", "ledger_bytes")] == [
        24_000_000, 24_120_000, 24_120_000]  # fmt: skip
    assert (
        "the formula gives 24\u202f000\u202f000\u00a0B for the gradients and "
        "24\u202f120\u202f000\u00a0B with the buffers"
    ) in text_of(answer)


@pytest.mark.parametrize(
    ("interface_bytes", "claim"),
    [
        (24_120_000 * 1.01, "the interface's count is 1.00% above the formula"),
        (24_120_000 * 0.98, "the interface's count is 2.00% below the formula"),
        (float("nan"), "the interface's bytes were not counted"),
    ],
)
def test_the_interface_is_compared_with_the_formula(interface_bytes, claim):
    assert claim in text_of(where("wire", "workers", 4, interface_bytes=interface_bytes)["Q6"])


def test_buckets_that_miss_parameters_are_noticed():
    answer = where("ledger", "purpose", "gradient bucket", bytes=3_999_996)["Q6"]
    assert "hold 3\u202f999\u202f996\u00a0B: 4\u00a0B fewer" in text_of(answer)


# Q7 -----------------------------------------------------------------------------------------


def test_drift_and_spread_make_gradients_enough_for_training_only():
    sentence = answers(*lab())["Q7"].sentence
    assert sentence.startswith("For training yes, for evaluation no")
    assert "drift apart by up to 1.00% of their norm" in sentence
    assert "by up to 1.00 percentage points" in sentence


def test_parameters_that_differ_make_gradients_not_enough():
    sentence = where(
        "replicas", "arm", "no_broadcast", parameters_identical=False, parameter_difference_max=0.5
    )["Q7"].sentence
    assert sentence.startswith("For training no")
    assert "the parameters differ between workers, by up to 0.500" in sentence


def test_no_drift_and_no_spread_are_said_to_be_none():
    sentence = where(
        "replicas",
        "arm",
        "no_broadcast",
        buffer_difference_frac_max=0.0,
        test_accuracy_spread_frac=0.0,
    )["Q7"].sentence
    assert "for evaluation yes" in sentence
    assert "the running statistics stay the same on all workers" in sentence
    assert "the test accuracy is the same with every worker's statistics" in sentence


def test_an_unequal_training_loss_is_said_to_differ():
    derived, tidy = lab()
    steps = tidy["steps"].copy()
    steps["loss"] += 0.25 * (steps["run"] == "replicas-no_broadcast")
    sentence = answers(derived, tidy | {"steps": steps})["Q7"].sentence
    assert "the training loss differs from that with the broadcast in 4 of 4 steps" in sentence
    assert "by up to 0.250" in sentence


def test_drift_with_the_broadcast_is_explained_by_the_last_forward_pass():
    answer = where("replicas", "arm", "broadcast", buffer_difference_frac_max=0.002)["Q7"]
    assert "Even with the broadcast they differ after the last step" in text_of(answer)
    assert "Even with" not in text_of(answers(*lab())["Q7"])


def test_a_spread_no_larger_than_with_the_broadcast_shows_no_cost():
    answer = where("replicas", "arm", "broadcast", test_accuracy_spread_frac=0.01)["Q7"]
    assert "for evaluation no cost shown" in answer.sentence
    assert "so this test set shows no cost; the statistics themselves differ" in answer.sentence
    assert "not enough for evaluation" not in text_of(answer)


def test_a_larger_spread_is_weighed_against_one_test_image():
    text = text_of(answers(*lab())["Q7"])
    assert "One of the 2\u202f000 test images weighs 0.0500 percentage points" in text
    assert "and in every seed, the spread is larger without" in text
    assert "not enough for evaluation" in text


def test_one_seed_is_not_called_the_same_one_seed():
    derived, tidy = lab()
    replicas = derived["replicas"][derived["replicas"]["seed"] == 0]
    text = text_of(answers(derived | {"replicas": replicas}, tidy)["Q7"])
    assert "from the same seed." in text


def test_the_finding_on_replicas_follows_the_condition():
    derived, tidy = lab()
    level = derived["replicas"].assign(test_accuracy_spread_frac=0.01)
    found = derived | {"replicas": level}
    assert "shows no cost" in findings(answer_all(found, tidy), found)[2]
