"""H1 to H6: what the answers say turns round when the tables do."""

import pandas as pd
import pytest

from answer_checks import answers, around, edited, edited_where, lab, of_factor, table_of, text_of

TRAININGS = "assignment"
BATCHES = "assignment_utilisation"


def of(workers: int, rule: str = "linear") -> pd.Series:
    """Which rows of the trainings are of these workers by this rule."""
    rows = lab()[0][TRAININGS]
    return (rows["workers"] == workers) & (rows["rule"] == rule)


def batch(size: int) -> pd.Series:
    return lab()[0][BATCHES]["per_worker_batch"] == size


def accuracy(workers: int, value: float, rule: str = "linear", width: float = 0.001):
    """The answers after the accuracy of one training got a new value."""
    return edited_where(TRAININGS, of(workers, rule), **around("test_accuracy_frac", value, width))


# H1 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "claim"),
    [
        (0.95, "a larger batch raises its utilisation"),
        (0.30, "a larger batch lowers its utilisation"),
        (0.503, "a larger batch makes no difference that shows above the noise"),
    ],
)
def test_what_a_larger_batch_does_to_the_utilisation_follows_the_intervals(last, claim):
    changed = edited_where(BATCHES, batch(1024), **around("utilisation_frac", last))
    assert claim in changed["H1"].sentence


def test_utilisation_is_never_called_efficiency():
    assert "efficien" not in text_of(answers(*lab())["H1"]).lower()


def test_a_device_that_works_nearly_always_has_nothing_left_to_raise():
    changed = edited_where(BATCHES, batch(128), **around("utilisation_frac", 0.98))
    assert "next to nothing left to raise" in text_of(changed["H1"])
    assert "next to nothing left to raise" not in text_of(answers(*lab())["H1"])


def test_a_gpu_that_waits_for_its_loader_is_told_to_load_and_one_that_does_not_is_not():
    waits = edited(BATCHES, device="NVIDIA H1", **around("load_frac", 0.4))["H1"]
    assert "More loading processes" in text_of(waits)
    assert "NVML" in text_of(waits)
    gaps = edited(BATCHES, device="NVIDIA H1", **around("load_frac", 0.01))["H1"]
    assert "leave gaps" in text_of(gaps)


def test_batches_are_not_compared_while_other_programs_had_the_core():
    changed = edited(BATCHES, device="CPU core", **around("compute_frac", 0.99))["H1"]
    assert "other programs had the core meanwhile" in changed.sentence
    assert "raises its utilisation" not in text_of(changed)


@pytest.mark.parametrize(
    ("rate", "claim"), [(2000.0, "trains faster as well"), (500.0, "trains more slowly")]
)
def test_whether_a_busier_device_trains_faster_follows_the_rates(rate, claim):
    changed = edited_where(BATCHES, batch(1024), **around("samples_per_s", rate))
    assert claim in text_of(changed["H1"])


# H2 -----------------------------------------------------------------------------------------


def test_steps_of_a_full_run_and_their_seconds_are_named():
    sentence = answers(*lab())["H2"].sentence
    assert sentence.startswith("A full run of 40 epochs makes 3\u202f120 steps in 340\u00a0s")


def test_images_left_over_are_said_to_be_dropped():
    text = text_of(answers(*lab())["H2"])
    assert "the 16 images left over, drawn anew in each epoch, are dropped (drop-last)" in text
    whole = edited(TRAININGS, train_samples=9_984)["H2"]
    assert "no image is left over" in text_of(whole)


def test_a_record_with_other_steps_than_computed_is_said_to_differ():
    changed = edited_where(TRAININGS, of(2), steps=78)
    assert "78 instead of 156 at N = 2" in text_of(changed["H2"])
    assert "The record contradicts the label of N = 2" in text_of(changed["H6"])


def test_18750_steps_stand_beside_those_of_a_loader_that_drops_and_of_one_that_keeps():
    text = text_of(answers(*lab())["H2"]).replace("\u202f", "")
    assert "published 18750 steps" in text
    assert "makes 18720, and one that keeps it 18760" in text


