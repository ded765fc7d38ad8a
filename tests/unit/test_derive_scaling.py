"""Speed-up and efficiency, weak and strong."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from builders import derived_lab, empty_lab, full_lab, timed_cells
from dpscale.derive.statistics import verdict
from dpscale.studies import derived_of
from dpscale.studies.scaling.derive.speedup import scaling, speedup_lesson


def row(frame: pd.DataFrame, kind: str, workers: int, batch: int) -> pd.Series:
    found = frame[
        (frame["kind"] == kind)
        & (frame["workers"] == workers)
        & (frame["per_worker_batch"] == batch)
    ]
    assert len(found) == 1
    return found.iloc[0]


def test_speedup_is_base_over_time_and_efficiency_that_over_workers():
    epoch_times, runs = timed_cells({(1, 32): [9.9, 10.0, 10.1], (2, 32): [6.2, 6.25, 6.3]})
    two = row(scaling(epoch_times, runs), "weak", 2, 32)
    assert two["epoch_s"] == pytest.approx(6.25)
    assert two["speedup_ratio"] == pytest.approx(1.6)
    assert two["efficiency_frac"] == pytest.approx(0.8)


def test_interval_of_the_speedup_is_that_of_independent_samples():
    up, down = math.exp(0.1), math.exp(-0.1)
    times = {(1, 32): [10 * down, 10.0, 10 * up], (2, 32): [5 * down, 5.0, 5 * up]}
    two = row(scaling(*timed_cells(times)), "weak", 2, 32)
    # Logarithms ln 2 apart, variances 0.01 of 3 values each: error sqrt(0.02/3) = 0.08165, with 4
    # degrees of freedom t = 2.7764: 0.22670.
    assert two["speedup_ratio_low"] == pytest.approx(2 * math.exp(-0.22670), rel=1e-4)
    assert two["speedup_ratio_high"] == pytest.approx(2 * math.exp(0.22670), rel=1e-4)


def launched(seconds: dict[int, Sequence[float]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Epoch times and runs of b = 32: a launch for each of the seconds of so many workers."""
    made = []
    for workers, each in seconds.items():
        for number, epoch_s in enumerate(each, 1):
            times, runs = timed_cells({(workers, 32): [epoch_s]})
            end = "" if number == 1 else f"-launch{number}"
            made.append([table.assign(run=table["run"] + end) for table in (times, runs)])
    times, runs = (pd.concat(tables) for tables in zip(*made, strict=True))
    return times, runs


def test_a_speedup_is_of_launches_made_one_soon_after_the_other():
    # The pace doubles after two launches; one worker was launched once more.
    seconds = {1: [8.0, 8.4, 4.0, 4.2, 1.0], 2: [5.0, 5.0, 2.5, 2.5]}
    two = row(scaling(*launched(seconds)), "weak", 2, 32)
    assert two["base_epoch_s"] == pytest.approx(6.1)  # of the four launches that both have
    assert two["speedup_ratio"] == pytest.approx(math.sqrt(1.6 * 1.68))
    # Logarithms of 1.6 and 1.68, each twice: mean 0.49440, deviation 0.028168, times 3.1824 / 2.
    assert two["speedup_ratio_low"] == pytest.approx(math.exp(0.49440 - 0.04482), rel=1e-4)
    assert two["base_runs"].split() == ["n1-b32", *(f"n1-b32-launch{n}" for n in (2, 3, 4))]


def test_more_workers_are_set_beside_the_fewest_launch_by_launch():
    # The pace doubles after two launches; four take 5% and 10% longer than two, and one worker
    # scatters by a half, which two quotients over it would carry and theirs does not.
    seconds = {1: [8.0, 4.0, 6.0, 2.0], 2: [4.0, 4.0, 2.0, 2.0], 4: [4.2, 4.4, 2.1, 2.2]}
    found = scaling(*launched(seconds))
    four = row(found, "weak", 4, 32)
    assert four["over_fewest_ratio"] == pytest.approx(1 / math.sqrt(1.05 * 1.1))
    assert four["over_fewest_ratio_high"] < 1
    assert four["beside_fewest"] == "below"
    assert four["speedup_ratio_high"] > row(found, "weak", 2, 32)["speedup_ratio_low"]
    assert found.loc[found["workers"] <= 2, "over_fewest_ratio"].isna().all()
    lessons = speedup_lesson(found, launched(seconds)[1]).set_index("workers")
    assert lessons.loc[4, ["to_fewest", "fewest_everywhere"]].tolist() == ["below", True]


def test_launches_that_one_worker_lacks_do_not_count_for_several():
    seconds = {1: [8.0, 8.4, 4.0, 4.2], 2: [5.0, 5.0, 2.5, 2.5, 100.0, 100.0]}
    two = row(scaling(*launched(seconds)), "weak", 2, 32)
    assert (two["epoch_s"], two["launches"]) == (pytest.approx(3.75), 4)
    assert two["speedup_ratio"] == pytest.approx(math.sqrt(1.6 * 1.68))


