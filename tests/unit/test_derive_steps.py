"""Steps to a goal against the batch size: the fit, the regimes, medians, contrasts, verdicts."""

import math

import numpy as np
import pandas as pd
import pytest

import steps_to_goal_builders as planted
from builders import run_row, table
from dpscale.derive.formulas import gradient_square, gradient_variance, simple_noise_scale
from dpscale.derive.published import claim_row
from dpscale.derive.statistics import (
    Estimate,
    estimate_of,
    interval_columns,
    inverse,
    median,
    product,
)
from dpscale.studies.steps_to_goal.derive.fit import (
    Fit,
    critical_batch,
    goal_contrasts,
    goal_fit,
    noise_scale,
    ratio,
    saved_by_doubling,
    slope,
)
from dpscale.studies.steps_to_goal.derive.lessons import goal_searches
from dpscale.studies.steps_to_goal.derive.searches import (
    at_border,
    batch_medians,
    budget,
    censored_median,
    steps_to_goal,
    told_apart,
    with_luck,
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
    fit = goal_fit(lab["trials"], lab["gradient_squares"], lab["runs"])
    return fit, steps_to_goal(lab["trials"], lab["curves"], lab["searches"], fit, lab["runs"])


def contrasts(lab: dict[str, pd.DataFrame], fit: pd.DataFrame | None = None) -> pd.DataFrame:
    fit = derived(lab)[0] if fit is None else fit
    return goal_contrasts(lab["trials"], fit, lab["goal_margins"])


def fits(count: int, noise: float, b_crit: float | None, seeds: int) -> list[Fit]:
    """Fits to noisy steps at so many batch sizes from 2 on; b_crit None: steps fall as 1/B."""
    batches = 2.0 ** np.arange(1, count + 1)
    steps = 4096 / batches if b_crit is None else 30 * (1 + b_crit / batches)
    found = []
    for seed in range(seeds):
        off = np.exp(np.random.default_rng(seed).normal(0, noise, count))
        found.append(critical_batch(dict(zip(map(int, batches), steps * off, strict=True))))
    return found


@pytest.mark.parametrize(("batch_ratio", "saved"), [(0.25, 0.4), (1, 0.25), (4, 0.1)])
def test_twice_the_batch_saves_what_the_fit_says(batch_ratio, saved):
    # 1 + 4 steps become 1 + 2, 1 + 1 become 1 + 0.5, 1 + 0.25 become 1 + 0.125.
    assert saved_by_doubling(batch_ratio) == pytest.approx(saved)


def test_the_fit_finds_s_min_and_b_crit_of_exact_data():
    fit = critical_batch(curve(30.0, 64.0))
    assert fit.status == "complete"
    assert fit.s_min.value == pytest.approx(30.0, rel=1e-3)
    assert fit.b_crit.value == pytest.approx(64.0, rel=1e-3)


@pytest.mark.parametrize(("count", "b_crit"), [(5, 8.0), (6, 8.0), (8, 30.0), (10, 100.0)])
def test_the_intervals_of_the_fit_cover_as_often_as_they_say(count, b_crit):
    made = [fit for fit in fits(count, 0.1, b_crit, 400) if fit.status == "complete"]
    assert len(made) > 380
    for true, found in ((b_crit, [fit.b_crit for fit in made]), (30, [f.s_min for f in made])):
        covered = [(one.low or 0) <= true <= (one.high or np.inf) for one in found]
        assert np.mean(covered) >= 0.93


@pytest.mark.parametrize(("count", "noise"), [(4, 0.3), (5, 0.3), (6, 0.3), (10, 0.05), (10, 0.5)])
def test_steps_that_fall_as_1_over_b_seldom_show_a_bend(count, noise):
    found = [fit.status == "complete" for fit in fits(count, noise, None, 300)]
    assert np.mean(found) <= 0.05


def test_a_bend_beyond_the_batch_sizes_is_none_and_an_interval_that_reaches_there_is_open():
    assert critical_batch(curve(30.0, 2000.0)).status == "no bend"
    assert critical_batch(curve(30.0, 1.0)).status == "no bend"
    ends = [fit.b_crit.high for fit in fits(6, 0.1, 50.0, 20) if fit.b_crit.value]
    assert None in ends
    assert max(end or 0 for end in ends) < 64


def test_fewer_than_five_batch_sizes_give_no_interval_and_two_no_fit():
    fit = critical_batch({2: 515.0, 8: 148.0, 32: 61.0, 128: 37.0})
    assert fit.b_crit.value == pytest.approx(32, rel=0.1)
    assert (fit.b_crit.low, fit.b_crit.high, fit.s_min.low, fit.s_min.high) == (None,) * 4
    fit = critical_batch({2: 100.0, 4: 50.0})
    assert fit.status == "too few batch sizes"
    assert fit.b_crit.value is None


@pytest.mark.parametrize(
    "steps", [{batch: 4096.0 / batch for batch in BATCHES}, dict.fromkeys(BATCHES, 20.0)]
)
def test_steps_without_a_bend_give_no_critical_batch(steps):
    assert critical_batch(steps).status == "no bend"
    assert critical_batch(steps).b_crit.value is None


def test_the_interval_of_a_ratio_is_made_of_both():
    # log2: 3 (2 to 5) less 1 (0 to 5) is 2, less the root of 1 + 16, more the root of 4 + 1
    found = ratio(Estimate(8.0, 4.0, 32.0, 10), Estimate(2.0, 1.0, 32.0, 10))
    assert np.log2(found[:3]) == pytest.approx([2, 2 - 17**0.5, 2 + 5**0.5])
    assert ratio(Estimate(8.0, 4.0, None, 9), Estimate(2.0, 1.0, 3.0, 9)) == (4.0, None, None, 9)
    assert ratio(Estimate(None, None, None, 9), Estimate(2.0, 1.0, 3.0, 9)).value is None


def test_a_slope_is_that_of_a_line_through_the_medians_with_its_residual_freedom(lab):
    row = derived(lab)[0].iloc[0]
    steps = batch_medians(lab["trials"], row.runs)
    x, y = np.log([2, 4, 8, 16]), np.log([steps[batch] for batch in (2, 4, 8, 16)])
    (line, _), cov = np.polyfit(x, y, 1, cov=True)
    assert row.small_slope == pytest.approx(line)
    # Student's t of two degrees of freedom is 4.303
    assert row.small_slope_high - row.small_slope == pytest.approx(4.303 * cov[0, 0] ** 0.5, 1e-3)


@pytest.mark.parametrize("luck", [0.02, 0.1, 0.3])
def test_the_interval_of_a_slope_covers_though_repeats_share_the_luck_of_their_search(luck):
    random = np.random.default_rng(7)
    covered = 0
    for _ in range(1000):
        winners = 1000 / np.array([2, 4, 8, 16]) * np.exp(random.normal(0, luck, 4))
        repeats = winners * np.exp(random.normal(0, 0.05, (10, 4)))
        found = slope(dict(zip([2, 4, 8, 16], np.median(repeats, axis=0), strict=True)))
        covered += found.low <= -1 <= found.high
    assert covered >= 930


def test_a_ratio_of_steps_has_the_scatter_of_batch_sizes_and_not_of_repeats(lab):
    # At B = 2, 4, 8 and 16 the medians are 30 (1 + 120/B) over 30 (1 + 40/B), with the same wobble
    row = contrasts(lab).iloc[0]
    ratios = np.log([61 / 21, 31 / 11, 16 / 6, 8.5 / 3.5])
    half = 3.182 * ratios.std(ddof=1) / 2
    assert row.small_steps_ratio == pytest.approx((31 / 11 + 16 / 6) / 2, rel=1e-2)
    assert row.small_steps_ratio_low == pytest.approx(np.exp(ratios.mean() - half), rel=1e-2)
    assert row.small_batch == 16


def test_slopes_that_would_share_a_batch_size_are_null(lab):
    few = lab["trials"][lab["trials"].global_batch <= 128]  # seven batch sizes
    row = goal_fit(few, lab["gradient_squares"], lab["runs"]).iloc[0]
    assert row[["small_slope", "large_slope"]].isna().all()


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


def test_ends_of_regimes_beyond_the_measured_batch_sizes_are_null():
    fit = derived(tidy(b_crit={("mlp", "sgd"): 6.0, ("mlp", "nesterov"): 400.0}))[0]
    low, high = (row for _, row in fit.iterrows())
    assert low.b_crit == pytest.approx(6, rel=0.1)
    assert pd.isna(low.perfect_end)
    assert low.maximal_start == pytest.approx(low.b_crit * 4)
    assert high.perfect_end_low == pytest.approx(high.b_crit_low / 4)
    assert high[["maximal_start", "maximal_start_low", "maximal_start_high"]].isna().all()
    assert (high.smallest_batch, high.largest_batch) == (2, 1024)


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


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([10, 12, None, 11, None], (12.0, 10.0, None, 5)),
        ([10, 12, None, 11], (11.5, None, None, 4)),
        ([9, 10, 11, 12, 13, None], (11.5, 9.0, None, 6)),
        ([8, 9, 10, 11, 12, 13, 14, 15, None], (12.0, 9.0, 15.0, 9)),
        ([10, None, None], (None, None, None, 3)),
        ([10, None], (None, None, None, 2)),
        ([None] * 5, (None, None, None, 5)),
        ([], (None, None, None, 0)),
    ],
)
def test_a_median_is_known_while_most_repeats_reached_the_goal(steps, expected):
    assert censored_median(pd.Series(steps, dtype="Int64")) == expected


