"""Each table of words in a template is held by a case: two entries swapped, and one fails."""

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import Template, nodes

from cases import Case, failures, text_of
from dpscale.reporting import words
from dpscale.reporting.answers import QUESTIONS
from dpscale.reporting.question import Question

WORDED = [name for name, question in QUESTIONS.items() if isinstance(question, Question)]


def cases_of(question: str) -> list[Case]:
    """The cases in the question's file."""
    name = f"test_{question.lower().replace('.', '_')}"
    cases: list[Case] = importlib.import_module(name).CASES
    return cases


def parsed(question: str) -> nodes.Template:
    source = (Path(words.TEMPLATES) / f"{question}.j2").read_text("utf-8")
    return words.environment().parse(source)


def compiled(tree: nodes.Template) -> Template:
    made = words.environment()
    return Template.from_code(made, made.compile(tree), made.globals.copy())


def _heads(tree: nodes.Template) -> set[int]:
    """The heads of tables' columns, which no data choose."""
    calls = [
        call for call in tree.find_all(nodes.Call) if getattr(call.node, "name", "") == "table"
    ]
    given = {id(argument) for call in calls for argument in call.args}
    named = {argument.name for call in calls for argument in call.args
             if isinstance(argument, nodes.Name)}  # fmt: skip
    sets = [one for one in tree.find_all(nodes.Assign) if getattr(one.target, "name", "") in named]
    return given | {id(one.node) for one in sets}


def tables_of_words(tree: nodes.Template) -> Iterator[nodes.Dict]:
    heads = _heads(tree)
    for found in tree.find_all(nodes.Dict):
        if id(found) not in heads and len(found.items) > 1:
            yield found


def swapped(question: str) -> Iterator[tuple[str, Template]]:
    """The template with two neighbouring entries of a table swapped, for each such pair."""
    sizes = [len(one.items) for one in tables_of_words(parsed(question))]
    for table, size in enumerate(sizes):
        for place in range(size - 1):
            tree = parsed(question)
            found = list(tables_of_words(tree))[table]
            one, other = found.items[place], found.items[place + 1]
            if one.value == other.value:
                continue
            one.value, other.value = other.value, one.value
            keys = " and ".join(str(getattr(item.key, "value", "?")) for item in (one, other))
            yield f"line {found.lineno}: {keys}", compiled(tree)


@pytest.mark.parametrize("question", WORDED)
def test_a_swap_of_two_entries_fails_a_case(question: str) -> None:
    asked = QUESTIONS[question]
    assert isinstance(asked, Question)
    survived = [
        where
        for where, template in swapped(question)
        if not any(
            failures(case, text_of(asked.worded(case.facts(asked), template)))
            for case in cases_of(question)
        )
    ]
    assert not survived, f"report/{question}.j2: no case notices a swap in {survived}"