def test_a_launch_counts_once_and_the_interval_is_over_launches():
    times, runs = timed_cells({(1, 32): [10.0, 12.0, 11.0]})  # a launch: 11 s, the median
    others = [times.assign(run=f"launch{n}", epoch_s=[n, n, n]) for n in (13.0, 12.0)]
    every = pd.concat([runs, *(runs.assign(run=f"launch{n}") for n in (13.0, 12.0))])
    one = row(scaling(pd.concat([times, *others]), every), "weak", 1, 32)
    assert (one["epoch_s"], one["repeats"], one["launches"]) == (12.0, 3, 3)
    # Logarithms of 11, 12 and 13: mean 2.48258, deviation 0.08355, times 4.3027 / sqrt(3).
    assert one["epoch_s_low"] == pytest.approx(math.exp(2.48258 - 2.4842 * 0.08355), rel=1e-4)
    assert one["launch_spread_frac"] == pytest.approx(2 / 12)
    assert one["runs"] == "n1-b32 launch13.0 launch12.0"


def test_of_a_single_launch_the_spread_between_launches_is_unknown():
    one = row(scaling(*timed_cells({(1, 32): [10.0, 12.0]})), "weak", 1, 32)
    assert (one["launches"], one["repeats"]) == (1, 2)
    assert pd.isna(one["launch_spread_frac"])