@pytest.mark.parametrize(
    ("lr", "momentum", "expected"),
    [
        (0.1, 0.0, False),
        (0.015, 0.0, True),
        (9.0, 0.0, True),
        (0.01, 0.9, False),
        (0.9, 0.9, True),
        (0.0016, 0.988, True),
        (0.0025, 0.98, False),
    ],
)
def test_a_point_in_the_outer_tenth_of_the_space_is_on_its_border(lr, momentum, expected):
    assert at_border(lr, momentum, SPACE) is expected


def test_the_noise_scale_comes_from_norms_at_two_batch_sizes():
    # |G|^2 = 1 and tr(Sigma) = 50: E|G_8|^2 = 1 + 50/8, E|G_1024|^2 = 1 + 50/1024
    norms = (1 + 50 / 8, 1 + 50 / 1024, 8, 1024)
    assert gradient_square(*norms) == pytest.approx(1.0)
    assert gradient_variance(*norms) == pytest.approx(50.0)
    assert simple_noise_scale(50.0, 1.0) == 50.0


def test_the_planted_noise_scale_is_found_along_training(lab):
    rows = noise_scale(lab["gradient_squares"], lab["trials"], lab["runs"])
    assert rows.noise_scale.tolist() == pytest.approx([50.0] * len(rows))
    assert rows.progress_frac.tolist() == [0.0, 1.0] * 3


