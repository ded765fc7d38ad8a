"""S2 by chance: whatever the errors of the arms, what it says follows from the derived tables."""

import re

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

import lr_scaling_builders as study
from builders import Tables, full_lab, run_row, table
from dpscale.derive.columns import as_table
from dpscale.reporting.inputs import Inputs
from dpscale.studies.lr_scaling.derive import (
    TIME_COLUMNS,
    elbow,
    lr_scaling,
    published_lr_scaling,
)
from properties import BY_CHANCE, asked, failing, side

ERROR = st.one_of(st.floats(0.0, 8.0), st.floats(0.0, 100.0))
SEEDS = st.integers(1, 4)
WAYS = list(study.ERRORS)
FEW = [study.REFERENCE, study.LARGE, study.LARGE._replace(warmup="none"),
       study.Way(64, "fixed", optimizer="lars", searched_lr=2.0)]  # fmt: skip
NAMES = {"none": "no warm-up", "constant": "constant warm-up", "gradual": "gradual warm-up",
         "sqrt": "the square-root rule", "fixed": "the fixed rate"}  # fmt: skip


def lab(errors: dict[study.Way, study.Errors], images: int = study.TEST_SAMPLES) -> Tables:
    empty = {name: frame.iloc[:0] for name, frame in full_lab().items()}
    made = {name: table(name, rows) for name, rows in study.rows(run_row, errors).items()}
    made["runs"]["test_samples"] = images
    return empty | made


def derived(tidy: Tables) -> Tables:
    """The tables of the study alone, without timed runs."""
    ends = tidy["trials"], tidy["evaluations"]
    rows, times = lr_scaling(*ends, tidy["runs"]), as_table([], TIME_COLUMNS)
    return {"lr_scaling": rows, "lr_scaling_elbow": elbow(rows), "iteration_times": times,
            "published_lr_scaling": published_lr_scaling(rows, times, *ends)}  # fmt: skip


@st.composite
def labs(draw: st.DrawFn) -> Tables:
    """Arms with errors by chance, of which some seeds diverge and some arms are not planned."""
    seeds, noise = draw(SEEDS), draw(st.sampled_from([0.01, 0.3, 10.0]))
    ways = [
        study.REFERENCE,
        *draw(st.lists(st.sampled_from(WAYS[1:]), unique=True, min_size=3, max_size=8)),
    ]
    errors = {}
    for way in ways:
        middle, spread = draw(ERROR), [draw(st.floats(-noise, noise)) for _ in range(seeds)]
        values: list[float | None] = [min(100.0, max(0.0, middle + one)) for one in spread]
        if draw(st.integers(0, 9)) == 0:
            values[-1] = None
        errors[way] = tuple(values)
    return lab(errors, draw(st.sampled_from([50, 360, 10_000, 1_000_000])))


def standing(row: pd.Series) -> str:
    low, high, margin = row.difference_frac_low, row.difference_frac_high, row.margin_frac
    if row.status == "diverged" or low > margin:
        return "lost"
    if pd.isna(low) or high > margin:
        return "undecided"
    return "kept" if low >= -margin else "kept or lowered"


VERBS = {"kept": "kept by", "kept or lowered": "kept or lowered by", "lost": "lost by",
         "undecided": "not told to be kept or lost by"}  # fmt: skip


def check_sentence(sentence: str, rows: pd.DataFrame) -> None:
    """Each arm stands behind the verb that its interval and the margin choose, and no other."""
    arms = rows[rows.large & (rows.optimizer == "sgd") & (rows.role == "arm")]
    clauses = sentence.replace("percentage points, ", "; ").split(";")
    for row in arms[arms.zero_gamma].itertuples():
        name = NAMES[row.warmup if row.rule == "linear" else row.rule]
        (clause,) = (one for one in clauses if re.search(rf"(by|,|and) {name} \(", one))
        assert clause.strip().startswith(VERBS[standing(row)] + " "), (name, sentence)


def check_elbow(sentence: str, rows: pd.DataFrame) -> None:
    series = rows[(rows.rule == "linear") & (rows.warmup == "gradual") & rows.zero_gamma
                  & (rows.role == "arm")].sort_values("global_batch")  # fmt: skip
    found = [(row.global_batch, standing(row)) for row in series.itertuples()]
    if not found:
        assert "no elbow" in sentence
        return
    held = 0
    while held < len(found) and found[held][1].startswith("kept"):
        held += 1
    lost = [batch for batch, how in found if how == "lost"]
    if held == len(found):
        assert f"up to the largest batch, kn = {found[-1][0]}" in sentence
    else:
        kept = f"up to kn = {found[held - 1][0]} and" if held else "at no larger batch and"
        assert kept in sentence
        assert (f"has lost it at kn = {lost[0]}" if lost else "beyond nothing") in sentence


WORDS = {"below": "a lower test error than", "above": "a higher test error than",
         "indistinct": "a test error not told apart from that of",
         "unknown": "no error to compare with that of"}  # fmt: skip
SIDES = {"gradual_none": ("gradual warm-up has ", " no warm-up"),
         "constant_none": ("a constant warm-up has ", " no warm-up"),
         "gamma_reference": ("at the reference batch ", " a gain of one")}  # fmt: skip


def check_comparisons(text: str, claims: pd.DataFrame) -> None:
    for row in claims[claims.runs.notna()].itertuples():
        if row.claim in SIDES:
            before, after = SIDES[row.claim]
            assert before + WORDS[side(row.measured_low, row.measured_high)] + after in text, text
    judged = claims[claims.verdict.isin(["agrees", "disagrees"])]
    assert not judged.duplicated(["runs", "base_runs"]).any()
    assert judged.measured_low.notna().all()


@settings(BY_CHANCE, max_examples=20)
@given(labs())
def test_what_s2_says_follows_from_the_intervals(tidy: Tables) -> None:
    made = derived(tidy)
    answer, text = asked("S2", Inputs(made, tidy))
    rows = made["lr_scaling"]
    base = rows[rows.reference].iloc[0]
    if answer.missing or pd.isna(base.test_error_frac) or not rows.large.any():
        return
    check_sentence(answer.sentence.replace("\u00a0", " "), rows)
    check_elbow(text, rows)
    check_comparisons(text, made["published_lr_scaling"])
    for word in ("equal", "as many as", "no difference beyond", "no effect on"):
        assert word not in answer.sentence


def test_no_failure_of_its_runs_is_an_error() -> None:
    tidy = lab({way: study.ERRORS[way] for way in FEW})
    for name, tables in failing(tidy, list(tidy["runs"]["run"])):
        assert asked("S2", Inputs(derived(tables), tables)), name