def test_one_worker_against_itself_is_exactly_one():
    epoch_times, runs = timed_cells({(1, 32): [9.0, 10.0, 11.0]})
    one = row(scaling(epoch_times, runs), "weak", 1, 32)
    columns = ["speedup_ratio", "speedup_ratio_low", "speedup_ratio_high", "efficiency_frac"]
    assert list(one[columns]) == [1.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(("factor", "word"), [(2.0, "below"), (1.0, "indistinct"), (0.6, "above")])
def test_two_workers_that_are_slower_equal_or_faster_are_told_apart(factor, word):
    two = row(derived_lab(two_worker_factor=factor)["scaling"], "weak", 2, 128)
    assert verdict(two["speedup_ratio_low"], two["speedup_ratio_high"], 1.0) == word
    assert two["speedup_ratio"] == pytest.approx(1 / factor)


def test_workers_as_fast_as_one_are_told_apart_in_at_most_5_of_100_cells():
    rng, cells = np.random.default_rng(1), 400
    seconds = {(n, b): rng.lognormal(0, 0.05, 5) for n in (1, 3) for b in range(1, cells + 1)}
    found = scaling(*timed_cells(seconds)).query("kind == 'weak' and workers == 3")
    apart = (found["speedup_ratio_low"] > 1) | (found["speedup_ratio_high"] < 1)
    assert len(found) == cells
    assert apart.mean() <= 0.05


def test_strong_scaling_compares_with_one_worker_on_the_whole_global_batch():
    times = {(1, 32): [12.0], (1, 64): [10.0], (2, 32): [8.0]}
    strong = row(scaling(*timed_cells(times)), "strong", 2, 32)
    assert (strong["global_batch"], strong["speedup_ratio"]) == (64, pytest.approx(1.25))
    weak = row(scaling(*timed_cells(times)), "weak", 2, 32)
    assert (weak["speedup_ratio"], weak["base_runs"]) == (pytest.approx(1.5), "n1-b32")


def test_strong_series_hold_the_global_batch_and_include_one_worker():
    strong = derived_lab()["scaling"].query("kind == 'strong'")
    cells = list(
        zip(strong["global_batch"], strong["workers"], strong["per_worker_batch"], strict=True)
    )
    assert cells == [
        (32, 1, 32),
        (32, 2, 16),
        (32, 4, 8),
        (128, 1, 128),
        (128, 2, 64),
        (128, 4, 32),
        (512, 1, 512),
        (512, 2, 256),
        (512, 4, 128),
    ]


def test_weak_rows_are_every_worker_count_at_every_batch_of_one_worker():
    weak = derived_lab()["scaling"].query("kind == 'weak'")
    cells = list(zip(weak["workers"], weak["per_worker_batch"], strict=True))
    assert cells == [(n, b) for n in (1, 2, 4) for b in (32, 128, 512)]


@pytest.mark.parametrize("status", ["not run yet", "out_of_memory", "unavailable", "failed"])
def test_a_cell_that_did_not_run_is_a_row_with_its_status_and_nulls(status):
    epoch_times, runs = timed_cells({(1, 32): [10.0, 10.0], (4, 32): []}, status={(4, 32): status})
    four = row(scaling(epoch_times, runs), "weak", 4, 32)
    assert (four["status"], four["repeats"]) == (status, 0)
    assert four[["epoch_s", "speedup_ratio", "speedup_ratio_low", "efficiency_frac"]].isna().all()


def test_without_its_base_a_cell_has_a_time_and_no_speedup():
    epoch_times, runs = timed_cells(
        {(1, 32): [], (2, 32): [5.0, 5.0]}, status={(1, 32): "not run yet"}
    )
    two = row(scaling(epoch_times, runs), "weak", 2, 32)
    assert (two["epoch_s"], two["base_status"]) == (pytest.approx(5.0), "not run yet")
    assert two[["speedup_ratio", "speedup_ratio_low", "efficiency_frac"]].isna().all()


def test_a_cell_whose_base_was_never_planned_is_still_a_row():
    two = row(scaling(*timed_cells({(2, 32): [5.0]})), "weak", 2, 32)
    assert pd.isna(two["base_status"])
    assert pd.isna(two["speedup_ratio"])


def test_one_repeat_gives_a_speedup_without_an_interval():
    two = row(scaling(*timed_cells({(1, 32): [10.0], (2, 32): [5.0]})), "weak", 2, 32)
    assert two["speedup_ratio"] == pytest.approx(2.0)
    assert two[["epoch_s_low", "speedup_ratio_low", "speedup_ratio_high"]].isna().all()


def test_oversubscription_is_null_where_it_is_unknown():
    known = row(derived_lab(not_run=["scaling-n2-b32"])["scaling"], "weak", 4, 32)
    unknown = row(derived_lab(not_run=["scaling-n2-b32"])["scaling"], "weak", 2, 32)
    assert known["oversubscribed"] == 1
    assert pd.isna(unknown["oversubscribed"])


def test_runs_on_other_numbers_of_nodes_are_rows_of_their_own_with_the_same_base():
    lab = full_lab()
    runs = lab["runs"]
    moved = runs["run"] == "scaling-n2-b128"
    twice = runs[moved].assign(run="scaling-n2-b128-nodes2", nodes=2)
    steps = lab["steps"][lab["steps"]["run"] == "scaling-n2-b128"]
    lab["runs"] = pd.concat([runs, twice], ignore_index=True)
    lab["steps"] = pd.concat([lab["steps"], steps.assign(run="scaling-n2-b128-nodes2")])
    frame = derived_of(lab)["scaling"]
    pair = frame.query("kind == 'weak' and workers == 2 and per_worker_batch == 128")
    assert list(pair["nodes"]) == [1, 2]
    assert list(pair["base_runs"]) == ["scaling-n1-b128"] * 2


def test_the_epoch_is_the_one_with_loading():
    # one worker, b = 128: (10000/128*0.010 + 10000*0.0002) * 1.25 = 3.4765625
    assert row(derived_lab()["scaling"], "weak", 1, 128)["epoch_s"] == pytest.approx(3.4765625)


def test_no_scaling_runs_give_an_empty_table_with_its_columns():
    lab = derived_of(empty_lab())["scaling"]
    assert lab.empty
    assert {"kind", "speedup_ratio_high", "oversubscribed"} <= set(lab.columns)


def lesson_of(cells: dict[int, tuple[float, float, float]], runs: pd.DataFrame) -> str:
    """The lesson of two workers, of the speed-up and its interval at each b, 11 launches each."""
    rows = [
        {
            "kind": "weak",
            "workers": 2,
            "per_worker_batch": batch,
            "speedup_ratio": ratio,
            "speedup_ratio_low": low,
            "speedup_ratio_high": high,
            "pace": verdict(low, high, 1.0),
            "to_least_batch": "indistinct",
            "beside_fewest": "unknown",
            **dict.fromkeys(f"over_fewest_ratio{end}" for end in ("", "_low", "_high")),
            "oversubscribed": False,
            "repeats": 11,
            "runs": "one",
            "base_runs": "two",
        }
        for batch, (ratio, low, high) in cells.items()
    ]
    return str(speedup_lesson(pd.DataFrame(rows), runs)["lesson"][0])


def test_any_batch_carries_the_lesson_of_its_number_of_workers():
    _, runs = timed_cells({(1, 32): [1.0, 1.0]})
    wide, narrow, none = (1.5, 1.01, 2.2), (1.3, 1.25, 1.35), (1.0, 0.9, 1.1)
    assert lesson_of({32: wide, 64: narrow, 128: none}, runs) == "above"
    assert lesson_of({32: wide, 64: none, 128: none}, runs) == "indistinct"
    assert lesson_of({32: (0.8, 0.7, 0.9), 64: (0.9, 0.81, 0.99)}, runs) == "below"
    assert lesson_of({32: (0.8, 0.7, 0.9), 64: none}, runs) == "indistinct"


def test_looks_are_not_widened_as_if_they_were_of_less_confidence():
    """1.15 to its lower end by 1.29 times its logarithm is below 1, by 1.24 times above."""
    _, runs = timed_cells({(1, 32): [1.0, 1.0]})
    ratio = 1.15
    cells = {32: (ratio, ratio ** (1 - 1 / 1.26), 2.0), 64: (1.0, 0.9, 1.1), 128: (1.0, 0.9, 1.1)}
    assert lesson_of(cells, runs) == "indistinct"
    assert lesson_of(cells, runs.assign(study="scaling_looks")) == "above"
