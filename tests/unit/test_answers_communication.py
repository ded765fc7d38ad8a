"""Q3.1: what the answer says follows the subtraction and the arms, and turns round with them."""

import pytest

from answer_checks import (
    answers,
    around,
    edited,
    edited_where,
    lab,
    of_factor,
    table_of,
    text_of,
)

PARTS = ("exposed_s", "overhead_s", "contention_s", "straggler_s")


@pytest.mark.parametrize(
    ("factor", "claim"),
    [
        (0.6, "two workers are faster than one at b = 32, 128 and 512"),
        (1.0, "two workers are equal to one within the noise at b = 32, 128 and 512"),
        (1.5, "two workers are slower than one at b = 32, 128 and 512"),
    ],
)
def test_the_pace_without_loading_follows_the_measured_times(factor, claim):
    assert claim in of_factor(factor)["Q3.1"].sentence


def test_communication_above_noise_has_seconds_and_a_share():
    # T_2 = 0.6 T_1: 0.1 T_1 of communication, a sixth of T_2; T_1 = 5.125 s at b = 32
    answer = of_factor(0.6)["Q3.1"]
    assert "512\u00a0ms (16.7% of the epoch) at b = 32" in answer.sentence
    assert answer.values["subtraction_s_n2_b32"].value == pytest.approx(0.5125)


def test_communication_whose_interval_covers_zero_is_below_noise():
    answer = of_factor(0.5, noise=0.05, direct=False)["Q3.1"]
    assert "a time below the noise at b = 32, 128 and 512" in answer.sentence
    assert "% of the epoch" not in answer.sentence


def test_a_negative_subtraction_is_not_called_a_time():
    answer = of_factor(0.4, direct=False)["Q3.1"]
    assert "the subtraction gives −513\u00a0ms at b = 32" in answer.sentence
    assert "which are not times" in answer.sentence
    assert "subtraction_share_n2_b32" not in answer.values


def test_without_the_arms_the_direct_quantities_are_said_to_be_unmeasured():
    answer = of_factor(0.6, direct=False)["Q3.1"]
    assert "and the all-reduce alone) are not measured" in text_of(answer)
    assert "measured directly" not in answer.sentence
    assert (answer.missing, answer.figures, len(answer.tables)) == ([], ["communication"], 1)


def test_contention_is_left_undecided_by_two_times():
    assert "is not decidable from these two times" in text_of(of_factor(0.6, direct=False)["Q3.1"])
    assert "is not decidable" not in text_of(answers(*lab())["Q3.1"])


@pytest.mark.parametrize(
    ("seconds", "width", "claim"),
    [
        (0.5, 0.6, "at N = 4, b = 512: the intervals overlap, so this is noise of the repeats"),
        (0.5, 0.1, "the two epochs ran under different conditions"),
        (0.5, float("nan"), "without intervals it is open whether this is noise"),
    ],
)
def test_an_epoch_that_loading_makes_shorter_is_named(seconds, width, claim):
    weak = lab()[0]["scaling"]["kind"] == "weak"
    ends = {"epoch_s_low": seconds - width, "epoch_s_high": seconds + width}
    text = text_of(edited_where("scaling", weak, epoch_s=seconds, **ends)["Q3.1"])
    assert "the epoch with loading (Q2) came out shorter than the one without" in text
    assert claim in text
    assert "came out shorter" not in text_of(answers(*lab())["Q3.1"])


# Measured arm by arm ------------------------------------------------------------------------


def test_four_estimates_and_the_split_stand_in_tables_of_every_cell():
    answer = answers(*lab())["Q3.1"]
    estimates, split = (table_of(answer, words) for words in ("four estimates", "Where an epoch"))
    assert [column.key for column in estimates.columns[3:]] == [
        "subtraction_s", "exposed_s", "span_s", "buckets_s"]  # fmt: skip
    assert [len(table.rows) for table in (estimates, split)] == [6, 6]
    assert all(estimates.runs)
    assert answer.figures == ["communication", "step_split"]


def test_the_exposed_share_stands_in_the_sentence():
    # at N = 2: 0.7 of 0.1 T_1 in 0.6 T_1; at N = 4: 0.7 of 0.11 T_1 in 0.36 T_1
    sentence = answers(*lab())["Q3.1"].sentence
    assert "waits for communication for 11.7% of the epoch at b = 32, 128 and 512 with" in sentence
    assert "for 21.4% of the epoch at b = 32, 128 and 512 with four workers" in sentence


@pytest.mark.parametrize(
    ("low", "high", "claim", "status"),
    [
        (-0.1, 0.2, "for a time below the noise at b = 32, 128 and 512", "below the noise"),
        (-0.3, -0.1, "for a time that comes out negative at b = 32, 128 and 512", "negative"),
        (None, None, "too few repeats leave undecided", "not told from zero for want of repeats"),
    ],
)
def test_exposed_time_that_is_not_above_zero_claims_no_share(low, high, claim, status):
    answer = edited("communication", exposed_s=0.05, exposed_s_low=low, exposed_s_high=high)["Q3.1"]
    assert claim in answer.sentence.split("measured directly")[1]
    assert "%" not in answer.sentence.split("measured directly")[1]
    cell = table_of(answer, "shares of the epoch").rows[0]["exposed_s"]
    assert (cell.value, cell.status) == (None, status)


