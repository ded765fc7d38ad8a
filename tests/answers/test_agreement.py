"""Answers agree with each other and with the first page, on made-up labs; a plant is found."""

import re

import pytest

from agreement import PAIRS, Report, contradictions
from builders import derived_lab, full_lab
from cases import text_of, where
from dpscale.studies import answer_all, answer_one
from test_q4_2 import CASES as OF_Q4_2


@pytest.mark.parametrize("lab", [{}, {"two_nodes": True}], ids=["one node", "two nodes"])
def test_no_answer_contradicts_another_or_the_first_page(lab) -> None:
    derived, tidy = derived_lab(**lab), full_lab(**lab)
    assert contradictions(derived, tidy, answer_all(derived, tidy)) == []


def test_the_report_seldom_speaks_of_what_is_told() -> None:
    said = " ".join(text_of(one) for one in answer_all(derived_lab(), full_lab()))
    assert len(re.findall(r"\btold\b", said)) <= 15


def report_of(**edits) -> Report:
    derived = derived_lab()
    edited = derived | {name: edit(derived[name]) for name, edit in edits.items()}
    return Report.of(edited, full_lab(), answer_all(derived, full_lab()))


def planted(name: str, report: Report) -> list[str]:
    return list(next(pair for pair in PAIRS if pair.__name__ == name)(report))


@pytest.mark.parametrize(("side", "found"), [("below", 1), ("above", 0), ("indistinct", 0)])
def test_zero_gains_that_are_opposite_without_a_word_are_found(side, found) -> None:
    alone = where(
        {"arm": "zero_gamma", "base": "warmup"},
        arm="zero_gamma_alone",
        base="linear_scaling",
        test_accuracy_side=side,
    )
    assert len(planted("zero_gains", report_of(large_batch=alone))) == found


def test_zero_gains_that_both_answers_call_opposite_are_no_contradiction() -> None:
    case = next(one for one in OF_Q4_2 if one.edits and "{'none': -0.04" in one.name)
    answers = [answer_one(name, case.inputs) for name in ("Q4.2", "S2")]
    report = Report.of(case.inputs.derived, case.inputs.tidy, answers)
    assert planted("zero_gains", report) == []
    assert len(planted("zero_gains", Report(report.derived, report.tidy, report_of().answers))) == 1


def test_a_number_of_the_first_page_that_its_answer_has_not_is_found() -> None:
    report = report_of()
    answer = report.answers["Q2"]
    said = answer.said.model_copy(update={"short": "Up \ue000r\ue00112.3456×\ue002."})
    changed = {**report.answers, "Q2": answer.model_copy(update={"marked": said})}
    found = planted("first_page", Report(report.derived, report.tidy, changed))
    assert found == ["Q2: 12.3456× is on the first page alone"]


def test_two_accuracies_of_one_training_are_found() -> None:
    report = report_of()
    h5 = report.answers["H5"]
    name = next(one for one in h5.values if one.startswith("test_accuracy"))
    values = {**h5.values, name: h5.values[name].model_copy(update={"value": 0.001})}
    changed = {**report.answers, "H5": h5.model_copy(update={"values": values})}
    (line,) = planted("accuracies_of_workers", Report(report.derived, report.tidy, changed))
    assert line.startswith(name)
