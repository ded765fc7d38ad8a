"""Errors, elbow and published comparisons of the rate study, by values worked by hand."""

import pandas as pd
import pytest

import lr_scaling_builders as study
from builders import run_row, table
from dpscale.derive.columns import as_table
from dpscale.derive.published import claim_row
from dpscale.derive.statistics import Estimate
from dpscale.studies.lr_scaling.derive import (
    TIME_COLUMNS,
    elbow,
    epochs,
    lr_scaling,
    published_lr_scaling,
    standing,
)

Tables = dict[str, pd.DataFrame]
NO_TIMES = as_table([], TIME_COLUMNS)


def tidy(**changed: study.Errors) -> Tables:
    """The tidy tables, errors of LARGE or of other ways changed."""
    ways = {"large": study.LARGE, "reference": study.REFERENCE, "kn128": study.Way(8)}
    ways["fixed_ones"] = study.Way(16, "fixed", zero_gamma=False)
    errors = study.ERRORS | {ways[name]: values for name, values in changed.items()}
    return {name: table(name, rows) for name, rows in study.rows(run_row, errors).items()}


def derived(tables: Tables) -> pd.DataFrame:
    return lr_scaling(tables["trials"], tables["curves"], tables["runs"])


def row(rows: pd.DataFrame, way: study.Way) -> pd.Series:
    return rows.set_index("runs").loc[study.name_of(way)]


def test_an_error_is_the_median_over_seeds_of_the_last_epoch() -> None:
    large = row(derived(tidy()), study.LARGE)
    assert large.test_error_frac == pytest.approx(0.023)
    # t of two degrees of freedom, 4.303, times 0.001/sqrt(3) (of logarithms, so by factors: a bit
    # less below and more above), and Wilson's of 100,000 images
    half = ((4.3027 * 0.001 / 3**0.5) ** 2 + (1.96 * (0.023 * 0.977 / 1e5) ** 0.5) ** 2) ** 0.5
    assert large.test_error_frac_low == pytest.approx(0.023 - half, abs=2e-4)
    assert large.test_error_frac_high == pytest.approx(0.023 + half, abs=2e-4)
    assert large.validation_error_frac == pytest.approx(0.013)
    assert large.validation_difference_frac == pytest.approx(0.002)
    assert large.kept_on_validation
    assert (large.groups, large.global_batch, large.lr, large.seeds) == (16, 256, 4.0, 3)


def test_a_difference_is_paired_by_seed() -> None:
    # Every seed is 0.2 points worse, so that the test images alone make the interval:
    # 1.96 * sqrt(0.021 * 0.979 / 1e5 + 0.023 * 0.977 / 1e5)
    large = row(derived(tidy()), study.LARGE)
    assert large.difference_frac == pytest.approx(0.002)
    assert large.difference_frac_low == pytest.approx(0.002 - 0.00129, abs=2e-5)
    assert large.difference_frac_high == pytest.approx(0.002 + 0.00129, abs=2e-5)
    assert large.kept == "kept"


def test_few_wrong_images_are_no_difference() -> None:
    # 31 against 24 wrong of 3 * 360: every seed says so, and z is about 0.9
    tables = tidy(large=(31 / 10.8, 31 / 10.8, 31 / 10.8), reference=(24 / 10.8,) * 3)
    tables["runs"]["test_samples"] = 360
    large = row(derived(tables), study.LARGE)
    assert large.difference_frac == pytest.approx(7 / 1080)
    assert large.difference_frac_low < 0 < large.difference_frac_high
    assert large.kept == "undecided"


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (-0.01, 0.01, "kept"),
        (-0.02, 0.01, "kept or lowered"),
        (-0.03, -0.02, "kept or lowered"),
        (0.011, 0.02, "lost"),
        (0.0, 0.011, "undecided"),
        (None, None, "undecided"),
    ],
)
def test_an_error_is_kept_or_lost_by_its_whole_interval(low, high, said) -> None:
    assert standing(Estimate(0.0, low, high, 3), 0.01) == said


def test_an_arm_of_which_a_seed_diverged_has_no_error() -> None:
    way = study.LARGE._replace(warmup="constant", zero_gamma=False)
    found = row(derived(tidy()), way)
    assert (found.status, found.diverged_seeds) == ("diverged", 1)
    assert pd.isna(found.test_error_frac)
    assert pd.isna(found.validation_difference_frac)
    assert pd.isna(found.kept_on_validation)
    assert found.kept == "lost"


