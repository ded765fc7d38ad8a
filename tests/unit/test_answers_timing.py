"""Q1 and Q2: what the answers say follows the measured times, and turns round with them."""

import pandas as pd
import pytest

from answer_checks import answers, edited, lab, of_factor, text_of
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


# Q2 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("factor", "claim"),
    [
        (0.6, "two workers are faster than one (speed-up 1.67× at b = 32"),
        (1.0, "two workers are equal to one within the noise (speed-up 1.00× at b = 32"),
        (1.5, "two workers are slower than one (speed-up 0.667× at b = 32"),
    ],
)
def test_the_pace_of_two_workers_follows_the_measured_speedup(factor, claim):
    assert claim in of_factor(factor)["Q2"].sentence


def test_one_repeat_leaves_the_speedup_undecided():
    nan = float("nan")
    sentence = edited("scaling", speedup_ratio_low=nan, speedup_ratio_high=nan)["Q2"].sentence
    assert "not comparable with one for want of repeats" in sentence
    assert "faster" not in sentence


@pytest.mark.parametrize(
    ("strong", "claim", "verdict"),
    [
        (0.5, "gives worse numbers in all six cells compared", "worse"),
        (9.0, "gives better numbers in all six cells compared", "better"),
        (2.78, "numbers not distinguishable from these in three", "not distinguishable"),
    ],
)
def test_the_other_kind_is_judged_by_its_measured_speedup(strong, claim, verdict):
    scaling = lab()[0]["scaling"]
    is_strong = (scaling["kind"] == "strong") & (scaling["workers"] > 1)
    columns = {
        f"speedup_ratio{end}": scaling[f"speedup_ratio{end}"].mask(is_strong, strong)
        for end in ("", "_low", "_high")
    }
    answer = edited("scaling", **columns)["Q2"]
    assert claim in answer.sentence
    assert answer.tables[2].rows[5]["verdict"] == verdict


def test_without_strong_runs_the_other_kind_is_not_judged():
    derived, tidy = lab()
    weak = derived["scaling"][derived["scaling"]["kind"] == "weak"]
    assert (
        "strong scaling was not measured"
        in answers(derived | {"scaling": weak}, tidy)["Q2"].sentence
    )


def test_what_workers_save_and_add_is_given_beside_the_speedup():
    # T_1 = 5.125 s: half of it saved by two workers; T_2 = 1.5 T_1 adds T_1
    assert "2.56\u00a0s saved and 5.12\u00a0s added at N = 2, b = 32" in text_of(
        of_factor(1.5)["Q2"]
    )


def test_oversubscribed_cells_are_named_beside_the_speedup():
    assert "The runs with N = 4 had more workers than" in text_of(answers(*lab())["Q2"])
    assert "oversubscribed" not in text_of(edited("scaling", oversubscribed=False)["Q2"])


def test_one_timed_repeat_is_not_called_repeats_or_a_median():
    text = text_of(edited("sweep", repeats=1)["Q1"])
    assert "one epoch was timed at each size" in text
    assert "1 epochs" not in text
    assert "in one process, so the interval" not in text
    assert "A time is that of one timed repeat" in text_of(edited("scaling", repeats=1)["Q2"])


def test_each_size_in_one_process_is_said_of_the_interval():
    assert "Each size ran in one process, so the interval" in text_of(answers(*lab())["Q1"])


def test_cells_without_a_time_are_counted():
    scaling = lab()[0]["scaling"]
    four = scaling["workers"] == 4
    text = text_of(
        edited(
            "scaling",
            status=scaling["status"].mask(four, "out_of_memory"),
            speedup_ratio=scaling["speedup_ratio"].mask(four),
        )["Q2"]
    )
    assert "At N = 4 four cells have no time: their outcome is out of memory." in text


def test_the_nodes_are_a_column_where_workers_span_several():
    def keys(derived, tidy):
        return [column.key for column in answers(derived, tidy)["Q2"].tables[0].columns]

    derived, tidy = lab()
    assert "nodes" not in keys(derived, tidy)
    scaling = derived["scaling"]
    scaling.loc[scaling["workers"] == 4, "nodes"] = 2
    assert keys(derived | {"scaling": scaling}, tidy)[:2] == ["workers", "nodes"]
