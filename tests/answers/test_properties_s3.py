"""S3 of generated tables: each claim of its words is worked out again from the tables."""

from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import model_averaging_builders as made
from builders import Tables, empty_lab, run_row, table
from cases import plain, text_of
from dpscale.derive.tables import Derived
from dpscale.reporting.answer import Answer
from dpscale.reporting.inputs import Inputs
from dpscale.studies import answer_one, derived_of, questions
from failed_runs import STATUSES, failed
from properties import BY_CHANCE

SMALL, LARGE, LINEAR = "sgd_small", "sgd_large", "sgd_large_linear"
OWN = "sma_tuned α = 1/k"
NUMBERS = st.floats(-5, 5, allow_subnormal=False)
INTERVALS = st.one_of(st.none(), st.tuples(NUMBERS, NUMBERS).map(sorted))
ENDS = ("epochs_difference", "seconds_difference", "accuracy_difference_frac")


def lab(**how: Any) -> Tables:
    """The study alone."""
    rows = made.study_rows(**how)
    rows["runs"] = [run_row(**row) for row in rows["runs"]]
    return empty_lab() | {name: table(name, own) for name, own in rows.items()}


TIDY = lab()
DERIVED: Derived = derived_of(TIDY)
PAIRS = DERIVED["averaging_pairs"]
ARMS = DERIVED["model_averaging"]
LEARNERS = DERIVED["learners"]


def with_intervals(rows: pd.DataFrame, column: str, ends: list[Any]) -> pd.DataFrame:
    """The rows with an interval each, and its middle as the value."""
    low, high = (pd.Series([pair and pair[end] for pair in ends], dtype=float) for end in (0, 1))
    new = {column: (low + high) / 2, f"{column}_low": low, f"{column}_high": high}
    return rows.assign(**{name: values.to_numpy() for name, values in new.items()})


@st.composite
def tables(draw: st.DrawFn) -> dict[str, pd.DataFrame]:
    """Derived tables with other differences, arms that reach the target or not, other gains."""
    pairs = PAIRS
    for column in ENDS:
        pairs = with_intervals(pairs, column, [draw(INTERVALS) for _ in range(len(pairs))])
    counts = [draw(st.integers(0, 3)) for _ in range(len(ARMS))]
    status = ["complete" if one == 3 else draw(st.sampled_from(["incomplete", "diverged"]))
              for one in counts]  # fmt: skip
    arms = ARMS.assign(reached=counts, status=status)
    for name in ("epochs_to_target", "seconds_to_target"):
        arms[name] = arms[name].fillna(7.0).where(pd.Series(counts, arms.index) == 3)
    ratios = [draw(INTERVALS) for _ in range(len(LEARNERS))]
    learners = with_intervals(LEARNERS, "against_plain_ratio", ratios)
    gone = draw(st.lists(st.sampled_from(list(ARMS["arm"])), max_size=2))
    return {
        "averaging_pairs": pairs[~(pairs["arm"].isin(gone) | pairs["against"].isin(gone))],
        "model_averaging": arms[~arms["arm"].isin(gone)], "learners": learners,
    }  # fmt: skip


def side(row: pd.Series, column: str) -> str:
    """Which of two arms is sooner by an interval."""
    low, high = row[f"{column}_low"], row[f"{column}_high"]
    if pd.isna(low):
        return "not comparable"
    return "sooner" if high < 0 else "later" if low > 0 else "not told apart"


def worded(edited: dict[str, pd.DataFrame]) -> Answer:
    return questions()["S3"](Inputs(dict(DERIVED) | edited, TIDY))


