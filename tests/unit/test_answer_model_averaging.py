"""S3's sentence and paragraphs turn round when the data does."""

import functools

import pytest

import model_averaging_builders as made
from builders import empty_lab, run_row, table
from dpscale.derive.tables import COLUMNS, DERIVED
from dpscale.reporting.answer import Answer
from dpscale.reporting.answers import s3
from dpscale.reporting.answers.inputs import Inputs
from figure_checks import as_read, axes_texts, draw, label_faults

TABLES = ["model_averaging", "averaging_curves", "averaging_rates", "averaging_pairs", "learners",
          "published_model_averaging"]  # fmt: skip
OWN, OTHER = "sma_tuned α = 1/k", "sma_tuned α = 0.1"


@functools.cache
def _lab(reached: tuple, options: tuple):
    given = {name: dict(value) if name == "speeds" else value for name, value in options}
    rows = made.study_rows(dict(reached), **given)
    rows["runs"] = [run_row(**row) for row in rows["runs"]]
    tidy = empty_lab() | {name: table(name, rows[name]) for name in rows}
    derived = {}
    for name in TABLES:
        function, inputs = DERIVED[name]
        derived[name] = function(*[derived[one] if one in derived else tidy[one] for one in inputs])
    return derived, tidy


def lab(reached=(), **options):
    frozen = {name: tuple(value.items()) if isinstance(value, dict) else value
              for name, value in options.items()}  # fmt: skip
    return _lab(tuple((made.REACHED | dict(reached)).items()), tuple(frozen.items()))


def answer(reached=(), **options) -> Answer:
    return s3.answer(Inputs(*lab(reached, **options)))


def test_the_sentence_names_what_averaging_needs_beside_both_rates_of_sgd():
    # 5 epochs of 1.5 s; unscaled 7 epochs of 1 s, scaled 4; each seed an epoch later.
    assert answer().sentence.startswith(
        "For a test accuracy of 95.0% eight averaged learners with batches of 16, at a rate of "
        "their own (γ = 0.2, α = 0.125) need fewer epochs and more seconds compared with "
        "SGD of B = 128 at the unscaled rate and more epochs and seconds compared with SGD of "
        "B = 128 at the linearly scaled rate; at the rate of SGD with the small batch "
        "(γ = 0.02) they do not reach it in 12 epochs with any seed; tuned by throughput"
    )


def test_the_sentence_turns_round_when_averaging_is_sooner():
    sentence = answer({OWN: 2, "sma α = 1/k": 3, "sma α = 0.1": 3}).sentence
    assert "(γ = 0.2, α = 0.125) need fewer epochs and seconds compared with SGD" in sentence
    assert "more epochs" not in sentence
    assert (
        "at the rate of SGD with the small batch (γ = 0.02) they need, with α = 0.125, fewer"
        in (sentence)
    )


def test_seeds_that_reach_the_target_are_counted():
    assert "reach it with 1 of 3 seeds where α = 0.125" in answer({"sma α = 1/k": 12}).sentence


@pytest.mark.parametrize(
    ("epochs", "words"),
    [
        (5, "they need fewer epochs: a gain of averaging"),
        (9, "they need more epochs: averaging gains nothing"),
        (7, "their epochs cannot be told apart"),
    ],
)
def test_at_equal_effective_rates_the_reason_follows_the_order(epochs, words):
    start = "With γ = 0.2 and α = 0.125 the effective rates of both are nearly the same, and"
    assert f"{start} {words}" in " ".join(answer({OWN: epochs}).paragraphs)


@pytest.mark.parametrize(
    ("epochs", "words"),
    [(None, "is what this predicts"), (2, "is not what decides here")],
)
def test_the_drift_explains_the_same_rate_only_where_it_does(epochs, words):
    reached = {"sma α = 1/k": epochs, "sma α = 0.1": epochs}
    assert words in " ".join(answer(reached).paragraphs)


@pytest.mark.parametrize(
    ("epochs", "words"),
    [(7, "the second needs more epochs and seconds"), (3, "the second needs fewer epochs and sec")],
)
def test_both_settings_of_alpha_are_compared(epochs, words):
    assert words in " ".join(answer({OTHER: epochs}).paragraphs)


def test_learners_are_tuned_and_a_better_number_beyond_the_choice_is_told():
    text = " ".join(answer().paragraphs)
    assert "For mlp with b = 16 it settles on 3" in text
    assert "5 would give 22.2% more" in text
    every = answer(speeds={1: 1000.0, 2: 2000.0})
    assert "2 for mlp with b = 16" in every.sentence
    assert "the most that were tried" in " ".join(every.paragraphs)


def test_published_and_expected_stand_beside_what_came_out():
    found = answer()
    text = " ".join(found.paragraphs)
    assert f"Expected before the run: {made.EXPECTED}" in text
    assert "this disagrees in 8 of 8 comparisons" in text
    assert "this agrees in 6 of 6 comparisons" in text
    table_of = next(table for table in found.tables if "Published by" in table.caption)
    assert {row["verdict"] for row in table_of.rows} == {"agrees", "disagrees"}
    assert {row["published"] for row in table_of.rows} == {"1.3 to 4 ×", "more"}


def test_with_one_seed_nothing_is_decided():
    sentence = answer(seeds=(0,)).sentence
    assert "epochs and seconds that cannot be compared" in sentence
    assert "fewer" not in sentence


def test_the_figures_show_every_arm_and_mark_the_choice():
    tables = as_read(lab()[0])
    figure, drawn = draw("model_averaging", tables)
    assert drawn["arm"].nunique() == 7
    assert label_faults(figure) == []
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "8 learners, b = 16, γ = 0.2, α = 0.125" in labels
    figure, drawn = draw("learners", tables)
    assert label_faults(figure) == []
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "mlp, b = 16", "mlp, b = 128", "resnet_8x8, b = 16",
    ]  # fmt: skip
    ring = [line for line in figure.axes[0].lines if line.get_label() == "chosen"]
    assert list(ring[0].get_xdata()) == [3]


def test_figures_without_results_say_so():
    empty = {name: table.iloc[:0] for name, table in as_read(lab()[0]).items()}
    for name in ("model_averaging", "learners"):
        figure, _ = draw(name, empty)
        assert "not measured yet" in axes_texts(figure)


def test_the_tables_have_the_registered_columns():
    for name, frame in lab()[0].items():
        assert list(frame.columns) == list(COLUMNS[name])
