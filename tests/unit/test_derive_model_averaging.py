"""S3's tables: time to the target, arms seed by seed, learners by throughput, verdicts."""

import math

import pandas as pd
import pytest

import model_averaging_builders as made
from builders import run_row, table
from dpscale.derive.trainings import time_to_target
from dpscale.studies.model_averaging.derive import (
    averaging_pairs,
    averaging_rates,
    averaging_times,
    chosen_learners,
    first_stop,
    judge_pairs,
    learners,
    model_averaging,
)
from dpscale.studies.model_averaging.published import published

SPREAD = 4.302653 / 3**0.5  # of three values one apart: Student's t with two degrees of freedom


def tidy(**options):
    rows = made.study_rows(**options)
    rows["runs"] = [run_row(**row) for row in rows["runs"]]
    return {name: table(name, rows[name]) for name in rows}


def of_trials(function, **options):
    tables = tidy(**options)
    return function(tables["trials"], tables["curves"], tables["runs"])


def arm(frame: pd.DataFrame, name: str, against: str | None = None) -> pd.Series:
    chosen = frame["arm"] == name
    if against:
        chosen &= frame["against"] == against
    return frame[chosen].iloc[0]


def curve(*accuracies: float | None) -> pd.DataFrame:
    steps = range(1, len(accuracies) + 1)
    columns = {"epoch": steps, "seconds": [10.0 * step for step in steps]}
    return pd.DataFrame(columns | {"test_accuracy_frac": accuracies})


def test_the_target_is_reached_by_a_median_and_not_by_one_lucky_evaluation():
    lucky = curve(0.5, 0.9, 0.6, 0.9, 0.9)
    assert time_to_target(lucky, 0.9, 1) == (2.0, 20.0)
    assert time_to_target(lucky, 0.9, 3) == (4.0, 40.0)
    assert time_to_target(curve(0.9, 0.9), 0.9, 3) is None
    assert time_to_target(curve(0.5, None, 0.95, 0.95, 0.95), 0.9, 3) == (5.0, 50.0)


def test_times_to_the_target_are_medians_over_seeds():
    row = arm(of_trials(model_averaging), "sgd_large")
    assert (row["status"], row["seeds"], row["reached"]) == ("complete", 3, 3)
    ends = [row[f"epochs_to_target{end}"] for end in ("", "_low", "_high")]
    # Of 7, 8 and 9 epochs the logarithms: mean 2.07419, deviation 0.12574.
    ends_by_hand = [math.exp(2.07419 + side * SPREAD * 0.12574) for side in (-1, 1)]
    assert ends == pytest.approx([8, *ends_by_hand], rel=1e-4)
    small = arm(of_trials(model_averaging), "sgd_small")
    assert small["seconds_to_target"] == 9.0  # 3 epochs of 3 s
    assert small["effective_lr"] == pytest.approx(0.2)  # 0.02 / (1 - 0.9)


def test_an_arm_that_not_every_seed_brings_to_the_target_has_no_time():
    reached_by = made.REACHED | {"sgd_large": 11}  # epochs 11, 12 and beyond the last
    row = arm(of_trials(model_averaging, reached=reached_by), "sgd_large")
    assert (row["status"], row["reached"]) == ("incomplete", 2)
    assert pd.isna(row["epochs_to_target"])
    assert row["final_test_accuracy_frac"] == made.HIGH


def test_a_diverged_seed_makes_the_arm_diverged():
    tables = tidy()
    hit = (tables["trials"]["arm"] == "sgd_large") & (tables["trials"]["seed"] == 1)
    tables["trials"].loc[hit, "status"] = "diverged"
    given = tables["trials"], tables["curves"], tables["runs"]
    row = arm(model_averaging(*given), "sgd_large")
    assert (row["status"], row["reached"]) == ("diverged", 2)
    pair = arm(averaging_pairs(*given), "sma_tuned α = 1/k", "sgd_large")
    assert pd.isna(pair["epochs_difference_low"])


