"""E2: times to the goal, what is recommended, what more workers buy, and how the advice did."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import choose_builders as made
from builders import Tables, empty_lab, run_row, table
from dpscale.derive.formulas import goal_seconds
from dpscale.derive.statistics import (
    UNKNOWN,
    Estimate,
    exactly,
    inverse,
    median,
    product,
    together,
    verdict,
)
from dpscale.studies import derived_of
from dpscale.studies.choose.advice import advised
from dpscale.studies.choose.derive.doublings import LOSSES, at_equal_footing, dominant
from dpscale.studies.choose.derive.goal import judge, recommended
from dpscale.studies.choose.derive.grid import _to_least
from dpscale.studies.choose.derive.trainings import TrainedTime, holds
from dpscale.studies.study import Earlier
from steps_to_goal_builders import median_steps

LEFT_OUT = ("sweep", "scaling", "communication", "large_batch", "replicas", "ledger", "assignment")
MANY = 1e9  # a critical batch size so large that steps fall as 1/B throughout


def lab(**options: Any) -> Tables:
    rows = made.with_search(run_row, **options)
    return empty_lab() | {name: table(name, own) for name, own in rows.items()}


def role(tables: Tables, name: str = "recommended") -> pd.Series:
    advice = derived_of(tables)["advice"].set_index("role")
    return advice.loc[name]


def by_samples(n: int, b: int) -> float:
    return 1e-4 * b


def test_a_product_adds_the_reaches_of_its_factors_at_right_angles():
    three, four = math.exp(0.3), math.exp(0.4)
    found = product(Estimate(2.0, 2 / three, 2 * three, 5), Estimate(10.0, 10 / four, 10 * four, 3))
    assert found.value == 20
    assert (found.low, found.high) == pytest.approx((20 * math.exp(-0.5), 20 * math.exp(0.5)))
    assert found.repeats == 3


def test_a_product_with_an_exact_number_only_scales():
    assert product(Estimate(2.0, 1.0, 8.0, 5), exactly(3))[:3] == pytest.approx((6, 3, 24))


def test_a_product_without_an_interval_has_none():
    assert product(Estimate(2.0, None, None, 1), exactly(3))[:3] == (6.0, None, None)
    assert product(Estimate(None, None, None, 0), exactly(3)).value is None


def test_a_product_has_the_ends_that_its_factors_have():
    assert product(Estimate(2.0, 1.0, None, 5), exactly(3))[:3] == (6.0, pytest.approx(3.0), None)


def test_an_end_that_is_known_decides_alone():
    assert verdict(1.1, None, 1.0) == "above"
    assert verdict(None, 0.9, 1.0) == "below"
    assert verdict(0.9, None, 1.0) == "unknown"
    assert verdict(0.9, 2.0, 1.0) == "indistinct"


def test_an_interval_that_holds_together_with_others_is_wider_by_its_t():
    found = together(Estimate(2.0, 1.0, 4.0, 3), 5)  # t of 2: 4.303 at 0.975, 9.925 at 0.995
    assert (found.low, found.high) == pytest.approx((2 / 2**2.3066, 2 * 2**2.3066), rel=1e-3)
    assert together(Estimate(2.0, 1.0, 4.0, 3), 1) == Estimate(2.0, 1.0, 4.0, 3)
    assert together(Estimate(2.0, None, None, 1), 5).low is None


def test_the_ends_of_an_inverse_change_places():
    assert inverse(Estimate(2.0, 1.0, 4.0, 5)) == Estimate(0.5, 0.25, 1.0, 5)


def test_seconds_to_the_goal_are_steps_times_seconds_of_a_step():
    assert goal_seconds(150, 0.02) == 3


def test_a_cell_takes_its_steps_times_its_step():
    cells = derived_of(lab())["time_to_goal"].set_index(["workers", "per_worker_batch"])
    one = cells.loc[(2, 64)]
    steps = round(median_steps(made.B_CRIT["mlp", "nesterov"], 128))
    assert one["steps_to_goal"] == steps
    assert one["step_s"] == pytest.approx(made.with_network(2, 64))
    assert one["time_to_goal_s"] == pytest.approx(steps * made.with_network(2, 64))
    assert one["worker_s"] == pytest.approx(2 * one["time_to_goal_s"])
    assert one["time_to_goal_s_low"] < one["time_to_goal_s"] < one["time_to_goal_s_high"]
    assert one["peak_bytes"] == 1_064_000


def test_a_step_takes_as_long_as_the_slowest_worker():
    grid = derived_of(lab())["step_grid"].set_index(["workers", "per_worker_batch"])
    assert grid.loc[(4, 16), "step_s"] == pytest.approx(made.with_network(4, 16))
    assert grid.loc[(4, 16), "silent_step_s"] == pytest.approx(made.compute_s(4, 16))


def test_where_communication_is_all_one_worker_is_recommended_and_it_is_to_blame():
    tables = lab(step_s=lambda n, b: by_samples(n, b) + (0.5 if n > 1 else 0), silent_s=by_samples)
    found = derived_of(tables)["doublings"]
    assert role(tables)["workers"] == 1
    assert found.loc[0, "pays"] == "above"
    assert found.loc[0, "blame"] == "communication"


def test_where_larger_batches_save_no_step_one_worker_is_recommended_and_steps_are_to_blame():
    tables = lab(step_s=by_samples, silent_s=by_samples, b_crit=0.01)
    found = derived_of(tables)["doublings"]
    take = role(tables)
    assert (take["workers"], take["global_batch"]) == (1, 16)
    assert set(found["blame"]) == {"samples"}
    assert "below" not in set(found["pays"])


def test_where_neither_holds_back_the_most_workers_are_recommended():
    tables = lab(step_s=by_samples, silent_s=by_samples, b_crit=MANY)
    found = derived_of(tables)["doublings"]
    assert role(tables)["workers"] == 4
    assert set(found["pays"]) == {"below"}
    adjacent = found.loc[found["adjacent"], "time_ratio"]
    assert adjacent.tolist() == pytest.approx([0.5, 0.5], rel=0.05)


@pytest.mark.parametrize(("silent_s", "too_short"), [(0.5, True), (0.02, False)])
def test_workers_beyond_an_even_share_may_pay_though_sending_exceeds_it(silent_s, too_short):
    """Sending takes four workers 0.9 of one worker's step, of which an even share saves 0.75.

    What they compute for, as a share of that step, decides: with a fiftieth they end first.
    """
    tables = lab(
        step_s=lambda n, b: by_samples(n, 4 * b) * (silent_s + 0.9) if n == 4 else by_samples(n, b),
        silent_s=lambda n, b: by_samples(n, 4 * b) * silent_s if n == 4 else by_samples(n, b),
        b_crit=MANY,
    )
    found = derived_of(tables)["doublings"].set_index(["workers", "next_workers"])
    four = found.loc[(1, 4)]
    assert four["too_short"] == too_short
    if too_short:  # 0.5 and 0.9 of a step, less a quarter, of which sharing saves three
        assert four["added_s"] / four["shared_s"] == pytest.approx(1.15)
        assert four["paying_step_s"] / four["shared_s"] == pytest.approx(1.15 / 0.75)


FACTORS = ["batch", "sharing", "communication", "samples", "retuned"]


def test_the_factors_gains_too_multiply_to_the_ratio_of_times_times_the_growth():
    for row in derived_of(lab())["doublings"].to_dict("records"):
        factors = math.prod(row[f"{name}_ratio"] for name in FACTORS)
        assert factors == pytest.approx(row["time_ratio"] * row["next_workers"] / row["workers"])


def test_two_numbers_of_workers_are_compared_at_the_same_global_batch_first():
    """One worker, B = 64: 34.8 ms. Two: 127 ms with the same, 0.48 of that with their best."""

    def cell(workers: int, batch: int, step_s: float, silent_s: float, steps: int) -> dict:
        ends = ("", "_low", "_high")
        return {
            "workers": workers,
            "per_worker_batch": batch,
            "global_batch": workers * batch,
            **{f"step_s{end}": step_s for end in ends},
            **{f"silent_step_s{end}": silent_s for end in ends},
            **{f"steps_to_goal{end}": steps for end in ends},
        }

    solo, equal, best = (
        cell(1, 64, 1.11e-3, 1.11e-3, 31),
        cell(2, 32, 4.03e-3, 2e-3, 31),
        cell(2, 256, 5e-3, 4e-3, 12),
    )
    alone = {64: exactly(1.11e-3), 32: exactly(1e-3), 256: exactly(2e-3)}
    footing, factors = at_equal_footing(solo, best, [best, equal, solo], alone)
    assert footing == "global_batch"
    assert {name: factor.value for name, factor in factors.items()} == pytest.approx(
        {
            "batch": 2 / 1.11,
            "sharing": 2.0,
            "communication": 4.03 / 2,
            "samples": 1,
            "retuned": 12 * 5 / (31 * 4.03),
        }
    )
    footing, factors = at_equal_footing(solo, best, [best, cell(2, 64, 5e-3, 4e-3, 20)], alone)
    assert footing == "per_worker_batch"
    assert factors["samples"].value == pytest.approx(40 / 31)
    assert at_equal_footing(solo, best, [best], alone) == (None, {})


@pytest.mark.parametrize(
    ("losses", "cause"),
    [
        ([1.20, 1.20, 1.20, 1.21], None),
        ([1.05, 2.0, 1.1, 1.0], "sharing"),
        ([0.5, 2.0, 1.5, 1.0], "sharing"),  # the gain leaves a loss of 1.5 in all
        ([0.5, 1.3, 1.4, 1.0], None),  # no loss in all
    ],
)
def test_a_cause_has_half_of_the_log_loss(losses, cause):
    named = dict(zip(LOSSES, map(exactly, losses), strict=True))
    assert dominant(named) == cause


def test_a_cause_whose_interval_reaches_below_half_of_the_loss_is_none():
    few = {"sharing": Estimate(1.5, 1.1, 2.0, 3), "communication": exactly(1.3)}
    assert dominant(few) is None
    assert dominant(few | {"sharing": Estimate(1.5, 1.4, 1.6, 3)}) == "sharing"


def test_side_by_side_is_what_workers_lose_who_send_nothing():
    slowed = {
        "silent_s": lambda n, b: by_samples(n, b) * n,
        "step_s": lambda n, b: by_samples(n, b) * n,
    }
    row = derived_of(lab(**slowed, b_crit=MANY))["doublings"].iloc[0]
    assert row["sharing_ratio"] == pytest.approx(2)
    assert row["communication_ratio"] == pytest.approx(1)


def test_a_deadline_is_kept_by_the_cheapest_cell_that_keeps_it():
    def shared(n: int, b: int) -> float:
        """Seconds of workers that slow each other down: 1, 0.71 and 0.5 of the time in all."""
        return by_samples(n, b) * n**0.5

    options = {"step_s": shared, "silent_s": shared, "b_crit": MANY}
    one = role(lab(**options), "one_worker")["time_to_goal_s"]
    take = role(lab(**options, limits={"aim": "cost", "deadline_s": 0.85 * one}))
    assert take["workers"] == 2
    assert role(lab(**options, limits={"aim": "cost"}))["workers"] == 1
    assert role(lab(**options, limits={"worker_hours": 1.2 * one / 3600}))["workers"] == 1


def test_where_nothing_keeps_to_the_limits_the_nearest_is_named_with_its_excess():
    cells = derived_of(lab())["advice"].set_index("role")
    best = cells["time_to_goal_s_high"].min()
    take = role(lab(limits={"deadline_s": best / 3}))
    assert not take["obeys"]
    assert take["misses"] == "deadline"
    assert take["excess_ratio"] == pytest.approx(3)


def test_memory_keeps_large_batches_out():
    tables = lab(step_s=lambda n, b: 1e-3, silent_s=lambda n, b: 1e-3, b_crit=MANY)
    assert role(tables)["per_worker_batch"] == 256
    small = lab(
        step_s=lambda n, b: 1e-3,
        silent_s=lambda n, b: 1e-3,
        b_crit=MANY,
        limits={"memory_bytes": 1_100_000},
    )
    assert role(small)["per_worker_batch"] == 64


def test_where_no_cell_fits_the_memory_the_advice_says_by_how_much():
    take = role(lab(limits={"memory_bytes": 500_000}))
    assert (take["obeys"], take["misses"]) == (False, "memory")
    assert take["excess_ratio"] == pytest.approx(take["peak_bytes"] / 500_000)


def test_a_price_gives_the_cost():
    take = role(lab(limits={"price_per_worker_hour": 36.0}))
    assert take["price"] == pytest.approx(take["worker_s"] / 100)


def test_of_cells_not_told_apart_the_cheaper_is_recommended():
    def cell(workers: int, seconds: float) -> dict[str, Any]:
        """A best cell whose interval is a tenth either way."""
        return {
            "workers": workers,
            "global_batch": 64 * workers,
            "obeys": True,
            "excess_ratio": 0,
            "time_to_goal_s": seconds,
            "worker_s": seconds * workers,
            **{
                f"{name}{end}": factor * size
                for name, size in (("step_s", seconds / 100), ("steps_to_goal", 100))
                for end, factor in (("", 1), ("_low", 0.95), ("_high", 1.05))
            },
        }

    assert recommended([cell(1, 10.4), cell(2, 10.0)], "time")["workers"] == 1
    assert recommended([cell(1, 20.0), cell(2, 10.0)], "time")["workers"] == 2
    assert recommended([cell(1, 20.0), cell(2, 10.1)], "cost")["workers"] == 2


def test_the_advice_is_trained_and_scored():
    trained = derived_of(lab())["goal_trainings"]
    assert set(trained["holds"]) == {"yes"}
    assert trained["ratio"].tolist() == pytest.approx([1] * 6, rel=0.01)
    assert trained.groupby("workers").size().to_dict() == {1: 2, 2: 2, 4: 2}
    assert trained.loc[trained["taken"], "advised"].tolist() == [True]
    slow = derived_of(lab(trained_ratio=lambda n, b: 3.0))["goal_trainings"]
    assert set(slow["holds"]) == {"no"}
    assert set(slow["against"]) == {"above"}


@pytest.mark.parametrize(
    ("low", "high", "factor", "held"),
    [
        (0.5, 2.0, 2.0, "yes"),
        (0.49, 1.2, 2.0, "undecided"),
        (0.9, 2.1, 2.0, "undecided"),
        (0.9, 2.1, 3.0, "yes"),
        (2.1, 3.0, 2.0, "no"),
        (0.2, 0.49, 2.0, "no"),
        (2.1, None, 2.0, "no"),
        (1.0, None, 2.0, "undecided"),
        (0.9, 1.1, None, None),
    ],
)
def test_a_prediction_holds_where_the_whole_interval_is_within_its_factor(low, high, factor, held):
    assert holds(Estimate(1.0, low, high, 3), factor) == held
    assert holds(UNKNOWN, factor) is None


def test_a_seed_that_missed_the_goal_is_longer_than_all_and_not_left_out():
    """1.0, 1.1, 1.5 and two that missed: their median is 1.5."""
    reached = pd.Series([1.0, 1.1, 1.5])
    trials = pd.DataFrame(
        {
            "run": "goal",
            "seed": range(5),
            "steps_to_goal": [*(100 * reached), None, None],
            "steps": [*(100 * reached), 400, 400],
            "wall_s": [*reached, None, None],
        }
    )
    found = TrainedTime.of(trials)
    assert found.at_least.tolist() == pytest.approx([100, 110, 150, 400, 400])
    trained = median(found.at_least).low
    seconds = TrainedTime(found.steps, found.at_least, pd.Series([0.01, 0.01, 0.01])).seconds()
    assert seconds[:3] == (1.5, pytest.approx(0.01 * trained), None)


def test_a_training_of_which_half_misses_the_goal_has_no_time():
    tables = lab()
    trials = tables["trials"]
    lost = (trials["role"] == "goal") & (trials["trial"] < 3)
    tables["trials"] = trials.assign(wall_s=trials["wall_s"].mask(lost))
    found = derived_of(tables)["goal_trainings"]
    assert found["measured_s"].isna().all()
    assert set(found["reached"]) == {2}


def test_a_deadline_is_kept_by_a_second_batch_where_the_best_may_miss_it():
    """N = 4: B = 64 takes 8.0 s (6 to 11), B = 128 8.2 s (8.0 to 8.4); the deadline is 10 s."""

    def cell(batch: int, value: float, low: float, high: float) -> dict[str, Any]:
        ends = {"": value, "_low": low, "_high": high}
        return {
            "workers": 4,
            "per_worker_batch": batch // 4,
            "global_batch": batch,
            "predicted": False,
            **{f"time_to_goal_s{end}": seconds for end, seconds in ends.items()},
            **{f"worker_s{end}": 4 * seconds for end, seconds in ends.items()},
            **{f"step_s{end}": seconds / 100 for end, seconds in ends.items()},
            **{f"steps_to_goal{end}": 100 for end in ends},
            "peak_bytes": None,
        }

    rows = [cell(64, 8.0, 6.0, 11.0), cell(128, 8.2, 8.0, 8.4)]
    judge(rows, {"deadline_s": 10.0})
    assert [row["rank_of_workers"] for row in rows] == [2, 1]
    assert [row["obeys"] for row in rows] == [False, True]
    assert recommended(rows, "time")["global_batch"] == 128
    judge(rows, {"memory_bytes": 100})
    assert [(row["obeys"], row["misses"]) for row in rows] == [(False, "memory")] * 2
    judge(rows, {})
    assert recommended(rows, "time")["global_batch"] == 64


def test_the_time_of_trainings_covers_what_it_is_of():
    """Seeds scatter by 10%, launches by 3%: 95% intervals of the ratio of two equal cells."""
    random = np.random.default_rng(1)

    ratios = [drawn(random, 5).over(drawn(random, 5)) for _ in range(400)]
    held = [ratio.low <= 1 <= ratio.high for ratio in ratios]
    assert np.mean(held) >= 0.93


def drawn(random: np.random.Generator, mean: float, budget: float = math.inf) -> TrainedTime:
    """Steps of five seeds that scatter by 10%, cut off at a budget, and those of three launches."""
    steps = pd.Series(np.exp(random.normal(mean, 0.1, 5)))
    step_s = pd.Series(np.exp(random.normal(0, 0.03, 3)))
    return TrainedTime(steps.where(steps < budget), steps.clip(upper=budget), step_s)


def side_of_one(ratio: Estimate) -> str:
    return verdict(ratio.low, ratio.high, 1.0)


def test_a_cell_whose_seeds_missed_the_goal_is_longer_by_what_they_were_trained() -> None:
    reached = TrainedTime(
        *[pd.Series([100.0, 105, 95, 100, 102])] * 2, pd.Series([1.0, 1.01, 0.99])
    )
    steps = pd.Series([300.0, None, 310, None, 290])
    missed = TrainedTime(steps, steps.fillna(600.0), pd.Series([1.0, 1.01, 0.99]))
    ratio = missed.over(reached)
    assert (ratio.value, ratio.high) == (pytest.approx(3.1), None)
    assert side_of_one(ratio) == "above"
    assert side_of_one(reached.over(missed)) == "below"
    assert side_of_one(missed.over(missed)) == "unknown"
    lost = TrainedTime(pd.Series([None] * 5, dtype=float), pd.Series([600.0] * 5), missed.step_s)
    assert (lost.over(reached).value, side_of_one(lost.over(reached))) == (None, "above")


def test_seeds_that_missed_the_goal_do_not_decide_wrongly() -> None:
    """Of two cells that take as long, one with a budget that about two of its five seeds miss."""
    random = np.random.default_rng(2)
    pairs = [(drawn(random, 5, math.exp(5.03)), drawn(random, 5)) for _ in range(400)]
    found = [side_of_one(cut.over(whole)) for cut, whole in pairs if not cut.whole]
    assert found.count("above") <= 0.05 * len(found)
    assert "below" not in found


def known(tables):
    return Earlier(tables["runs"], derived_of(tables), 10_000, pytest.fail)


def test_a_run_is_advised_to_train_the_best_cell_of_its_workers(planned_goal):
    spec = advised(planned_goal, known(lab()))
    best = role(lab(), "most_workers")
    assert spec.per_worker_batch == best["per_worker_batch"]
    assert (spec.training.lr, spec.training.momentum) == (0.1, 0.9)
    assert spec.training.nesterov
    assert spec.withheld is None


def test_without_a_time_to_the_goal_there_is_nothing_to_train(planned_goal):
    tables = lab()
    trials = tables["trials"]
    nothing = trials[trials["role"] != "repeat"]
    spec = advised(planned_goal, known(tables | {"trials": nothing}))
    assert "no batch of 4 workers has a time to the goal" in (spec.withheld or "")


@pytest.fixture
def planned_goal():
    from dpscale.studies import load_config, planned_runs

    asked = {
        "steps_to_goal": {"models": [{"name": "mlp", "goal_error_frac": 0.05}]},
        "choose": {"optimizer": "nesterov"},
    }
    config = load_config({"name": "t"} | dict.fromkeys(LEFT_OUT) | asked)
    return planned_runs(config)["choose-goal-n4"]


def test_larger_numbers_of_workers_are_predicted_where_the_model_was_scored():
    messages = [
        {
            "run": "link-n2",
            "operation": "allreduce",
            "bytes": size,
            "repeat": repeat,
            "seconds": 1e-4 + size / 1e9,
        }
        for size in (10_000, 100_000, 1_000_000)
        for repeat in range(5)
    ]
    options = {"step_s": lambda n, b: 0.01 + 1e-4 * n, "silent_s": lambda n, b: 0.01}
    tables = lab(**options)
    link = table("runs", [run_row("link-n2", kind="link", study="link", workers=2)])
    tables["runs"] = pd.concat([tables["runs"], link]).reset_index(drop=True)
    tables["messages"] = table("messages", messages)
    derived = derived_of(tables)
    scored = derived["step_prediction"].set_index("status")
    assert (scored.loc["scored", "error_frac"].abs() < 0.05).all()
    cells = derived["time_to_goal"]
    ahead = cells[cells["predicted"]]
    assert set(ahead["workers"]) == {8}
    assert not ahead["on_front"].any()
    assert (ahead["step_s_low"] < ahead["step_s"]).all()
    assert role(tables)["workers"] <= 4


def test_a_step_is_compared_with_that_of_the_least_batch_of_its_launch() -> None:
    """Launches at one, two and four times the pace say nothing of the ratio, which is 2 in each."""
    pace = pd.DataFrame({"step_s": [0.001, 0.002, 0.004]}, index=["n1", "n1-launch2", "n1-launch3"])
    cell = {"workers": 1, "nodes": 1}
    found = [(cell, {"ddp": pace}), (cell, {"ddp": 2 * pace}), ({"workers": 2, "nodes": 1}, {})]
    least, larger, not_run = _to_least(found)
    assert (least, not_run) == ({}, {})
    assert larger == pytest.approx(
        {f"to_least_step_ratio{end}": 2.0 for end in ("", "_low", "_high")}
    )
