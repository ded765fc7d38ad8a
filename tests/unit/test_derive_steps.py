"""Steps to a goal against the batch size: the fit, the regimes, medians, contrasts, verdicts."""

import numpy as np
import pandas as pd
import pytest

import steps_to_goal_builders as planted
from builders import run_row, table
from dpscale.derive.formulas import gradient_square, gradient_variance, simple_noise_scale
from dpscale.derive.published import claim_row
from dpscale.derive.statistics import Estimate
from dpscale.studies.steps_to_goal.derive.fit import (
    b_crit_ratio,
    critical_batch,
    goal_contrasts,
    goal_fit,
    noise_scale,
)
from dpscale.studies.steps_to_goal.derive.searches import (
    at_border,
    budget,
    censored_median,
    steps_to_goal,
)
from dpscale.studies.steps_to_goal.published import CLAIMS, published_steps_to_goal

BATCHES = [2**power for power in range(1, 11)]
SPACE = {"effective_lr_low": 0.01, "effective_lr_high": 10.0, "momentum_rest_low": 0.01}


def curve(s_min: float, b_crit: float) -> dict[int, float]:
    return {batch: s_min * (1 + b_crit / batch) for batch in BATCHES}


def tidy(**options) -> dict[str, pd.DataFrame]:
    made = planted.rows(**options)
    made["runs"] = [run_row(**row) for row in made["runs"]]
    return {name: table(name, rows) for name, rows in made.items()}


@pytest.fixture(scope="module")
def lab() -> dict[str, pd.DataFrame]:
    return tidy()


def derived(lab: dict[str, pd.DataFrame]) -> tuple[pd.DataFrame, pd.DataFrame]:
    fit = goal_fit(lab["trials"], lab["evaluations"], lab["runs"])
    return fit, steps_to_goal(lab["trials"], lab["evaluations"], lab["searches"], fit, lab["runs"])


def test_the_fit_finds_s_min_and_b_crit_of_exact_data():
    fit = critical_batch(curve(30.0, 64.0))
    assert fit.status == "complete"
    assert fit.s_min.value == pytest.approx(30.0, rel=1e-5)
    assert fit.b_crit.value == pytest.approx(64.0, rel=1e-5)


def test_the_fit_recovers_planted_values_from_noisy_data_within_its_intervals():
    covered = 0
    for seed in range(10):
        noise = np.exp(np.random.default_rng(seed).normal(0, 0.1, len(BATCHES)))
        steps = curve(30.0, 64.0)
        fit = critical_batch({b: steps[b] * off for b, off in zip(BATCHES, noise, strict=True)})
        assert fit.b_crit.value == pytest.approx(64.0, rel=0.3)
        assert fit.s_min.value == pytest.approx(30.0, rel=0.2)
        covered += fit.b_crit.low <= 64.0 <= fit.b_crit.high
    assert covered >= 8


def test_a_fit_to_two_batch_sizes_is_refused():
    fit = critical_batch({2: 100.0, 4: 50.0})
    assert fit.status == "too few batch sizes"
    assert fit.b_crit.value is None


@pytest.mark.parametrize("steps", [
    {batch: 4096.0 / batch for batch in BATCHES}, dict.fromkeys(BATCHES, 20.0),
])  # fmt: skip
def test_steps_without_a_bend_give_no_critical_batch(steps):
    assert critical_batch(steps).status == "no bend"
    assert critical_batch(steps).b_crit.value is None


def test_the_ratio_of_two_planted_critical_batches_is_found():
    ratio = b_crit_ratio(curve(20.0, 128.0), curve(30.0, 32.0))
    assert ratio[:3] == pytest.approx((4.0, 4.0, 4.0), rel=1e-3)


def test_the_regimes_end_at_a_quarter_and_at_four_times_the_critical_batch(lab):
    fit, steps = derived(lab)
    row = fit[(fit.model == "mlp") & (fit.optimizer == "sgd")].iloc[0]
    assert row.b_crit == pytest.approx(40.0, rel=0.1)
    assert row.perfect_end == pytest.approx(row.b_crit / 4)
    assert row.maximal_start == pytest.approx(row.b_crit * 4)
    own = steps[(steps.model == "mlp") & (steps.optimizer == "sgd")].set_index("global_batch")
    assert own.regime[8] == "perfect scaling"
    assert own.regime[64] == "diminishing returns"
    assert own.regime[1024] == "maximal data parallelism"


def test_perfect_scaling_divides_the_steps_of_the_smallest_batch(lab):
    own = derived(lab)[1].query("model == 'mlp' and optimizer == 'sgd'").set_index("global_batch")
    # 30 (1 + 40/2) = 630, and the planted 2% of this batch size
    assert own.steps_to_goal[2] == round(630 * 1.02)
    assert own.perfect_scaling_steps[8] == own.steps_to_goal[2] / 4
    assert own.epochs_to_goal[8] == own.steps_to_goal[8] * 8 / 10_000


def test_trials_are_counted_by_how_they_ended_and_none_is_a_number(lab):
    steps = derived(lab)[1]
    kinds = ["complete_trials", "incomplete_trials", "infeasible_trials"]
    assert (steps[kinds] == 1).all(axis=None)
    trials = lab["trials"]
    assert trials[trials.status != "complete"].steps_to_goal.isna().all()


