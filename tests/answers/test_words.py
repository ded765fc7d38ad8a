"""Each table of words in a template is held by a case: two entries swapped, and one fails."""

import functools
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from jinja2 import BaseLoader, Environment, Template, UndefinedError, meta, nodes

from cases import Case, failures, said
from dpscale.reporting import words
from dpscale.studies import questions

ENVIRONMENT = words.environment()


@functools.cache
def compiled(name: str) -> CodeType:
    """The code of a template of the report as it is, for all the swaps in others."""
    return ENVIRONMENT.compile((Path(words.TEMPLATES) / name).read_text("utf-8"), name)


def cases_of(question: str) -> list[Case]:
    name = f"test_{question.lower().replace('.', '_')}"
    cases: list[Case] = importlib.import_module(name).CASES
    return cases


def parsed(name: str) -> nodes.Template:
    return words.environment().parse((Path(words.TEMPLATES) / name).read_text("utf-8"))


class Instead(BaseLoader):
    """The templates of the report, one of them another."""

    def __init__(self, name: str, tree: nodes.Template) -> None:
        self._name, self._tree = name, tree

    def load(self, environment: Environment, name: str, globals: Any = None) -> Template:
        own = name == self._name
        code = environment.compile(self._tree, name) if own else compiled(name)
        return Template.from_code(environment, code, dict(environment.globals))


def _heads(tree: nodes.Template) -> set[int]:
    """The heads of tables' columns, which no data choose."""
    calls = [
        call
        for call in tree.find_all(nodes.Call)
        if any(getattr(one, "name", "") == "table" for one in (call.node, *call.args))
    ]
    given = {id(argument) for call in calls for argument in call.args}
    named = {
        argument.name
        for call in calls
        for argument in call.args
        if isinstance(argument, nodes.Name)
    }
    sets = [one for one in tree.find_all(nodes.Assign) if getattr(one.target, "name", "") in named]
    return given | {id(one.node) for one in sets}


def tables_of_words(tree: nodes.Template) -> Iterator[nodes.Dict]:
    heads = _heads(tree)
    for found in tree.find_all(nodes.Dict):
        if id(found) not in heads and len(found.items) > 1:
            yield found


def pieces(*entries: nodes.Pair) -> list[str]:
    """The longest piece of each text of some entries of a table, beside what data fill in."""
    found = [
        text.value
        for entry in entries
        for text in (entry.value, *entry.value.find_all(nodes.Const))
        if isinstance(text, nodes.Const) and isinstance(text.value, str)
    ]
    longest = [max(re.split(r"%\S*", text), key=len).strip() for text in found]
    return [piece for piece in longest if len(piece) > 2]


def swapped(name: str) -> Iterator[tuple[str, list[str], nodes.Template]]:
    """A template with two neighbouring entries of a table swapped, for each such pair.

    With where they stand, and pieces of their texts.
    """
    sizes = [len(one.items) for one in tables_of_words(parsed(name))]
    for table, size in enumerate(sizes):
        for place in range(size - 1):
            tree = parsed(name)
            found = list(tables_of_words(tree))[table]
            one, other = found.items[place], found.items[place + 1]
            if one.value == other.value:
                continue
            texts = pieces(one, other)
            one.value, other.value = other.value, one.value
            keys = " and ".join(str(getattr(item.key, "value", "?")) for item in (one, other))
            yield f"line {found.lineno}: {keys}", texts, tree


def users() -> dict[str, list[str]]:
    used: dict[str, list[str]] = {}
    for question in questions():
        imported = meta.find_referenced_templates(parsed(f"{question}.j2"))
        for name in (f"{question}.j2", *filter(None, imported)):
            used.setdefault(name, []).append(question)
    return used


USERS = users()


def likely_first(name: str, texts: list[str]) -> list[tuple[str, Case]]:
    """The cases of all questions of a template, first those that expect one of these texts."""
    cases = [(question, case) for question in USERS[name] for case in cases_of(question)]
    return sorted(
        cases, key=lambda one: not any(text in words for words in one[1].says for text in texts)
    )


def noticed(question: str, case: Case) -> bool:
    """Whether a case of the question fails, or ends in an error."""
    try:
        return bool(failures(case, said(question, case)))
    except UndefinedError:
        return True


@pytest.mark.slow
@pytest.mark.parametrize("name", USERS)
def test_a_swap_of_two_entries_fails_a_case(name, monkeypatch) -> None:
    survived = []
    for where, texts, tree in swapped(name):
        other = words.environment().overlay(loader=Instead(name, tree))
        with monkeypatch.context() as patch:
            patch.setattr(words, "environment", lambda other=other: other)
            if not any(noticed(*one) for one in likely_first(name, texts)):
                survived.append(where)
    assert not survived, f"report/{name}: no case notices a swap in {survived}"