# H3 -----------------------------------------------------------------------------------------


def test_two_workers_that_are_faster_are_said_to_be_faster():
    sentence = answers(*lab())["H3"].sentence
    assert "two workers are faster than one (speed-up 1.60×, scaling efficiency 80.2%)" in sentence


def test_two_workers_that_are_slower_are_said_to_be_slower():
    assert "two workers are slower than one" in of_factor(1.5)["H3"].sentence


@pytest.mark.parametrize(
    ("value", "claim"),
    [
        (0.97, "reach 97.0%, higher than that of one"),
        (0.95, "reach 95.0%, not told apart from that of one"),
        (0.90, "reach 90.0%, lower than that of one"),
    ],
)
def test_accuracies_are_compared_by_their_intervals(value, claim):
    assert claim in accuracy(2, value)["H3"].sentence


def test_a_published_ratio_that_its_own_times_refute_is_named():
    text = text_of(answers(*lab())["H3"])
    assert "The published figure for the speed-up at N = 2, 0.53, contradicts others" in text


def test_workers_that_share_cores_are_said_to():
    assert "oversubscribed" not in text_of(answers(*lab())["H3"])
    changed = edited_where(TRAININGS, of(4), oversubscribed=True)
    assert "At N = 4 the workers outnumber" in text_of(changed["H3"])


def test_published_figures_are_in_a_table_of_their_own_and_no_value_is_one():
    answer = answers(*lab())["H3"]
    table = table_of(answer, "Published figures")
    assert len(table.rows) == 12  # one ratio, three times, two efficiencies, six accuracies
    printed = [row["published"] for row in table.rows]
    assert printed[1:4] == ["456.15\u00a0s", "379.69\u00a0s", "203.63\u00a0s"]
    assert printed[6] == "98.27% (98.01 to 98.53)"
    assert all(value.runs for value in answer.values.values() if value.value is not None)


# H4 -----------------------------------------------------------------------------------------


def split(part: str, share: float):
    """The answers after a part of four workers' epoch got another share."""
    rows = lab()[0]["assignment_split"]
    return edited_where("assignment_split", rows["workers"] == 4, **around(f"{part}_frac", share))


def test_the_largest_loss_is_named():
    assert "at N = 4 computation is 51.9% of an epoch and the largest loss is loading (19.7%)" in (
        answers(*lab())["H4"].sentence
    )


@pytest.mark.parametrize(
    ("part", "words", "remedy"),
    [
        ("exposed", "exposed communication (50.0%)", "Against exposed communication"),
        ("stragglers", "stragglers (50.0%)", "Against stragglers"),
        ("copy", "the copy to the device (50.0%)", "Against the copy"),
    ],
)
def test_the_largest_loss_and_its_remedy_turn_with_the_shares(part, words, remedy):
    answer = split(part, 0.5)["H4"]
    assert f"at N = 4 computation is 51.9% of an epoch and the largest loss is {words}" in (
        answer.sentence
    )
    assert remedy in text_of(answer)
    assert "Against loading" not in text_of(answer)


def test_losses_whose_intervals_meet_are_not_ranked():
    assert "loading (19.7%), not told apart" in split("exposed", 0.198)["H4"].sentence


def test_a_loss_whose_interval_holds_zero_is_no_bottleneck():
    rows = lab()[0]["assignment_split"]
    wide = {"exposed_frac": 0.5, "exposed_frac_low": -0.1, "exposed_frac_high": 0.9}
    answer = edited_where("assignment_split", rows["workers"] == 4, **wide)["H4"]
    assert "exposed communication is not told from zero" in text_of(answer)
    assert "the largest loss is loading" in answer.sentence.split("at N = 4")[1]


# H5 -----------------------------------------------------------------------------------------


def test_rules_that_show_no_loss_and_rules_that_do_are_told_apart():
    assert (
        "the fixed rate (96.0%) and the fixed global batch (95.0%) show no loss; the linear rule "
        "(93.0%) and the square-root rule (94.5%) lose accuracy"
    ) in answers(*lab())["H5"].sentence