def test_momentum_is_set_against_plain_sgd_and_a_network_against_the_first(lab):
    rows = contrasts(lab)
    assert list(rows.contrast) == ["optimizer", "model"]
    assert rows.b_crit_ratio.tolist() == pytest.approx([3.0, 45 / 40], rel=0.1)
    assert rows.b_crit_ratio_low[0] > 1


def verdicts(claim: str, **options) -> list[str]:
    lab = tidy(**options)
    found = published_steps_to_goal(derived(lab)[0], contrasts(lab))
    return found[found.claim == claim].verdict.tolist()


def test_the_verdict_on_momentum_turns_round_with_the_data():
    curves = {("mlp", "sgd"): 40.0, ("mlp", "nesterov"): 120.0}
    assert verdicts("extends", b_crit=curves) == ["agrees"]
    assert verdicts("extends", b_crit=curves | {("mlp", "nesterov"): 10.0}) == ["disagrees"]
    assert verdicts("extends", b_crit=curves | {("mlp", "nesterov"): 40.0}) == ["not decidable"]


@pytest.mark.parametrize(("factor", "side"), [(1.5, "same"), (1.21, "same"), (1.19, "above")])
def test_two_networks_are_the_same_within_the_factor_of_the_configuration(lab, factor, side):
    # 45 over 40, measured as 1.06 to 1.20
    narrow = lab | {"goal_margins": pd.DataFrame({"equivalent_factor": [factor]})}
    row = contrasts(narrow).iloc[1]
    assert (row.contrast, row.b_crit_side, row.equivalent_factor) == ("model", side, factor)
    claims = published_steps_to_goal(derived(lab)[0], contrasts(narrow)).set_index("claim")
    assert claims.margin[["networks", "matches"]].tolist() == [factor, factor]
    assert claims.verdict["networks"] == ("disagrees" if side == "same" else "not decidable")


