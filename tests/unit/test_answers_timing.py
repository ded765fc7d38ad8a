"""Q1: what the answer says follows the measured times, and turns round with them."""

import pandas as pd

from answer_checks import answers, edited, lab, text_of
from dpscale.reporting.answer import Answer


def with_epoch_times(*epoch_s: float, width: float = 0.01) -> Answer:
    """Q1 of a sweep whose complete batches take these seconds, each within a share of width."""
    derived, tidy = lab()
    sweep = derived["sweep"].iloc[: len(epoch_s)].copy()
    sweep["epoch_s"] = epoch_s
    sweep["epoch_s_low"] = [seconds * (1 - width) for seconds in epoch_s]
    sweep["epoch_s_high"] = [seconds * (1 + width) for seconds in epoch_s]
    sweep["samples_per_s"] = [10_000 / seconds for seconds in epoch_s]
    return answers(derived | {"sweep": sweep}, tidy)["Q1"]


# Q1 -----------------------------------------------------------------------------------------


def test_a_time_that_falls_over_the_whole_sweep_is_said_to_fall():
    answer = with_epoch_times(9.0, 4.0, 2.0)
    assert answer.sentence.startswith("The time of an epoch falls over the whole sweep")
    assert "ends before the device is saturated" in text_of(answer)


def test_a_time_whose_last_batches_are_alike_is_said_to_be_flat():
    answer = with_epoch_times(9.0, 2.01, 2.0)
    assert "is flat, within the intervals, from b = 128 on" in answer.sentence
    assert "no further gain or loss shows above the noise" in text_of(answer)


def test_a_time_that_rises_after_its_minimum_is_said_to_rise():
    answer = with_epoch_times(9.0, 2.0, 3.0)
    assert "at b = 128 and then rises to 3.00" in answer.sentence
    assert "Throughput peaks at b = 128 with 5\u202f000\u00a0samples/s" in text_of(answer)


def test_times_within_each_others_intervals_are_not_called_different():
    answer = with_epoch_times(2.02, 2.01, 2.0)
    assert "does not change measurably" in answer.sentence
    assert "falls" not in answer.sentence


def test_a_time_that_only_rises_is_said_to_rise_from_the_smallest_batch():
    assert with_epoch_times(2.0, 3.0, 4.0).sentence.startswith(
        "The time of an epoch rises with the batch size"
    )


def test_one_batch_size_alone_shows_no_dependence():
    assert "Only one batch size has a time" in with_epoch_times(2.0).sentence


def test_the_fall_is_explained_by_iterations_and_updates_per_epoch():
    text = text_of(answers(*lab())["Q1"])
    assert "An epoch makes 312 iterations at b = 32 and 19 at b = 512" in text
    assert "all updates of an epoch take 256\u00a0ms at b = 32 and 110\u00a0ms at b = 512" in text


def test_memory_as_the_limit_is_named_with_its_confirmations():
    answer = answers(*lab())["Q1"]
    assert "fits in memory is b = 1280 (b = 1281 does not)" in answer.sentence
    assert "b = 1281 ran out of memory in two fresh processes" in text_of(answer)
    assert answer.values["largest_fit_batch"].value == 1280


def test_the_dataset_as_the_limit_is_not_called_memory():
    answer = edited("boundary", limit="dataset", smallest_failed_batch=pd.NA)["Q1"]
    assert "the number of training images, not memory, ends the sweep" in answer.sentence
    assert "bisected" not in text_of(answer)


def test_unmeasured_utilisation_is_said_to_be_unmeasured():
    answer = edited("sweep", utilisation_frac=float("nan"))["Q1"]
    assert "Device utilisation was not measured" in text_of(answer)


def test_one_timed_repeat_is_not_called_repeats_or_a_median():
    text = text_of(edited("sweep", repeats=1)["Q1"])
    assert "one epoch was timed at each size" in text
    assert "1 epochs" not in text
    assert "in one process, so the interval" not in text


def test_each_size_in_one_process_is_said_of_the_interval():
    assert "Each size ran in one process, so the interval" in text_of(answers(*lab())["Q1"])
