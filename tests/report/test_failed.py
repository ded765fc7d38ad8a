"""An answer, or a figure, that fails costs the report itself alone, and the last job names it."""

import json
from pathlib import Path

import pandas as pd
import pytest
from jinja2 import ChoiceLoader, FileSystemLoader
from made_lab import TEMPLATES, lab_answers, write_report

from builders import derived_lab, full_lab
from dpscale import studies
from dpscale.figures import FigureEntry
from dpscale.reporting import words
from dpscale.reporting.answer import Answer
from dpscale.reporting.pictures import read_picture
from dpscale.reporting.question import Facts, Question, failed
from dpscale.reporting.render import write_html
from dpscale.studies import answer_all, question_ids
from script_calls import Ended, call

ERROR = "UndefinedError: no words for <below> in $TOLD$ (E2.j2, line 56)"


@pytest.fixture(scope="module")
def intact() -> dict[str, Answer]:
    return {one.id: one for one in answer_all(derived_lab(), full_lab())}


def found(intact: dict[str, Answer], name: str) -> Answer:
    """The answer of the made-up lab to a question that fails, once all others are as they were."""
    now = {one.id: one for one in answer_all(derived_lab(), full_lab())}
    assert list(now) == question_ids()
    assert {one: now[one] for one in now if one != name} == {
        one: intact[one] for one in intact if one != name
    }
    assert now[name].question == intact[name].question
    return now[name]


def test_words_that_are_not_there_cost_their_answer_alone(intact, monkeypatch, tmp_path) -> None:
    text = (TEMPLATES / "E2.j2").read_text(encoding="utf-8")
    line = text[: text.index("{% macro short() %}")].count("\n") + 1
    broken = text.replace("{% macro short() %}", "{% macro short() %}{{ {}['up'] }}")
    (tmp_path / "E2.j2").write_text(broken, encoding="utf-8")
    made = words.environment()
    made = made.overlay(loader=ChoiceLoader([FileSystemLoader(tmp_path), made.loader]))
    monkeypatch.setattr(words, "environment", lambda: made)
    answer = found(intact, "E2")
    assert answer.status == "failed"
    reason = "UndefinedError: 'dict object' has no attribute 'up'"
    assert answer.error == f"{reason} (E2.j2, line {line})"
    assert answer.error in answer.sentence


@pytest.mark.parametrize("value", [None, float("nan")], ids=["raised", "not a number"])
def test_facts_that_fail_cost_their_answer_alone(value, intact, monkeypatch) -> None:
    def facts(inputs: object) -> Facts:
        raise ZeroDivisionError("division by zero")

    def answered(self: Question, inputs: object) -> Answer:
        if self.id != "Q5":
            return worded(self, inputs)
        if value is None:
            facts(inputs)
        values = {"x": {"value": value, "unit": "s"}}
        return Answer.model_validate({**intact["Q5"].model_dump(), "values": values})

    worded = Question.__call__
    monkeypatch.setattr(Question, "__call__", answered)
    reason = "ZeroDivisionError: division by zero" if value is None else "ValueError: "
    assert found(intact, "Q5").error.startswith(reason)


def test_a_study_whose_answers_cannot_be_imported_costs_its_own(intact, monkeypatch) -> None:
    def part(self: studies.Study, name: str, kind: str) -> object:
        if (self.name, name) == ("choose", "answers"):
            raise ImportError("no module named answers")
        return read(self, name, kind)

    read = studies.Study.part
    monkeypatch.setattr(studies.Study, "part", part)
    studies._question.cache_clear()
    assert found(intact, "E2").error.startswith("ImportError: no module named answers")
    studies._question.cache_clear()


def with_failed(folder: Path) -> Path:
    """A made-up lab of which E2 failed: its folder, and its page."""
    answers = [failed("E2", ERROR) if one.id == "E2" else one for one in lab_answers()]
    report = write_report(folder, answers=answers)
    assert report.failed == ["E2"]
    write_html(report, templates=TEMPLATES, output=folder / "report.html")
    return folder