def test_the_verdict_on_perfect_scaling_turns_round_with_the_data():
    curves = {("mlp", "sgd"): 100.0}
    assert verdicts("small", b_crit=curves) == ["agrees"]
    assert verdicts("small", b_crit=curves, slope=0.4) == ["disagrees"]


@pytest.mark.parametrize(
    ("name", "low", "high", "verdict"),
    [
        # steps that still fall at the largest batch do not refute a floor beyond it
        ("large", -0.1, 0.05, "agrees"),
        ("large", -0.5, -0.3, "not decidable"),
        ("large", 0.3, 0.5, "disagrees"),
        # networks with one critical batch disagree with the claim that they differ
        ("networks", 0.9, 1.1, "disagrees"),
        ("networks", 0.7, 1.6, "not decidable"),
        ("networks", 1.5, 3.0, "agrees"),
        ("networks", None, 3.0, "not decidable"),
    ],
)
def test_a_claim_is_judged_by_its_rule_and_margin(name, low, high, verdict):
    claim, measured = CLAIMS[name], Estimate(None, low, high, 0)
    margin = 1.25 if claim.margin_column else claim.margin
    options = {"published": claim.published, "margin": margin, "measured": measured}
    assert claim_row(name, claim.rule, **options)["verdict"] == verdict


def test_a_claim_that_no_fit_can_decide_says_why():
    flat = tidy(b_crit={("mlp", "sgd"): 1e7, ("mlp", "nesterov"): 1e7})
    fit = derived(flat)[0]
    found = published_steps_to_goal(fit, contrasts(flat)).set_index("claim")
    assert found.reason["extends"] == "no bend"
    assert found.verdict["small"].tolist() == ["agrees", "agrees"]
    assert found.reason["small"].isna().all()


@pytest.mark.parametrize(
    ("wins", "of", "expected"),
    [
        (6, 6, True),
        (5, 5, False),
        (8, 9, True),
        (7, 9, False),  # 2/64, 2/32, 20/512 and 92/512
    ],
)
def test_a_sign_test_says_what_chance_seldom_gives(wins, of, expected):
    assert told_apart(wins, of) is expected


@pytest.mark.parametrize(
    ("status", "reason"), [("no bend", None), ("out_of_memory", "out of memory")]
)
def test_a_slope_that_was_not_measured_is_not_put_down_to_the_fit(lab, status, reason):
    fit = derived(lab)[0].assign(status=status, small_slope_low=None, b_crit=None)
    found = published_steps_to_goal(fit, contrasts(lab, fit)).set_index("claim")
    assert found.verdict["small"].unique().tolist() == ["not decidable"]
    assert {None if pd.isna(one) else one for one in found.reason["small"]} == {reason}