def check_sentence(said: str, edited: dict[str, pd.DataFrame]) -> None:
    arms, pairs = edited["model_averaging"].set_index("arm"), edited["averaging_pairs"]
    averaged = arms[arms["optimizer"] == "sma"]
    if not {SMALL, LARGE, LINEAR} <= set(arms.index) or averaged.empty:
        assert "cannot be compared with SGD" in said
        return
    rates = averaged[averaged["lr"] != arms.loc[SMALL, "lr"]]
    first = (rates if len(rates) else averaged).index[0]
    own = pairs[pairs["arm"] == first].set_index("against")
    orders = {}
    for name in (LARGE, LINEAR):
        epochs, seconds = (side(own.loc[name], column) for column in ENDS[:2])
        both, apart = (
            f"{epochs} in epochs and seconds",
            f"{epochs} in epochs and {seconds} in seconds",
        )
        orders[name] = both if epochs == seconds else apart
    if orders[LARGE] == orders[LINEAR]:
        assert f"at either rate, {orders[LARGE]}." in said
    else:
        scaled = f"at the linearly scaled rate, {orders[LINEAR]}; "
        assert f"{scaled}at the unscaled, {orders[LARGE]}." in said
    reached, status = arms.loc[first, "reached"], arms.loc[first, "status"]
    assert ("accuracy after" in said) == (reached == 3)
    assert ("with any seed" in said) == (status == "incomplete" and reached == 0)


def check_tables(answer: Answer, edited: dict[str, pd.DataFrame]) -> None:
    text, pairs = text_of(answer), edited["averaging_pairs"]
    beside = pairs[pairs["arm"].str.startswith("sma") & pairs["against"].str.startswith("sgd")]
    shown = [row for one in answer.tables if "beside SGD, paired" in one.caption
             for row in one.rows]  # fmt: skip
    columns = ("label", "against_label", "in_epochs", "in_seconds")
    assert sorted(tuple(plain(str(row[name])) for name in columns) for row in shown) == sorted(
        (row["label"], row["against_label"], side(row, ENDS[0]), side(row, ENDS[1]))
        for _, row in beside.iterrows()
    )
    known = int(beside[[f"{ENDS[0]}_low", f"{ENDS[1]}_low"]].notna().to_numpy().sum())
    if "Model averaging cannot be compared" not in text and known > 1:
        assert f"Of {known} such comparisons without any effect" in text
    ratios = edited["learners"][edited["learners"]["chosen"].fillna(False)]
    ends = ratios["against_plain_ratio_low"], ratios["against_plain_ratio_high"]
    assert ("the throughput of one network by itself" in text) == bool(
        ((ends[0] > 1) | (ends[1] < 1)).any()
    )


@settings(BY_CHANCE, max_examples=40)
@given(tables())
def test_what_s3_says_of_generated_tables_follows_their_intervals(edited):
    answer = worded(edited)
    check_sentence(plain(answer.sentence), edited)
    check_tables(answer, edited)
    assert answer.sentence.endswith(".")
    assert all(one.endswith((".", ":")) for one in answer.paragraphs)
    words = plain(" ".join([answer.sentence, *answer.paragraphs, *answer.method]))
    for wrong in ("None", "nan", "  ", " .", " ,", ";.", "no effect", "equal "):
        assert wrong not in words, words


SMALLER = lab(seeds=(0, 1), speeds={1: 1000.0, 2: 1500.0})
KINDS = ["model_averaging-seed0", "model_averaging-rates", "model_averaging-learners-mlp-b16"]


@pytest.mark.parametrize("status", STATUSES)
def test_no_failure_of_a_run_ends_in_an_error(status):
    for runs in [*([one] for one in KINDS), list(SMALLER["runs"]["run"])]:
        tidy = failed(SMALLER, runs, status)
        answer = answer_one("S3", Inputs(derived_of(tidy), tidy))
        assert answer.sentence.endswith(".")
        withheld = status in ("failed", "not run yet")
        assert bool(answer.missing) == withheld


def test_a_training_that_diverges_before_its_first_evaluation_is_no_error():
    trials = TIDY["trials"].copy()
    hit = (trials["arm"] == OWN) & (trials["seed"] == 1)
    trials.loc[hit, "status"] = "diverged"
    gone = set(trials[hit][["run", "trial"]].itertuples(index=False, name=None))
    keys = TIDY["curves"][["run", "trial"]].itertuples(index=False, name=None)
    kept = TIDY["curves"][[key not in gone for key in keys]]
    tidy = TIDY | {"trials": trials, "curves": kept}
    answer = answer_one("S3", Inputs(derived_of(tidy), tidy))
    assert "do not all come to an end: a seed diverged" in answer.sentence