def test_the_page_says_in_its_place_and_at_the_top_which_answer_failed(tmp_path) -> None:
    text = (with_failed(tmp_path) / "report.html").read_text(encoding="utf-8")
    head = text[: text.index('<dl class="summary">')]
    assert 'Answers that failed, by a slip of the program:\n<a href="#answer-E2">E2</a>.' in head
    assert "How many workers and which global batch reach the goal soonest" in text
    section = text[text.index('<section class="answer" id="answer-E2">') :]
    assert "This answer failed, by a slip of the program" in section
    assert "no words for &lt;below&gt; in $TOLD$" in section
    shown = [one for one in lab_answers() if not one.left_out]
    assert text.count('<section class="answer"') == len(shown) + 1  # and the audit


def checked(folder: Path) -> Ended:
    given = ("--answers", folder / "answers.json", "--figures", folder)
    return call("check_report", *given, "--output", folder / "answered.txt")


def test_the_last_job_fails_and_names_what_did(tmp_path) -> None:
    with_failed(tmp_path)
    pd.DataFrame({"error": ["ValueError: no axis"]}).to_csv(tmp_path / "speedup.csv", index=False)
    ended = checked(tmp_path)
    assert ended.returncode == 1
    _, *lines = ended.stderr.splitlines()
    assert lines == [f"E2: {ERROR}", "figure speedup: ValueError: no axis"]
    assert not (tmp_path / "answered.txt").exists()


def test_the_last_job_is_content_with_answers_that_stand_or_are_withheld(tmp_path) -> None:
    write_report(tmp_path)
    pd.DataFrame({"workers": [1]}).to_csv(tmp_path / "speedup.csv", index=False)
    assert checked(tmp_path).returncode == 0
    assert (tmp_path / "answered.txt").exists()


@pytest.mark.parametrize("processes", [1, 2])
def test_a_figure_that_fails_is_drawn_as_its_error(tmp_path, monkeypatch, processes) -> None:
    import draw

    def slip(*tables: pd.DataFrame) -> None:
        raise ZeroDivisionError("no $ width")

    for name in ("ledger", "wire"):
        derived_lab()[name].to_csv(tmp_path / f"{name}.csv", index=False)
    entries = studies.figures()
    broken = {"broken": FigureEntry(slip, ("ledger",)), "ledger": entries["ledger"]}
    monkeypatch.setattr(draw, "all_figures", lambda: broken)
    names = list(broken)
    draw.draw(derived=tmp_path, output=tmp_path / "drawn", names=names, processes=processes)
    picture = read_picture(tmp_path / "drawn", "broken")
    words = "This figure failed, by a slip of the program: ZeroDivisionError: no $ width"
    assert picture.alt.startswith(words)
    assert list(pd.read_csv(tmp_path / "drawn/broken.csv")) == ["error"]
    assert "error" not in pd.read_csv(tmp_path / "drawn/ledger.csv")


def test_a_derived_table_that_fails_is_named(tmp_path, monkeypatch) -> None:
    import derive

    def slip(*tables: pd.DataFrame) -> None:
        raise ValueError("no such cell")

    for name, table in full_lab().items():
        table.to_parquet(tmp_path / f"{name}.parquet")
    tables = studies.tables()
    made = {"scaling": tables["scaling"]._replace(make=slip, inputs=["runs"])}
    monkeypatch.setattr(derive, "derived", lambda: made)
    monkeypatch.setattr(studies, "tables", lambda: made)
    ended = call("derive", "--tables", tmp_path, "--output", tmp_path)
    assert ended.stderr == "derive.py: derived table scaling: no such cell\n"


def test_answers_are_whole_lists_of_what_other_programs_read(tmp_path) -> None:
    with_failed(tmp_path)
    (one,) = [a for a in json.loads((tmp_path / "answers.json").read_text()) if a["id"] == "E2"]
    assert one["status"] == "failed"
    assert one["error"] == ERROR
    assert {"question", "sentence", "formula", "values"} <= one.keys()