def test_a_budget_takes_each_trial_where_it_stands(lab):
    rows = budget(lab["trials"], lab["curves"], lab["searches"], lab["runs"])
    own = rows[(rows.model == "mlp") & (rows.optimizer == "sgd") & (rows.global_batch == 2)]
    at = own[own.kind == "steps"].set_index("budget")
    # the first trial needs 643 steps: after 64 of them its error is 0.8 - 0.7 * 64 / 643
    assert at.validation_error_frac[64.0] == pytest.approx(0.8 - 0.7 * 64 / 643)
    assert not at.goal_reached[64.0]
    assert at.validation_error_frac[1024.0] == pytest.approx(planted.GOAL_ERROR_FRAC)
    assert at.goal_reached[1024.0]


def shapes(**options) -> list[tuple[str, bool]]:
    lab = tidy(**options)
    fit, steps = derived(lab)
    claims = published_steps_to_goal(fit, contrasts(lab))
    found = goal_searches(fit, steps, claims)
    return list(zip(found["shape"], found["lead"], strict=True))


def test_an_answer_leads_with_the_first_plain_sgd_that_bends():
    kinds = {("mlp", "nesterov"): 120.0, ("mlp", "sgd"): 1e7, ("softmax", "sgd"): 40.0}
    assert shapes(b_crit=kinds) == [("bend", False), ("proportional", False), ("bend", True)]
    assert shapes(b_crit={("mlp", "sgd"): 1e-3, ("mlp", "nesterov"): 1e-3}) == [
        ("flat", True),
        ("flat", False),
    ]


def test_the_totals_of_a_search_are_over_its_batch_sizes(lab):
    fit, steps = derived(lab)
    claims = published_steps_to_goal(fit, contrasts(lab))
    row = goal_searches(fit, steps, claims).iloc[0]
    assert (row.batches, row.reached_batches, row.complete_trials) == (10, 10, 10)
    assert (row.repeats_reached, row.border_winners, row.goal_error_frac) == (50, 0, 0.04)
    assert (row.noise, claims.family.unique().tolist()) == ("agrees", [12])
    assert claims.chance_decides.unique().tolist() == [pytest.approx(0.6)]


def searched(random: np.random.Generator, truth: pd.Series, luck: float) -> pd.DataFrame:
    """`steps_to_goal` of searches that lie a share off the truth, of ten repeats 15% apart."""
    rows = []
    for batch, steps in truth.items():
        median_of = steps * math.exp(random.normal(0, luck))
        repeats = median_of * np.exp(random.normal(0, 0.15, 10))
        rows.append(
            {"runs": "search", "global_batch": batch}
            | interval_columns("steps_to_goal", median(repeats))
        )
    return with_luck(pd.DataFrame(rows))


@pytest.mark.parametrize("luck", [0.0, 0.1, 0.25])
def test_steps_hold_that_another_search_may_have_had_another_winner(luck) -> None:
    """At each batch size, and of the ratio of the steps of two: 95% intervals in 93 of 100."""
    random = np.random.default_rng(3)
    batches = 2 ** np.arange(1, 11)
    truth = pd.Series(30 * (1 + 100 / batches), batches)
    held, apart = [], []
    for _ in range(300):
        rows = searched(random, truth, luck).to_dict("records")
        steps = [estimate_of(row, "searched_steps") for row in rows]
        held += [one.low <= true <= one.high for one, true in zip(steps, truth, strict=True)]
        ratio = product(steps[5], inverse(steps[7]))
        apart.append(ratio.low <= truth.iloc[5] / truth.iloc[7] <= ratio.high)
    assert np.mean(held) >= 0.93
    assert np.mean(apart) >= 0.93


def test_the_luck_of_two_searches_is_unknown() -> None:
    table = searched(np.random.default_rng(1), pd.Series({32: 60.0, 64: 40.0}), 0.1)
    assert table["searched_steps"].tolist() == table["steps_to_goal"].tolist()
    assert table["searched_steps_low"].isna().all()