def test_arms_are_compared_seed_by_seed():
    row = arm(of_trials(averaging_pairs), "sma_tuned α = 1/k", "sgd_large")
    # Every seed is an epoch later than the one before in both: the difference has no spread.
    assert (row["epochs_difference"], row["epochs_difference_high"]) == (-2.0, -2.0)
    assert row["seconds_difference"] == pytest.approx(6 * 1.75 - 8 * 1.0)
    assert row["seconds_ratio"] == pytest.approx(8 / 10.5)


def test_a_target_never_reached_bounds_the_difference_where_that_decides_it():
    frame = of_trials(averaging_pairs)
    slow = arm(frame, "sma α = 1/k", "sgd_large")
    assert pd.isna(slow["epochs_difference"])
    assert slow["status"] == "incomplete"
    # beyond 12 epochs against 7, 8 and 9
    assert slow["epochs_difference_low"] == pytest.approx(4 - SPREAD, abs=1e-4)
    neither = arm(frame, "sma α = 0.1", "sma α = 1/k")
    assert pd.isna(neither["epochs_difference_low"])
    # Sooner in seconds is not decided by a short budget: 12 epochs of 0.5 s against 7 to 9 s.
    fast = arm(of_trials(averaging_pairs, averaged_epoch_s=0.5), "sma α = 1/k", "sgd_large")
    assert pd.isna(fast["seconds_difference_low"])


def test_each_training_has_a_row_of_when_it_reached_the_target():
    frame = of_trials(averaging_times)
    assert len(frame) == 7 * 3
    row = frame[(frame["arm"] == "sgd_large") & (frame["seed"] == 1)].iloc[0]
    assert (row["goal"], row["epochs_to_target"], row["seconds_to_target"]) == ("complete", 8, 8.0)
    row = frame[(frame["arm"] == "sma α = 1/k") & (frame["seed"] == 1)].iloc[0]
    assert (row["goal"], row["epochs"], row["wall_s"]) == ("incomplete", 12, 21.0)
    assert pd.isna(row["epochs_to_target"])


@pytest.mark.parametrize(
    ("reached", "epoch_s", "standing"),
    [
        (5, 0.5, "faster"),  # 3 s against 8 s
        (5, 1.75, "slower"),  # 10.5 s against 8 s
        (5, 1.34, "sooner"),  # 8.0 s against 8 s, 6 epochs against 8
        (7, 1.0, "even"),
    ],
)
def test_seconds_decide_how_arms_stand_and_then_epochs(reached, epoch_s, standing):
    pairs = of_trials(
        averaging_pairs,
        reached=made.REACHED | {"sma_tuned α = 1/k": reached},
        averaged_epoch_s=epoch_s,
    )
    rows = pairs.to_dict("records")
    judge_pairs(rows)
    assert arm(pd.DataFrame(rows), "sma_tuned α = 1/k", "sgd_large")["standing"] == standing


def test_accuracies_and_their_differences_hold_the_error_of_the_test_set():
    row = arm(of_trials(model_averaging), "sgd_large")
    # Seeds agree; 97% of 2,000 images: Wilson's interval
    ends = row["final_test_accuracy_frac_low"], row["final_test_accuracy_frac_high"]
    assert ends == pytest.approx((0.96158, 0.97661), abs=2e-5)
    pair = arm(of_trials(averaging_pairs), "sma_tuned α = 1/k", "sgd_large")
    assert pair["accuracy_difference_frac"] == 0
    assert pair["accuracy_difference_frac_low"] == pytest.approx(-0.01072, abs=2e-5)


def test_the_best_rate_is_that_of_the_highest_validation_accuracy():
    frame = of_trials(averaging_rates).set_index(["optimizer", "lr"])
    assert frame.loc[("sgd", 0.02), "best"]
    assert not frame.loc[("sgd", 0.05), "best"]
    assert frame.loc[("sma", 0.2), ["best", "configured"]].all()
    assert list(frame["at_border"]) == [True, False, True] * 2