def test_a_run_that_is_planned_and_not_run_keeps_its_settings_and_status() -> None:
    tables = tidy()
    name = study.name_of(study.LARGE)
    tables["runs"]["status"] = tables["runs"].status.mask(tables["runs"].run == name, "not run yet")
    for measured in ("trials", "curves"):
        tables[measured] = tables[measured][tables[measured].run != name]
    found = row(derived(tables), study.LARGE)
    assert (found.status, found.global_batch, found.rule) == ("not run yet", 256, "linear")
    assert pd.isna(found.test_error_frac)


def test_reference_large_batch_and_chosen_rates_are_marked() -> None:
    rows = derived(tidy())
    assert rows[rows.reference].runs.tolist() == [study.name_of(study.REFERENCE)]
    assert set(rows[rows.large].global_batch) == {256}
    chosen = rows[rows.chosen.fillna(False).astype(bool)]
    # 0.5 beats 0.25 at the reference, and 2 beats 4 for LARS, on validation data.
    assert sorted(chosen.runs) == sorted(
        [
            study.name_of(study.REFERENCE),
            study.name_of(study.Way(64, "fixed", optimizer="lars", searched_lr=2.0)),
        ]
    )


def test_the_elbow_is_the_last_batch_before_the_first_that_is_not_kept() -> None:
    found = elbow(derived(tidy())).set_index("rule")
    linear = found.loc["linear"]
    assert (linear.elbow_batch, linear.lost_batch, linear.elbow_ratio) == (256, 1024, 8.0)
    assert (found.loc["sqrt"].elbow_batch, found.loc["sqrt"].lost_batch) == (32, 256)


def test_the_elbow_moves_with_the_errors() -> None:
    # kn = 128 undecided: nothing beyond the reference is shown to be kept.
    undecided = elbow(derived(tidy(kn128=(1.0, 4.0, 2.0)))).set_index("rule").loc["linear"]
    assert (undecided.elbow_batch, undecided.lost_batch) == (32, 1024)
    lost = elbow(derived(tidy(large=(5.0, 5.2, 5.1)))).set_index("rule").loc["linear"]
    assert (lost.elbow_batch, lost.lost_batch) == (128, 256)


def published(tables: Tables) -> pd.DataFrame:
    rows = derived(tables)
    made = published_lr_scaling(rows, NO_TIMES, tables["trials"], tables["curves"])
    return made.set_index("claim")


def test_published_comparisons_get_the_verdict_of_the_paired_interval() -> None:
    found = published(tidy())
    gradual = found.loc["gradual_none"]
    assert gradual.published == pytest.approx(-0.011)
    assert gradual.measured == pytest.approx(-0.02)
    assert gradual.verdict == "agrees"
    assert found.loc["constant_none"].verdict == "agrees"
    assert found.loc["gradual_reference"].verdict == "agrees"
    assert found.loc["fixed_linear"].verdict == "agrees"


def test_verdicts_turn_round_with_the_errors() -> None:
    worse = published(tidy(large=(9.0, 9.2, 9.1)))
    assert worse.loc["gradual_none"].verdict == "disagrees"
    assert worse.loc["gradual_reference"].verdict == "disagrees"
    noisy = published(tidy(large=(1.0, 9.2, 4.3)))
    assert noisy.loc["gradual_none"].verdict == "not decidable"


def test_the_published_curve_is_set_beside_the_same_multiple_of_the_reference() -> None:
    found = published(tidy()).reset_index().set_index("batch_ratio")
    four = found.loc[4.0]
    assert (four.published_batch, four.global_batch, four.verdict) == (1024, 128, "agrees")
    assert four.published == pytest.approx(-0.0007)
    # 32 times: published flat (23.74 against 23.60), here 61% against 2.1%.
    assert (found.loc[32.0].verdict, found.loc[32.0].global_batch) == ("disagrees", 1024)
    assert pd.isna(found.loc[16.0].global_batch)
    assert found.loc[16.0].reason == "not planned"


def test_a_measurement_that_two_claims_speak_of_is_judged_once() -> None:
    found = published(tidy())
    assert found.loc["gradual_reference"].verdict == "agrees"
    same = found.loc["error_2048"]  # 8 times the reference, as the large batch is
    assert (same.verdict, same.reason) == ("not judged", "judged above")
    assert same.measured == found.loc["gradual_reference"].measured


