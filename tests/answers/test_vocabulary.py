"""A verdict that has no words in a template is refused before anything is measured."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from jinja2 import ChoiceLoader, DictLoader, nodes

from dpscale.compare import page
from dpscale.derive.columns import as_table
from dpscale.reporting import audits, coverage, words
from dpscale.studies import closing_id, question_ids, questions, vocabulary
from dpscale.vocabulary import Verdict, Words, agreed
from dpscale.vocabulary import words as kinds
from script_calls import call

PACES = kinds("pace side") | kinds("size", ("small", "large"))
FULL = '{"above": 1, "below": 2, "indistinct": 3, "unknown": 4}'
PART = '{"above": 1, "indistinct": 3, "unknown": 4}'


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Put templates in place of those of the report, or beside them."""

    def planted(**templates: str) -> None:
        made = words.environment()
        own = {f"{name}.j2": text for name, text in templates.items()}
        made = made.overlay(loader=ChoiceLoader([DictLoader(own), made.loader]))
        monkeypatch.setattr(words, "environment", lambda: made)
        coverage.read.cache_clear()

    yield planted
    coverage.read.cache_clear()


def test_every_template_of_the_report_has_words_for_all_that_it_meets() -> None:
    every = {path.name for path in words.TEMPLATES.glob("*.j2")}
    declared = {f"{name}.j2": vocabulary(name) for name in (*question_ids(), closing_id())}
    declared |= {"audit.txt.j2": audits.VOCABULARY}
    declared |= dict.fromkeys(("compare.html.j2", "compare.txt.j2"), page.VOCABULARY)
    assert coverage.problems(declared) == []
    seen = {*declared, *(name for one in declared for name in coverage.read(one).imported)}
    parse = words.environment().parse
    texts = {name: (words.TEMPLATES / name).read_text("utf-8") for name in every - seen}
    assert [name for name, text in texts.items() if parse(text).find(nodes.Dict)] == []


@pytest.mark.parametrize("name", question_ids())
def test_verdicts_that_a_template_switches_on_are_columns_of_derived_tables(name) -> None:
    declared = questions()[name].vocabulary
    own = {one: kind.values for one, kind in declared.items() if isinstance(kind, Words)}
    assert [one for one, values in own.items() if values & {"above", "below"}] == []


def test_a_verdict_without_words_is_refused_with_template_table_and_value(plant) -> None:
    text = (Path(words.TEMPLATES) / "E2.j2").read_text("utf-8")
    assert '"below": "sooner", ' in text
    plant(E2=text.replace('"below": "sooner", ', ""))
    line = text[: text.index("TOLD[row.to_fastest]")].count("\n") + 1
    ended = call("check_words")
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[1:] == [
        f"report/E2.j2, line {line}: TOLD has no words for to_fastest = 'below'"
    ]


# How a template may reach a table of words; T is its dictionary.
WAYS = [
    "{{ T[row.pace] }}",
    "{{ T[pace] }}",
    "{{ T[row['pace']] }}",
    "{{ T[row.rows[0].pace] }}",
    "{{ T[row.pace or row.side] }}",
    "{{ T[row.size if row.size else row.pace] }}",
    "{% for pace, own in rows | by('pace') %}{{ T[pace] }}{% endfor %}",
    "{% for (hue, size), own in rows | by('pace', 'size') %}{{ T[hue] }}{% endfor %}",
    "{{ f(*T[row.pace]) }}",
    "{% set N = T %}{{ N[row.pace] }}",
    "{% macro f(row) %}{% set N = T %}{{ N[row.pace] ~ '.' }}{% endmacro %}",
    "{% set N = T %}{% set M = N %}{{ M[row.pace] }}",
    "{{ {'small': T, 'large': T}[row.size][row.pace] }}",
    "{{ dict(T)[row.pace] }}",
    "{{ table('Cells.', rows, {'pace': ('Pace', T)}) }}",
    "{% set columns = {} %}{% set _ = columns.update({'pace': ('Pace', T)}) %}",
    "{{ table('Cells.', rows, dict({}, pace=('Pace', T))) }}",
]


