"""A training that counts no right answers: losses stay, and no sentence speaks of accuracy."""

import pandas as pd
import pytest

from builders import derived_lab, full_lab
from cases import plain
from dpscale.derive.tables import Derived
from dpscale.reporting.inputs import Inputs
from dpscale.studies import derived_of, questions


@pytest.fixture(scope="module")
def inputs() -> Inputs:
    """The made-up lab, its accuracies never counted."""
    tidy = dict(full_lab())
    for name in ("replicas", "curves"):
        wanted = [column for column in tidy[name] if "accuracy" in column]
        tidy[name] = tidy[name].assign(**dict.fromkeys(wanted, float("nan")))
    derived: Derived = derived_of(tidy)
    return Inputs(derived, tidy)


def test_q4_1_compares_losses_alone(inputs) -> None:
    answer = questions()["Q4.1"](inputs)
    assert not answer.missing
    assert "training loss" in answer.sentence
    assert "accuracy" not in answer.sentence
    assert "right answers are not counted" in plain(" ".join(answer.method))


@pytest.mark.parametrize("question", ["Q4.2", "H5", "H6", "S3", "S4"])
def test_a_question_of_accuracy_says_why_it_has_no_answer(inputs, question) -> None:
    answer = questions()[question](inputs)
    assert any("counts no right answers; give own.file" in line for line in answer.missing)


@pytest.mark.parametrize("question", ["Q5", "H3"])
def test_others_leave_accuracy_out(inputs, question) -> None:
    answer = questions()[question](inputs)
    assert not answer.missing
    assert "not measured" not in answer.sentence
    assert "test accuracy" not in answer.sentence


def test_with_accuracies_nothing_changes() -> None:
    lab: dict[str, pd.DataFrame] = dict(derived_lab())
    answer = questions()["Q4.1"](Inputs(lab, full_lab()))
    assert "test accuracy" in answer.sentence