@pytest.mark.parametrize(
    ("speeds", "chosen", "stop"),
    [
        ({1: 100, 2: 150, 3: 180, 4: 185, 5: 250}, 5, 3),  # a step that gains little, then more
        ({1: 25, 2: 40, 3: 26, 4: 45, 5: 50, 6: 55, 7: 62, 8: 61}, 7, 2),  # a fall, then a climb
        ({1: 100, 2: 100}, 1, 1),
        ({1: 100, 2: 120, 3: 140}, 3, 3),  # the most that were tried
        ({1: 100, 2: 104, 3: 103}, 1, 1),
    ],
)
def test_the_fewest_learners_near_the_highest_throughput_are_chosen(speeds, chosen, stop):
    assert (chosen_learners(speeds, 0.05), first_stop(speeds, 0.05)) == (chosen, stop)


def test_learners_have_their_throughput_gain_and_the_choice():
    tables = tidy()
    frame = learners(tables["throughputs"], tables["runs"])
    cell = frame[(frame["model"] == "resnet_8x8") & frame["stacked"]].set_index("learners")
    assert cell.loc[2, "samples_per_s"] == pytest.approx(1500)
    assert cell.loc[3, "gain_frac"] == pytest.approx(0.2)
    assert cell.loc[5, "against_one_ratio"] == pytest.approx(2.2)
    assert cell.loc[3, "against_plain_ratio"] == pytest.approx(1.5)
    assert list(cell.index[cell["chosen"]]) == [5]
    assert cell.loc[3, "to_chosen_ratio"] == pytest.approx(1800 / 2200)
    assert cell["to_chosen"].to_dict() == dict.fromkeys([1, 2, 3, 4], "below") | {5: "unknown"}
    assert list(cell.index[cell["first_stop"]]) == [3]
    assert cell["stops_early"].all()


def test_a_model_that_was_not_timed_has_a_row_that_says_so():
    tables = tidy()
    runs = tables["runs"].assign(status="out_of_memory")
    frame = learners(tables["throughputs"].iloc[:0], runs)
    assert list(frame["status"]) == ["out_of_memory"] * 3
    assert frame["samples_per_s"].isna().all()


def claims(reached: dict[str, int | None], epoch_s: float, **runs: object) -> pd.DataFrame:
    tables = tidy(reached=made.REACHED | reached, averaged_epoch_s=epoch_s)
    found = averaging_pairs(tables["trials"], tables["curves"], tables["runs"])
    of_runs = tables["runs"].assign(**({"device": "NVIDIA H200", "workers": 8} | runs))
    return published(found, learners(tables["throughputs"], tables["runs"]), of_runs)


@pytest.mark.parametrize(
    ("epoch_s", "epochs", "verdict"),
    [
        (1.75, 5, "disagrees"),  # 8 s / 10.5 s, 0.69 to 0.85
        (0.5, 5, "agrees"),  # 8 s / 3 s, 2.4 to 3.0
        (1.0, 5, "not decidable"),  # 8 s / 6 s, 1.2 to 1.5: about 1.3
        (1.0, 11, "not decidable"),  # not every seed reaches the target
    ],
)
def test_the_published_speed_up_is_a_range_that_holds_the_measured_interval(
    epoch_s, epochs, verdict
):
    frame = claims({"sma_tuned α = 1/k": epochs}, epoch_s)
    row = frame[(frame["arm"] == "sma_tuned α = 1/k") & frame["against"].str.contains("0.02")]
    assert list(row["verdict"]) == [verdict]
    assert (frame.loc[frame["claim"] == "throughput", "verdict"] == "agrees").all()


def test_a_claim_counts_arms_whose_rate_is_their_own_and_each_throughput_once():
    frame = claims({}, 1.75)
    assert set(frame["arm"].dropna()) == {"sma_tuned α = 1/k", "sma_tuned α = 0.1"}
    assert dict(frame["claim"].value_counts()) == {"time_to_accuracy": 4, "throughput": 3}


@pytest.mark.parametrize(
    ("runs", "reasons"),
    [
        ({"device": "CPU core"}, ["measured on CPU cores, published on GPUs"]),
        ({"workers": 1}, ["published for 8 GPUs, measured on one", None]),
    ],
)
def test_speeds_of_another_kind_are_not_judged(runs, reasons):
    frame = claims({}, 0.5, **runs)
    found = frame["reason"].astype(object).where(frame["reason"].notna(), None)
    assert list(found.unique()) == reasons
    assert set(frame.loc[frame["reason"].notna(), "verdict"]) == {"not judged"}