def test_gains_of_one_are_not_the_published_warm_ups() -> None:
    found = published(tidy()).loc["gradual_none_unit"]
    assert (found.verdict, found.reason) == (
        "not judged",
        "gains of one here, zero in the publication",
    )
    assert found.measured == pytest.approx(-0.091)


def test_a_diverged_side_decides_nothing() -> None:
    found = published(tidy(large=(2.2, None, 2.3))).loc["gradual_none"]
    assert found.verdict == "not decidable"
    assert pd.isna(found.reason)


@pytest.mark.parametrize(
    ("workers", "device", "verdict", "reason"),
    [
        (2, "CPU core", "not judged", "measured on CPU cores, published on GPUs"),
        (2, "NVIDIA H200", "not judged", "2 workers here, 352 published"),
        (352, "NVIDIA H200", "agrees", None),
    ],
)
def test_a_share_of_352_gpus_is_judged_by_as_many(workers, device, verdict, reason) -> None:
    tables = tidy()
    times = as_table(
        [
            {
                "workers": workers,
                "device": device,
                "oversubscribed": False,
                "per_worker_batch": 32,
                "efficiency_frac": 0.95,
                "efficiency_frac_low": 0.94,
                "efficiency_frac_high": 0.96,
                "runs": "n",
                "base_runs": "one",
            }
        ],
        TIME_COLUMNS,
    )
    made = published_lr_scaling(derived(tables), times, tables["trials"], tables["curves"])
    found = made.set_index("claim").loc["efficiency"]
    assert (found.verdict, None if pd.isna(found.reason) else found.reason) == (verdict, reason)


def test_curves_have_a_row_an_epoch_and_end_where_a_seed_diverged() -> None:
    tables = tidy()
    made = epochs(derived(tables), tables["trials"], tables["curves"])
    large = made[made.runs == study.name_of(study.LARGE)].set_index("epoch")
    assert large.train_error_frac.tolist() == pytest.approx([0.68075, 0.4615, 0.24225, 0.023])
    assert large.validation_error_frac[4] == pytest.approx(0.013)
    way = study.LARGE._replace(warmup="constant", zero_gamma=False)
    broken = made[made.runs == study.name_of(way)].set_index("epoch")
    assert broken.train_error_frac.notna().tolist() == [True, False, False, False]


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.91, 0.95, "agrees"),
        (0.9, 0.95, "agrees"),
        (0.7, 0.8, "disagrees"),
        (0.85, 0.95, "not decidable"),
        (None, None, "not decidable"),
    ],
)
def test_a_share_is_reached_by_its_whole_interval(low, high, said) -> None:
    measured = Estimate(low, low, high, 3)
    row = claim_row("efficiency", "at least", published=0.9, measured=measured)
    assert row["verdict"] == said


def test_the_course_of_a_rule_says_how_its_error_goes_with_the_batch():
    found = elbow(derived(tidy())).set_index("rule")
    assert found.course.to_dict() == {
        "linear": "lost later",
        "sqrt": "lost at once",
        "fixed": "lost at once",
    }
    assert found.largest_ratio.tolist() == [32.0] * 3


def test_an_arm_is_set_beside_the_linear_rule_with_the_same_batch_by_seed():
    fixed = row(derived(tidy()), study.Way(64, "fixed"))
    assert fixed.linear_difference_frac == pytest.approx(-0.2)  # 41% less 61%, in every seed
    assert fixed.to_linear == "below"
    assert pd.isna(row(derived(tidy()), study.Way(64)).linear_difference_frac)


def test_another_rule_with_gains_of_one_is_set_beside_the_linear_rule_that_has_them():
    made = derived(tidy(fixed_ones=(4.0, 4.2, 4.1)))
    # 4.1% less the 3.0% of the linear rule with gains of one; that less the 2.3% with zero gains
    assert row(
        made, study.Way(16, "fixed", zero_gamma=False)
    ).linear_difference_frac == pytest.approx(0.011)
    ones = row(made, study.LARGE._replace(zero_gamma=False))
    assert ones.linear_difference_frac == pytest.approx(0.007)


def test_each_verdict_says_of_how_many_it_is_and_what_chance_decides_of_those():
    rows = derived(tidy())
    judged = rows[rows.family.notna()]
    # 16 to the reference, 11 to the linear rule, 3 to gains of one
    assert judged.family.unique().tolist() == [30]
    assert judged.chance_decides.unique().tolist() == [pytest.approx(1.5)]
    assert not judged.reference.any()