@pytest.mark.parametrize(
    ("subtraction_s", "exposed_s", "claim"),
    [
        (3.0, 1.0, "The subtraction is longer than the exposed time in all six cells, by a factor "
         "of 3.00: it also holds overhead and contention"),
        (1.0, 2.0, "The subtraction is shorter than the exposed time in all six cells, by a "
         "factor of 2.00: overhead and contention, measured beside it, come out below zero"),
        (1.0, 1.0, "The subtraction agrees within the intervals with the exposed time in all six "
         "cells."),
    ],
)  # fmt: skip
def test_subtraction_and_exposed_time_agree_or_not_by_their_intervals(
    subtraction_s, exposed_s, claim
):
    changes = around("subtraction_s", subtraction_s) | around("exposed_s", exposed_s)
    assert claim in text_of(edited("communication", **changes)["Q3.1"])


def test_a_factor_is_not_given_where_one_of_the_two_is_below_noise():
    columns = around("subtraction_s", 3.0) | {
        "exposed_s": 0.1, "exposed_s_low": -0.1, "exposed_s_high": 0.2}  # fmt: skip
    text = text_of(edited("communication", **columns)["Q3.1"])
    assert "The subtraction is longer than the exposed time in all six cells: it also" in text


@pytest.mark.parametrize(
    ("exposed_s", "claim"),
    [
        (1.0, "longer than the all-reduce alone in all six cells, by a factor of 2.00: beside the"),
        (0.1, "shorter than the all-reduce alone in all six cells, by a factor of 5.00: part of"),
        (0.5, "The exposed time agrees within the intervals with the all-reduce alone in all"),
    ],
)
def test_exposed_time_against_the_all_reduce_alone_turns_round(exposed_s, claim):
    changes = around("exposed_s", exposed_s) | around("buckets_s", 0.5)
    assert claim in text_of(edited("communication", **changes)["Q3.1"])


@pytest.mark.parametrize(
    ("span_s", "claim"),
    [
        (0.7, "The span is longer than the all-reduce alone in all six cells"),
        (0.3, "The span is shorter than the all-reduce alone in all six cells"),
        (0.5, "The span agrees within the intervals with the all-reduce alone"),
    ],
)
def test_the_span_against_the_all_reduce_alone_turns_round(span_s, claim):
    changes = around("span_s", span_s) | around("buckets_s", 0.5)
    assert claim in text_of(edited("communication", **changes)["Q3.1"])


def test_the_parts_of_the_largest_cell_add_up_in_words():
    # at N = 4, b = 512 the subtraction is 241 ms: 0.7, 0.1 and 0.2 of it
    assert (
        "at N = 4, b = 512, 169\u00a0ms exposed, 24.1\u00a0ms of overhead and 48.3\u00a0ms of "
        "contention make 241\u00a0ms"
    ) in text_of(answers(*lab())["Q3.1"])


def test_stragglers_are_named_only_where_their_interval_is_above_zero():
    text = text_of(answers(*lab())["Q3.1"])
    assert "(stragglers): the slowest of the copies less their mean, 0.433% to 1.13%" in text
    even = edited("communication", straggler_s_low=-0.1, straggler_s_high=0.1)["Q3.1"]
    assert "stragglers" not in text_of(even)


@pytest.mark.parametrize(
    ("contention_s", "claim"),
    [(9.0, "contention is longer than the exposed time in all three cells"),
     (0.01, "contention is shorter than the exposed time in all three cells"),
     (0.4, "contention is not told from the exposed time in all three cells")],
)  # fmt: skip
def test_contention_of_shared_cores_is_weighed_against_exposed_time(contention_s, claim):
    changes = around("contention_s", contention_s) | around("exposed_s", 0.4)
    text = text_of(edited("communication", **changes)["Q3.1"])
    assert "At N = 4 the workers share cores or devices (oversubscribed)" in text
    assert claim in text


@pytest.mark.parametrize(
    ("low", "high", "claim"),
    [
        (0.02, 0.04, "it lengthens the epoch, by 3.00% at b = 32, 128 and 512"),
        (-0.1, 0.1, "it costs nothing that shows above the noise at b = 32, 128 and 512"),
        (None, None, "it has too few repeats to be judged at b = 32, 128 and 512"),
    ],
)
def test_what_ddp_costs_one_worker_follows_the_interval(low, high, claim):
    text = text_of(edited("ddp_at_one", overhead_frac_low=low, overhead_frac_high=high)["Q3.1"])
    assert claim in text


def test_ddp_at_one_worker_is_left_out_where_it_was_not_measured():
    text = text_of(edited("ddp_at_one", overhead_frac=float("nan"))["Q3.1"])
    assert "nobody to talk to" not in text


@pytest.mark.parametrize(
    ("measured_s", "claim"),
    [
        (1.05, "within 15% of the measured step in all three cells. The farthest is 4.76% below"),
        (0.5, "off by more than 15% in all three cells. The farthest is 100% above"),
        (1.176, "not decided to be within 15% or not in all three cells"),
    ],
)
def test_a_prediction_is_scored_by_the_whole_interval_of_the_step(measured_s, claim):
    columns = around("measured_step_s", measured_s)
    error = {"predicted_step_s": 1.0, "error_frac": 1 / measured_s - 1}
    answer = edited("prediction", **columns, **error)["Q3.1"]
    assert claim in text_of(answer)
    assert len(table_of(answer, "than the fit has seen").rows) == 3


def test_without_a_prediction_the_reason_stands_in_its_place():
    nothing = {"error_frac": float("nan"), "predicted_step_s": float("nan")}
    answer = edited("prediction", note="the link has no fit at N = 2", **nothing)["Q3.1"]
    text = text_of(answer)
    assert "Larger numbers of workers are not predicted: the link has no fit at N = 2." in text
    assert "within 15%" not in text
