"""Epoch times from steps, and where the seconds of an epoch go."""

import pandas as pd
import pytest

from builders import derived_lab, full_lab, run_row, step_rows, steps_table, table
from dpscale.derive.epoch_times import epoch_times
from dpscale.studies.scaling.derive.arms import phases, waiting_phases


def step(rank: int, number: int, samples: int, step_s: float, **parts: float) -> dict:
    return {
        "run": "r",
        "seed": 0,
        "arm": "with_loading",
        "repeat": 0,
        "epoch": 1,
        "step": number,
        "rank": rank,
        "samples": samples,
        "step_s": step_s,
        "load_s": 0.0,
        "copy_s": 0.0,
        "forward_s": 0.0,
        "backward_s": 0.0,
        "update_s": 0.0,
    } | parts


def runs_of(**given):
    """Return `runs` of the one run r: two workers, b = 10, D = 100."""
    shape = {"workers": 2, "per_worker_batch": 10, "train_samples": 100}
    return table("runs", [run_row("r", **(shape | given))])


def test_a_repeat_takes_the_longest_sum_of_a_ranks_steps():
    steps = steps_table(
        [step(0, 0, 10, 1.0), step(1, 0, 10, 1.5), step(0, 1, 10, 2.0), step(1, 1, 10, 1.0)]
    )
    # Rank 0: 1.0 + 2.0 s, rank 1: 1.5 + 1.0 s, for 40 of 100 samples. The sum of the slowest of
    # each step, 1.5 + 2.0 s, is no time that passed.
    found = epoch_times(steps, runs_of())
    assert list(found["epoch_s"]) == [pytest.approx(7.5)]
    assert list(found["rank_mean_epoch_s"]) == [pytest.approx(6.875)]


def test_partial_batches_are_left_out_of_time_and_samples():
    steps = steps_table(
        [step(0, 0, 10, 1.0), step(1, 0, 10, 1.0), step(0, 1, 3, 5.0), step(1, 1, 2, 5.0)]
    )
    assert list(epoch_times(steps, runs_of())["epoch_s"]) == [pytest.approx(5.0)]


def test_a_step_that_lacks_a_rank_is_not_a_full_batch():
    steps = steps_table([step(0, 0, 10, 1.0), step(1, 0, 10, 1.0), step(0, 1, 10, 9.0)])
    assert list(epoch_times(steps, runs_of())["epoch_s"]) == [pytest.approx(5.0)]


def test_rounding_of_iterations_does_not_show_between_worker_counts():
    # Batches of 2*30 leave 40 of 100 samples over; one step of 0.6 s is still 1.0 s an epoch.
    steps = steps_table([step(0, 0, 30, 0.6), step(1, 0, 30, 0.6)])
    runs = runs_of(per_worker_batch=30)
    assert list(epoch_times(steps, runs)["epoch_s"]) == [pytest.approx(1.0)]


def test_every_repeat_of_every_arm_is_a_row():
    run = run_row("r")
    steps = [
        row
        for arm in ("with_loading", "without_loading")
        for row in step_rows(run, epoch_s=[4.0, 5.0], arm=arm)
    ]
    made = epoch_times(steps_table(steps), table("runs", [run]))
    rows = list(zip(made["arm"], made["repeat"], made["epoch_s"], strict=True))
    assert rows == [
        ("with_loading", 0, pytest.approx(4.0)),
        ("with_loading", 1, pytest.approx(5.0)),
        ("without_loading", 0, pytest.approx(4.0)),
        ("without_loading", 1, pytest.approx(5.0)),
    ]


def test_a_run_with_an_arm_of_its_own_keeps_it():
    run = run_row("r", study="data_parallel", arm="distributed")
    made = epoch_times(steps_table(step_rows(run, epoch_s=[4.0])), table("runs", [run]))
    assert list(made["arm"]) == ["distributed"]


def test_training_runs_have_no_timed_epoch():
    assert set(derived_lab(direct=False)["epoch_times"]["study"]) == {
        "sweep",
        "scaling",
        "scaling_least",
        "assignment_split",
        "assignment_doubled",
        "strategies",
    }


def test_steps_of_a_run_that_is_not_complete_are_not_used():
    steps = steps_table([step(0, 0, 10, 1.0), step(1, 0, 10, 1.0)])
    assert epoch_times(steps, runs_of(status="out_of_memory")).empty


def phase_seconds(steps, runs) -> dict[str, float]:
    """Return seconds by phase of a table of one run and arm."""
    made = phases(steps, runs)
    return dict(zip(made["phase"], made["epoch_s"], strict=True))