def test_a_linear_rule_that_keeps_the_accuracy_is_said_to():
    changed = accuracy(4, 0.95)["H5"]
    assert "the linear rule (95.0%), the fixed rate (96.0%)" in changed.sentence
    assert "the square-root rule (94.5%) loses accuracy" in changed.sentence


def test_only_rules_that_were_tried_are_explained():
    assert "fixed global batch is that of one worker" in text_of(answers(*lab())["H5"])
    rows = lab()[0][TRAININGS]
    kept = rows[rows["rule"] != "fixed_batch"]
    found = answers(lab()[0] | {TRAININGS: kept}, lab()[1])["H5"]
    assert "fixed global batch" not in text_of(found)


@pytest.mark.parametrize(("value", "word"), [(0.97, "higher than"), (0.90, "lower than")])
def test_other_rules_are_set_against_the_linear_one(value, word):
    text = text_of(accuracy(4, value, "sqrt")["H5"])
    assert f"the square-root rule gives {100 * value:.1f}%" in text
    assert f"{word} it" in text


def test_two_nodes_that_were_not_run_are_said_not_to_be_and_why():
    found = answers(*lab())
    for name in ("H5", "H6"):
        assert found[name].sentence.startswith("Two nodes were not run; ")
        assert "hardware.workers_per_node is null" in text_of(found[name])
        assert found[name].missing == []


def test_two_nodes_that_were_run_are_answered_from():
    found = of_factor(0.6, two_nodes=True)
    assert "were not run" not in text_of(found["H5"]) + text_of(found["H6"])
    assert "four workers on two nodes" in text_of(found["H6"]) or "two workers on two nodes" in (
        text_of(found["H6"])
    )


def test_a_training_on_two_nodes_without_devices_has_no_number():
    derived, tidy = lab(two_nodes=True)
    rows = derived[TRAININGS]
    gone = rows["nodes"] == 2
    changed = rows.assign(
        status=rows["status"].mask(gone, "unavailable"),
        test_accuracy_frac=rows["test_accuracy_frac"].mask(gone, float("nan")),
    )
    found = answers(derived | {TRAININGS: changed}, tidy)["H6"]
    assert found.sentence.startswith("No training on two nodes has a number; on one node")
    assert "the linear rule at N = 2 on two nodes (unavailable)" in text_of(found)


def test_a_rule_that_diverged_is_named_and_not_compared():
    chosen = of(4, "sqrt")
    changed = edited_where(
        TRAININGS, chosen, status="diverged", test_accuracy_frac=float("nan"),
        test_accuracy_frac_low=float("nan"), test_accuracy_frac_high=float("nan"),
    )["H5"]  # fmt: skip
    assert changed.missing == []
    assert "the square-root rule at N = 4 (diverged)" in text_of(changed)
    assert "square-root rule" not in changed.sentence


def test_without_a_number_of_one_worker_every_comparison_is_withheld():
    changed = edited_where(TRAININGS, of(1), status="diverged")
    assert changed["H3"].missing == [
        "assignment, one worker, the base of every comparison: diverged"
    ]


# H6 -----------------------------------------------------------------------------------------


def test_the_best_number_of_workers_turns_with_the_accuracies():
    assert "with one worker, higher than with 2 and 4" in answers(*lab())["H6"].sentence
    changed = accuracy(4, 0.99)["H6"]
    assert "the best test accuracy is 99.0%" in changed.sentence
    assert "with four workers, higher than with 1 and 2" in changed.sentence
    assert changed.values["best_test_accuracy_frac"].value == 0.99


def test_a_best_accuracy_that_seeds_do_not_tell_from_others_is_said_to_be_so():
    changed = accuracy(2, 0.9505, width=0.01)["H6"]
    assert "not told apart from that with 1" in changed.sentence
    assert "left to the noise of the seeds" in text_of(changed)


def test_a_published_run_with_the_steps_of_six_workers_is_named():
    assert "come from 6 workers" in text_of(answers(*lab())["H6"])