def test_a_median_is_known_while_most_repeats_reached_the_goal():
    found = censored_median(pd.Series([10, 12, None, 11, None], dtype="Int64"))
    assert (found.value, found.low, found.high, found.repeats) == (12.0, 10.0, None, 5)
    assert censored_median(pd.Series([10, None, None], dtype="Int64")).value is None
    assert censored_median(pd.Series([None, None], dtype="Int64")).value is None


@pytest.mark.parametrize(("lr", "momentum", "expected"), [
    (0.1, 0.0, False), (0.015, 0.0, True), (9.0, 0.0, True),
    (0.01, 0.9, False), (0.9, 0.9, True), (0.0016, 0.988, True), (0.0025, 0.98, False),
])  # fmt: skip
def test_a_point_in_the_outer_tenth_of_the_space_is_on_its_border(lr, momentum, expected):
    assert at_border(lr, momentum, SPACE) is expected


def test_the_noise_scale_comes_from_norms_at_two_batch_sizes():
    # |G|^2 = 1 and tr(Sigma) = 50: E|G_8|^2 = 1 + 50/8, E|G_1024|^2 = 1 + 50/1024
    norms = (1 + 50 / 8, 1 + 50 / 1024, 8, 1024)
    assert gradient_square(*norms) == pytest.approx(1.0)
    assert gradient_variance(*norms) == pytest.approx(50.0)
    assert simple_noise_scale(50.0, 1.0) == 50.0


def test_the_planted_noise_scale_is_found_along_training(lab):
    rows = noise_scale(lab["evaluations"], lab["trials"], lab["runs"])
    assert rows.noise_scale.tolist() == pytest.approx([50.0] * len(rows))
    assert rows.progress_frac.tolist() == [0.0, 1.0] * 3


def test_momentum_is_set_against_plain_sgd_and_a_network_against_the_first(lab):
    rows = goal_contrasts(lab["trials"], derived(lab)[0])
    assert list(rows.contrast) == ["optimizer", "model"]
    assert rows.b_crit_ratio.tolist() == pytest.approx([3.0, 45 / 40], rel=0.1)
    assert rows.b_crit_ratio_low[0] > 1


def verdicts(claim: str, **options) -> list[str]:
    lab = tidy(**options)
    fit = derived(lab)[0]
    found = published_steps_to_goal(fit, goal_contrasts(lab["trials"], fit))
    return found[found.claim == claim].verdict.tolist()


def test_the_verdict_on_momentum_turns_round_with_the_data():
    curves = {("mlp", "sgd"): 40.0, ("mlp", "nesterov"): 120.0}
    assert verdicts("extends", b_crit=curves) == ["agrees"]
    assert verdicts("extends", b_crit=curves | {("mlp", "nesterov"): 10.0}) == ["disagrees"]
    assert verdicts("extends", b_crit=curves | {("mlp", "nesterov"): 40.0}) == ["not decidable"]


def test_the_verdict_on_perfect_scaling_turns_round_with_the_data():
    curves = {("mlp", "sgd"): 100.0}
    assert verdicts("small", b_crit=curves) == ["agrees"]
    assert verdicts("small", b_crit=curves, slope=0.6) == ["disagrees"]


@pytest.mark.parametrize(("name", "low", "high", "verdict"), [
    # steps that still fall at the largest batch do not refute a floor beyond it
    ("large", -0.1, 0.05, "agrees"), ("large", -0.5, -0.3, "not decidable"),
    ("large", 0.3, 0.5, "disagrees"),
    # networks with one critical batch disagree with the claim that they differ
    ("networks", 0.9, 1.1, "disagrees"), ("networks", 0.7, 1.6, "not decidable"),
    ("networks", 1.5, 3.0, "agrees"), ("networks", None, 3.0, "not decidable"),
])  # fmt: skip
def test_a_claim_is_judged_by_its_rule_and_margin(name, low, high, verdict):
    claim, measured = CLAIMS[name], Estimate(None, low, high, 0)
    options = {"published": claim.published, "margin": claim.margin, "measured": measured}
    assert claim_row(name, claim.rule, **options)["verdict"] == verdict


def test_a_claim_that_no_fit_can_decide_says_why():
    flat = tidy(b_crit={("mlp", "sgd"): 1e7, ("mlp", "nesterov"): 1e7})
    fit = derived(flat)[0]
    found = published_steps_to_goal(fit, goal_contrasts(flat["trials"], fit)).set_index("claim")
    assert found.reason["extends"] == "no bend"
    assert found.verdict["small"].tolist() == ["agrees", "agrees"]
    assert found.reason["small"].isna().all()


def test_a_budget_takes_each_trial_where_it_stands(lab):
    rows = budget(lab["trials"], lab["evaluations"], lab["searches"], lab["runs"])
    own = rows[(rows.model == "mlp") & (rows.optimizer == "sgd") & (rows.global_batch == 2)]
    at = own[own.kind == "steps"].set_index("budget")
    # the first trial needs 643 steps: after 64 of them its error is 0.8 - 0.7 * 64 / 643
    assert at.validation_error_frac[64.0] == pytest.approx(0.8 - 0.7 * 64 / 643)
    assert not at.reached[64.0]
    assert at.validation_error_frac[1024.0] == pytest.approx(planted.GOAL_ERROR_FRAC)
    assert at.reached[1024.0]
