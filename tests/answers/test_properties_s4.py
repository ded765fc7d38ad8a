"""S4 of generated tables: each claim of its words is worked out again from the tables."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import local_sgd_builders
from builders import Tables, empty_lab, run_row, table
from cases import plain
from dpscale.reporting.answer import Answer
from dpscale.reporting.inputs import Inputs
from dpscale.studies import answer_one, derived_of, questions
from failed_runs import STATUSES, failed
from properties import BY_CHANCE, side

ENDS = st.floats(-0.2, 0.2, allow_subnormal=False)
INTERVALS = st.one_of(st.none(), st.tuples(ENDS, ENDS).map(sorted))
REGIMES = {0.0: "clean", 0.2: "20% wrong"}
LARGE = "post_local_against_large"


def lab() -> Tables:
    """The study alone."""
    rows = local_sgd_builders.rows(run_row)
    return empty_lab() | {name: table(name, own) for name, own in rows.items()}


TIDY = lab()
DERIVED = derived_of(TIDY)
TIMES = pd.DataFrame(
    [{"link": link, "workers": 16, "per_worker_batch": 32, "local_steps": every, "epoch_s": 1.0,
      "communication_epoch_s": 0.1, "synchronous_epoch_s": 2.0, "speedup_ratio": 2.0,
      "overlap_frac": 0.0, "stretch_ratio": 1.0, "status": "predicted", "runs": "one"}
     for link in ("this link", "slow") for every in (1, 16)]
)  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> dict[str, pd.DataFrame]:
    """Differences, training accuracies and rounds of the arms, and stretches of the links."""
    arms, claims = DERIVED["local_sgd"].copy(), DERIVED["published_local_sgd"].copy()
    for frame, column in ((arms, "over_large_frac"), (claims, "measured")):
        for index in frame.index:
            found = draw(INTERVALS)
            low, high = found or (None, None)
            middle = None if found is None else (low + high) / 2
            frame.loc[index, [column, f"{column}_low", f"{column}_high"]] = middle, low, high
    shares = draw(st.lists(st.sampled_from([0.9, 0.9989, 0.9991, 1.0]),
                           min_size=len(arms), max_size=len(arms)))  # fmt: skip
    arms["train_accuracy_frac"] = 1.0 if draw(st.booleans()) else shares
    if draw(st.booleans()):
        arms["rounds"] = pd.NA
    stretch = draw(st.sampled_from([1.0, 3.17]))
    own = TIMES["link"] == "this link"
    times = TIMES.assign(stretch_ratio=TIMES["stretch_ratio"].mask(own, stretch),
                         overlap_frac=draw(st.sampled_from([0.0, 0.5])))  # fmt: skip
    return {"local_sgd": arms, "published_local_sgd": claims,
            "local_sgd_times": times.iloc[: draw(st.sampled_from([0, 4]))]}  # fmt: skip


STANDS = {"unknown": "not comparable", "above": "higher", "below": "lower",
          "indistinct": "not told apart"}  # fmt: skip


def stands(row: pd.Series, column: str) -> str:
    return STANDS[side(row[f"{column}_low"], row[f"{column}_high"])]


def said_of(clauses: str, noise: float) -> str:
    """What a list says of a regime: the last standing before it."""
    before = clauses.partition(f"with {REGIMES[noise]} labels")[0]
    return max(STANDS.values(), key=before.rfind)


def regime_of(text: str, noise: float) -> str:
    """What a text says with the labels of a regime, up to the next."""
    for mark in (f"With {REGIMES[noise]} labels", f"with {REGIMES[noise]} labels"):
        if mark in text:
            text = text.partition(mark)[2]
            break
    return text.partition(" labels ")[0] if " labels " in text else text


def check_regime(answer: Answer, arms: pd.DataFrame, claims: pd.DataFrame, noise: float) -> None:
    sentence = plain(answer.sentence)
    assert said_of(sentence, noise) == stands(claims.loc[LARGE], "measured"), sentence
    sides = {stands(row, "over_large_frac") for _, row in arms.iterrows()}
    sides |= {stands(row, "measured") for _, row in claims.iterrows()}
    apart = bool({"higher", "lower"} & sides)
    learned = bool((arms["train_accuracy_frac"] >= 0.999).all())
    limit = sentence.partition("communication")[2].partition(". ")[2]
    named = f"ith {REGIMES[noise]} labels" in limit
    assert ("every arm learned" in limit and named) == (learned and not apart), sentence
    text = plain(" ".join(answer.paragraphs))
    losses = text.index("The training loss of")
    best = text[text.index("). W", losses) + 2 :]
    better = arms[arms["over_large_frac_low"] > 0]
    every = "With each kind of labels no arm is told apart"
    found = best if every in best else regime_of(best, noise)
    assert ("no arm is told apart" in found) == better.empty, best
    if len(better):
        top = better[better["test_accuracy_frac"] == better["test_accuracy_frac"].max()]
        assert any(f"is {row['arm'][:2]}, {row['title']}" in found for _, row in top.iterrows())


@settings(BY_CHANCE, max_examples=40)
@given(tables())
def test_what_s4_says_of_generated_tables_follows_their_intervals(edited):
    answer = questions()["S4"](Inputs(dict(DERIVED) | edited, TIDY))
    arms, claims = edited["local_sgd"], edited["published_local_sgd"]
    for noise in REGIMES:
        own = claims[claims["label_noise_frac"] == noise].set_index("claim")
        check_regime(answer, arms[arms["label_noise_frac"] == noise], own, noise)
    text = plain(" ".join([answer.sentence, *answer.paragraphs, *answer.method]))
    assert ("rounds of communication are not known" in text) == arms["rounds"].isna().all()
    stretched = (edited["local_sgd_times"]["stretch_ratio"] > 1).any()
    assert ("3.17× on this link with b = 32." in text) == stretched
    assert text.count("3.17×") == (1 if stretched else 0)
    assert answer.sentence.endswith(".")
    assert all(one.endswith((".", ":")) for one in answer.paragraphs)
    for wrong in ("None", "nan", "  ", " .", " ,", ";.", "no effect", "equal ", "no difference"):
        assert wrong not in text, text


@pytest.mark.parametrize("status", STATUSES)
def test_no_failure_of_a_run_ends_in_an_error(status):
    names = list(TIDY["runs"]["run"])
    for runs in [["local_sgd-noise0-a1"], ["local_sgd-noise0-a2-a5"], names]:
        tidy = failed(TIDY, runs, status)
        answer = answer_one("S4", Inputs(derived_of(tidy), tidy))
        assert answer.sentence.endswith(".")
        if status in ("failed", "not run yet"):
            assert answer.missing
        elif not answer.missing:
            named = [name for name in runs if f"({name})" in " ".join(answer.paragraphs)]
            assert named == runs
