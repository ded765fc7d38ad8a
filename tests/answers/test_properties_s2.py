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
    ends = tidy["trials"], tidy["curves"]
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
         "undecided": "not decided for"}  # fmt: skip
NUMBERS = ("no", "one", "two", "three", "four", "five")


def check_sentence(sentence: str, rows: pd.DataFrame) -> None:
    """Arms stand behind the verb that their intervals and the margin choose, or their number."""
    arms = rows[rows.large & (rows.optimizer == "sgd") & (rows.role == "arm") & rows.zero_gamma]
    names: dict[str, list[str]] = {}
    for row in arms.itertuples():
        name = NAMES[row.warmup if row.rule == "linear" else row.rule]
        names.setdefault(standing(row), []).append(name)
    clauses = sentence.replace("percentage points, ", "; ").partition(". The linear")[0].split("; ")
    for how, own in names.items():
        (clause,) = (one for one in clauses if one.startswith(f"{VERBS[how]} "))
        said = clause.removeprefix(f"{VERBS[how]} ")
        if len(own) > 2:
            assert re.match(rf"{NUMBERS[len(own)]} (ways|others)\b", said), (own, sentence)
        else:
            assert all(name in said for name in own), (own, sentence)
    assert ("decide no more" in sentence) == ("undecided" in names)


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
        assert f"up to the largest batch, B = {found[-1][0]}" in sentence
    else:
        kept = f"up to B = {found[held - 1][0]} and" if held else "keep it at no larger batch and"
        assert kept in sentence
        assert (f"has lost it at B = {lost[0]}" if lost else "beyond nothing") in sentence


WORDS = {"below": "lower", "above": "higher", "indistinct": "not told apart",
         "unknown": "not compared"}  # fmt: skip
SIDES = {"gradual_none": ("with zero gains, against no warm-up", " with gradual warm-up"),
         "constant_none": ("with zero gains, against no warm-up", " with constant warm-up"),
         "gamma_reference": ("have an error", " at the reference batch")}  # fmt: skip


def check_comparisons(text: str, claims: pd.DataFrame) -> None:
    for row in claims[claims.runs.notna()].itertuples():
        if row.claim in SIDES:
            start, after = SIDES[row.claim]
            said = text.partition(start)[2].partition("points). ")[0]
            assert f" {WORDS[side(row.measured_low, row.measured_high)]}{after}" in said, text
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