def test_phases_are_means_over_ranks_scaled_to_the_epoch():
    steps = steps_table(
        [
            step(
                0, 0, 10, 2.0, load_s=0.4, copy_s=0.1, forward_s=0.5, backward_s=0.6, update_s=0.2
            ),
            step(
                1, 0, 10, 2.0, load_s=0.2, copy_s=0.3, forward_s=0.5, backward_s=0.8, update_s=0.2
            ),
        ]
    )
    # 20 of 100 samples: means times 5
    assert phase_seconds(steps, runs_of()) == pytest.approx(
        {"load": 1.5, "copy": 1.0, "forward": 2.5, "backward": 3.5, "update": 1.0, "other": 0.5}
    )


def test_phases_are_medians_over_repeats():
    run = run_row("r")
    steps = steps_table(step_rows(run, epoch_s=[10.0, 30.0, 11.0]))
    made = phase_seconds(steps, table("runs", [run]))
    assert made["backward"] == pytest.approx(0.55 * 11.0)


def test_shares_of_the_phases_add_up_to_one():
    made = derived_lab(direct=False)["phases"].dropna(subset="phase")
    made = made[~made["run"].str.startswith(("assignment", "strategies"))]
    totals = made.groupby(["run", "arm"])["share_frac"].sum()
    assert len(totals) == 3 + 2 * 15 + 10  # sweep, both arms of scaling, training
    assert list(totals) == pytest.approx([1.0] * len(totals))


def test_loading_is_a_phase_of_the_arm_with_loading_only():
    made = derived_lab(direct=False)["phases"].query("run == 'scaling-n1-b32' and phase == 'load'")
    shares = dict(zip(made["arm"], made["share_frac"], strict=True))
    assert shares == {"without_loading": 0.0, "with_loading": pytest.approx(0.2)}


def test_a_training_run_has_phases_under_its_own_arm():
    made = derived_lab(direct=False)["phases"].query("run == 'large_batch-small'")
    assert set(made["arm"]) == {"small"}
    assert len(made) == 6


def test_runs_of_a_whole_lab_all_appear_in_phases():
    runs = full_lab()["runs"]
    made = derived_lab()["phases"]
    timed = runs[runs["kind"].isin(["timed", "training"]) & (runs["study"] != "boundary")]
    assert set(timed["run"]) == set(made["run"])


def waits(forward_s: dict[str, tuple[float, ...]]) -> dict[str, float]:
    """Return the row of `waiting_phases` of a cell of two workers, of seconds by arm and launch."""
    names = ["scaling-n2-b32", "scaling-n2-b32-launch2", "scaling-n2-b32-launch3"]
    runs = table("runs", [run_row(name, workers=2, buffer_bytes=72) for name in names])
    rows = [
        {"run": name, "study": "scaling", "arm": arm, "workers": 2, "nodes": 1}
        | {"per_worker_batch": 32, "phase": phase, "epoch_s": seconds + add}
        for arm, launches in forward_s.items()
        for name, seconds in zip(names, launches, strict=False)
        for phase, add in (("forward", 0.0), ("backward", 1.0), ("update", 5.0))
    ]
    (row,) = waiting_phases(pd.DataFrame(rows), runs).to_dict("records")
    return row


def test_what_passes_wait_is_paired_by_launch() -> None:
    row = waits({"without_loading": (3.0, 5.0, 4.1), "noop_hook": (1.0, 3.0, 2.0)})
    # 4.1 - 2.0 of the medians; differences are 2.0, 2.0 and 2.1
    assert row["forward_wait_s"] == pytest.approx(2.1)
    assert row["backward_wait_s"] == pytest.approx(2.1)
    assert 1.8 < row["forward_wait_s_low"] < 2.0 < row["forward_wait_s_high"] < 2.3
    assert (row["forward_wait_side"], row["buffer_bytes"]) == ("above", 72)


def test_passes_that_wait_as_long_without_sending_are_indistinct() -> None:
    row = waits({"without_loading": (3.0, 5.0, 4.1), "noop_hook": (3.1, 4.9, 4.0)})
    assert row["forward_wait_side"] == "indistinct"


def test_what_passes_wait_is_unknown_of_one_launch() -> None:
    row = waits({"without_loading": (3.0,), "noop_hook": (1.0,)})
    assert row["forward_wait_s"] == pytest.approx(2.0)
    assert row["forward_wait_side"] == "unknown"