@pytest.mark.parametrize("way", WAYS)
def test_a_missing_entry_is_found_however_the_table_is_reached(way, plant) -> None:
    plant(X=way.replace("T", PART))
    found = [one for one in coverage.problems({"X.j2": PACES}) if "size" not in one]
    assert found
    assert all(one.startswith("report/X.j2, line 1: ") for one in found)
    assert all("has no words for" in one and one.endswith("'below'") for one in found)
    coverage.read.cache_clear()
    plant(X=way.replace("T", FULL))
    assert not [one for one in coverage.problems({"X.j2": PACES}) if "size" not in one]


def test_a_table_of_another_template_is_looked_at_where_it_is_used(plant) -> None:
    plant(
        X='{% import "Y.j2" as other %}{{ other.TOLD[row.pace] }}', Y=f"{{% set TOLD = {PART} %}}"
    )
    assert coverage.problems({"X.j2": PACES}) == [
        "report/X.j2, line 1: TOLD has no words for pace = 'below'"
    ]


def test_a_macro_that_is_imported_is_looked_at_too(plant) -> None:
    macro = f"{{% macro f(row) %}}{{{{ {PART}[row.pace] }}}}{{% endmacro %}}"
    plant(X='{% from "Y.j2" import f %}', Y=macro)
    (problem,) = coverage.problems({"X.j2": PACES})
    assert problem == "report/Y.j2, line 1: the table of words has no words for pace = 'below'"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{{{{ {FULL}[row.hue] }}}}", "is indexed by hue, whose words nothing declares"),
        (f"{{{{ {FULL}[row.x + 1] }}}}", "is indexed by what has no name"),
        (f"{{{{ {FULL}.get(row.pace, '') }}}}", "is to be indexed by [...], so that each value"),
        (f"{{{{ {FULL}.get(row.hue) }}}}", "is to be indexed by [...], so that each value"),
        (f"{{% set N = {FULL} %}}{{{{ f(N) }}}}", "N is to be indexed where it stands or by its"),
        (f"{{{{ f({FULL}) }}}}", "is to be indexed where it stands or by its name"),
        (f"{{{{ ({FULL} if x else {FULL})[row.pace] }}}}", "is to be indexed where it stands"),
        (
            "{{ {'above': 1, 'belwo': 2, 'below': 3, 'indistinct': 4, 'unknown': 5}[row.pace] }}",
            "has words for pace = 'belwo', which it never is",
        ),
    ],
)
def test_what_cannot_be_judged_is_refused(text, problem, plant) -> None:
    plant(X=text)
    found = coverage.problems({"X.j2": PACES})
    assert found
    assert all(problem in one for one in found)


@pytest.mark.parametrize(
    "text",
    [
        "{{ {'adam': 'Adam'}.get(row.optimizer, row.optimizer) }}",
        "{% set N = {'a': 1} %}{% for key, word in N.items() if key in x %}{{ word }}{% endfor %}",
        f"{{{{ {FULL[:-1]}, none: 'itself'}}[row.pace] }}}}",
        "{{ rows[row.place] }}{{ rows[-1] }}{{ groups[row.hue] }}",
    ],
)
def test_what_is_no_table_of_a_column_or_has_words_for_all_else_is_no_problem(text, plant) -> None:
    plant(X=text)
    assert coverage.problems({"X.j2": PACES}) == []


def test_a_question_knows_the_columns_of_its_study_and_what_it_declares() -> None:
    known = vocabulary("E2")
    assert known["to_fastest"].values == set(Verdict.__args__)
    assert known["blame"].values == {"samples", "batch", "sharing", "communication"}
    assert known["found"].values == {*Verdict.__args__, "missed", "unavailable"}
    # Of the table of another study, where a question names it.
    assert known["optimizer"].values == {"sgd", "momentum", "nesterov"}
    assert "optimizer" not in vocabulary("H3")


def test_a_column_is_known_where_all_its_tables_agree() -> None:
    tables = [kinds("pace side"), kinds("pace", ("fast", "slow")), {"side": "float64"}]
    assert list(agreed(tables)) == ["side"]


def test_a_word_that_a_column_cannot_hold_is_refused_when_the_table_is_made() -> None:
    columns = kinds("pace", Literal["fast"] | Literal["slow"])
    assert as_table([{"pace": "fast"}, {"pace": None}], columns)["pace"].tolist()[0] == "fast"
    with pytest.raises(ValueError, match=r"^column pace: 'quick' is none of fast, slow$"):
        as_table([{"pace": "quick"}], columns)
