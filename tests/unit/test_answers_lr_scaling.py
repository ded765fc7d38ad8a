"""The answer on rate and warm-up: its sentences turn round when the data do."""

from functools import cache

import pytest

import lr_scaling_builders as study
from answer_checks import answers, table_of, text_of
from builders import full_lab, run_row, table
from dpscale.derive.tables import Derived
from dpscale.reporting.answer import Answer

FLAT = (2.1, 2.3, 2.2)


@cache
def answered(*changed: tuple[study.Way, study.Errors]) -> Answer:
    """Return the answer of a lab of this study alone, some ways' errors changed."""
    tidy = {name: frame.iloc[:0] for name, frame in full_lab().items()}
    rows = study.rows(run_row, study.ERRORS | dict(changed))
    tidy |= {name: table(name, made) for name, made in rows.items()}
    return answers(Derived(tidy), tidy)["S2"]


def test_the_sentence_names_what_kept_the_error_what_lost_it_and_the_elbow() -> None:
    assert answered().sentence == (
        "At kn = 256 the test error of the reference batch (kn = 32, 2.10%) is, to 1.00 "
        "percentage points, kept by gradual warm-up (2.30%); lost by no warm-up (4.30%), constant "
        "warm-up (8.30%), the square-root rule (5.10%) and the fixed rate (9.10%); the linear rule "
        "with gradual warm-up keeps it up to kn = 256 and has lost it at kn = 1024."
    )


def test_the_sentence_turns_round_where_warm_up_is_not_needed() -> None:
    found = answered(
        (study.LARGE, (5.0, 5.2, 5.1)), (study.LARGE._replace(warmup="none"), FLAT)
    ).sentence
    assert "kept by no warm-up (2.20%)" in found
    assert "lost by gradual warm-up (5.10%)" in found
    assert "keeps it up to kn = 128 and has lost it at kn = 256" in found


def test_without_a_decision_the_sentence_says_so() -> None:
    found = answered((study.LARGE, (1.0, 9.0, 2.5))).sentence
    assert "neither for certain by gradual warm-up" in found


def test_a_rule_that_never_fails_has_its_elbow_beyond_the_largest_batch() -> None:
    found = answered((study.Way(64), FLAT)).sentence
    assert "keeps it up to the largest batch, kn = 1024" in found


def test_warm_ups_and_gains_are_compared_by_their_paired_differences() -> None:
    said = text_of(answered())
    assert "gradual warm-up has a lower test error than no warm-up (by −2.0" in said
    assert "a constant warm-up has a higher test error than no warm-up" in said
    assert "at kn = 256 a lower test error than a gain of one" in said
    turned = text_of(answered((study.LARGE, (9.0, 9.2, 9.1))))
    assert "gradual warm-up has a higher test error than no warm-up" in turned
    assert "at kn = 256 a higher test error than a gain of one" in turned


def test_the_fixed_rate_is_said_to_be_needed_or_not() -> None:
    assert "the fixed rate loses the error: the rate has to grow" in text_of(answered())
    kept = text_of(answered((study.Way(16, "fixed"), FLAT)))
    assert "the fixed rate keeps the error too" in kept


def test_lars_is_compared_with_the_linear_rule_at_its_batch() -> None:
    lars = study.Way(64, "fixed", optimizer="lars", searched_lr=2.0)
    assert "with the rate 2 chosen on validation data" in text_of(answered())
    assert "lower than the 61.0% (60.0 to 62.0) of the linear rule" in text_of(answered())
    worse = answered((lars, (70.0, 72.0, 71.0)), (lars._replace(searched_lr=4.0), (80.0, 82.0, 81)))
    assert "higher than the 61.0%" in text_of(worse)


def test_a_better_base_rate_on_validation_data_is_named() -> None:
    assert "no rate tried can be told to be better" in text_of(answered())
    tried = study.REFERENCE._replace(searched_lr=0.25)
    assert "a better one was 0.25" in text_of(answered((tried, (1.2, 1.3, 1.25))))


def test_diverged_seeds_are_said() -> None:
    said = text_of(answered())
    assert "linear-constant-unit_gamma at kn = 256 (1 of three seeds)" in said
    way = study.LARGE._replace(warmup="constant", zero_gamma=False)
    assert "No loss became infinite" in text_of(answered((way, (20.0, 20.2, 20.1))))


def test_a_reference_that_diverged_leaves_nothing_to_keep() -> None:
    found = answered((study.REFERENCE, (2.0, None, 2.1)))
    assert found.sentence.startswith("No error can be kept or lost")


def test_published_and_measured_stand_in_columns_of_their_own() -> None:
    made = table_of(answered(), "Comparisons of Goyal")
    first = made.rows[0]
    assert first["published"] == "23.74% against 24.84%"
    assert first["published_difference_frac"].value == pytest.approx(-0.011)
    assert first["published_difference_frac"].runs == []
    assert set(first["difference_frac"].runs) == {
        study.name_of(study.LARGE), study.name_of(study.LARGE._replace(warmup="none")),
    }  # fmt: skip
    assert first["verdict"] == "agrees"


def test_the_expectation_stands_beside_what_came_out() -> None:
    assert f"Expected before the run: {study.EXPECTED}" in text_of(answered())
