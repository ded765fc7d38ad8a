"""A question's facts and its template: strict, with one frame for what is withheld."""

import pandas as pd
import pytest
from jinja2 import ChoiceLoader, DictLoader, UndefinedError

from builders import empty_lab
from cases import numbers
from dpscale.reporting import texts, words
from dpscale.reporting.answer import Figure, Value
from dpscale.reporting.inputs import Inputs, Row
from dpscale.reporting.question import Facts, Question, table_of

TEMPLATE = """
{% macro question() %}How   fast?{% endmacro %}
{% macro tables() %}{{ table("Times.", rows, {"workers": "N", "epoch_s": "Epoch", "pace": ("Pace",
{"above": "slow"})}) }}{% endmacro %}
{% macro figures() %}{{ figure("a", "Times", "Of an epoch.") }}{% endmacro %}
{% macro short() %}An epoch takes {{ rows[0].epoch_s | bare }}.{% endmacro %}
{% macro sentence() %}
An epoch takes {% for row in rows %}
{{ row.epoch_s | bare }}{{ loop | comma }}
{% endfor %} , {{ rows | length | counted("time") }}.
{% endmacro %}
{% macro paragraphs() %}
First.

{% if rows | length > 5 %}
Never.
{% endif %}

{{ rows[0].epoch_s }}
again.
{% endmacro %}
{% macro method() %}
In {{ rows | length | counted("launch", "launches") }}, {{ rows[1].epoch_s | bare }} at the most.
{% endmacro %}
"""
NOTHING_RUN = empty_lab()
ROWS = [
    Row(
        workers=n,
        epoch_s=float(n),
        epoch_s_low=n / 2,
        epoch_s_high=2.0 * n,
        repeats=5,
        runs=f"run-{n}",
        pace="above",
    )
    for n in (1, 2)
]


@pytest.fixture
def written(monkeypatch):
    """Makes a question of a template and some facts, and answers it."""

    def answer(facts, template=TEMPLATE, **of_the_question):
        made = words.environment()
        made = made.overlay(loader=ChoiceLoader([DictLoader({"X.j2": template}), made.loader]))
        monkeypatch.setattr(words, "environment", lambda: made)
        return Question("X", lambda _: facts, **of_the_question)(Inputs({}, NOTHING_RUN))

    return answer


def test_words_numbers_and_tables_come_from_the_template(written):
    answer = written(Facts(said={"rows": ROWS}))
    assert answer.question == "How fast?"
    assert answer.sentence.replace("\u00a0", " ") == "An epoch takes 1.00 s and 2.00 s, two times."
    assert [text.replace("\u00a0", " ") for text in answer.paragraphs] == [
        "First.",
        "1.00 s (0.50 to 2.00) again.",
    ]
    said = answer.said
    marked = (said.sentence, *said.paragraphs, *said.method)
    assert [[runs for _, runs in numbers(text)] for text in marked] == [
        [["run-1"], ["run-2"]],
        [],
        [["run-1"]],
        [["run-2"]],
    ]
    assert [plain.replace("\u00a0", " ") for plain in answer.method] == [
        "In two launches, 2.00 s at the most."
    ]
    (table,) = answer.tables
    assert table.caption == "Times."
    assert table.rows[1]["epoch_s"] == Value(
        value=2.0, unit="s", low=1.0, high=4.0, n=5, runs=["run-2"]
    )
    assert [row["pace"] for row in table.rows] == ["slow", "slow"]
    assert answer.figures == [Figure(name="a", title="Times", caption="Of an epoch.")]


@pytest.mark.parametrize("given", ["rows.nowhere", "rows[0].nowhere", "nowhere"])
def test_a_column_or_a_fact_that_is_not_there_is_an_error(written, given):
    template = TEMPLATE.replace("First.", f"{{{{ {given} | counted('time') }}}}")
    with pytest.raises(UndefinedError, match="nowhere"):
        written(Facts(said={"rows": ROWS}), template)


def test_facts_add_formulas_and_works_to_those_of_the_question(written):
    facts = Facts(said={"rows": ROWS}, formula=["y"], references=["B"])
    answer = written(facts, formula=["x"], references=["A"])
    assert answer.formula == ["x", "y"]
    assert answer.references == ["A", "B"]


def test_a_word_that_is_not_in_its_table_is_an_error(written):
    with pytest.raises(KeyError, match="below"):
        written(Facts(said={"rows": [ROWS[0] | {"pace": "below"}]}))


def test_what_is_missing_withholds_the_words_and_keeps_tables_and_values(written):
    value = Value(value=1.0, unit="s")
    answer = written(Facts(["a, N = 2: not run yet"], {"one": value}, {"rows": ROWS}))
    assert answer.sentence == ("The conclusion is withheld: one result that it needs is missing.")
    assert answer.paragraphs == [
        "Missing: a, N = 2: not run yet. The answer appears once this result exists."
    ]
    assert len(answer.tables) == 1
    assert answer.values == {"one": value}


def test_nodes_stand_beside_workers_where_there_are_several():
    rows = [row | {"nodes": row["workers"]} for row in ROWS]
    columns = {"workers": "N", "epoch_s": "Epoch"}
    heads = [column.key for column in table_of("", rows, columns).columns]
    assert heads == ["workers", "nodes", "epoch_s"]
    assert [one.key for one in table_of("", ROWS, columns).columns] == ["workers", "epoch_s"]


def test_a_column_has_the_unit_of_its_name_the_given_one_or_none():
    columns = {
        "epoch_s": "A",
        "repeats": ("B", "count"),
        "latency_s": ("C", ""),
        "pace": ("D", {"above": "slow"}),
    }
    found = table_of("", [row | {"latency_s": "5 µs"} for row in ROWS], columns)
    assert [column.unit for column in found.columns] == ["s", "count", "", ""]
    assert found.rows[0]["latency_s"] == "5 µs"


def test_rows_are_grouped_by_one_column_or_by_several():
    rows = [{"a": 1, "b": 2}, {"a": 2, "b": 2}, {"a": 1, "b": 2, "c": 3}]
    assert words.by(rows, "a") == [(1, [rows[0], rows[2]]), (2, [rows[1]])]
    assert words.by(rows, "a", "b") == [((1, 2), [rows[0], rows[2]]), ((2, 2), [rows[1]])]


def test_a_spread_is_one_number_of_all_runs_where_both_ends_are_written_alike():
    one, other = (
        Value(value=v, unit="number", runs=[run]) for v, run in ((2.0, "a"), (2.001, "b"))
    )
    ((_, alike),) = numbers(words.spread([other, one]))
    assert alike == ["a", "b"]
    further = words.spread([one, Value(value=1.0, unit="number", runs=["c"]), other])
    assert texts.plain(further) == "1.00 to 2.00"
    assert [runs for _, runs in numbers(further)] == [["c"], ["b"]]


def test_columns_of_a_row_are_numbers_with_interval_unit_and_runs():
    frame = pd.DataFrame(
        {"per_worker_batch": [8], "busbw_bytes_per_s": [2.0], "runs": ["a"], "base_runs": ["b a"]}
    )
    (row,) = Inputs({"t": frame}, {}).rows("t")
    assert row["busbw_bytes_per_s"] == 2.0
    assert row.busbw_bytes_per_s == Value(value=2.0, unit="bytes/s", runs=["a", "b"])
    assert row.per_worker_batch == 8
    with pytest.raises(AttributeError, match="nowhere"):
        row.nowhere  # noqa: B018


def test_a_macro_of_the_row_words_a_cell():
    (pace,) = table_of("", ROWS[:1], {"pace": ("Pace", lambda row: f" {row['pace']}\n N ")}).rows
    assert pace == {"pace": "above N"}


def test_a_plain_column_links_to_nothing_and_a_table_of_no_rows_is_none(written):
    plain = TEMPLATE.replace("}) }}{% endmacro %}", "}, ['epoch_s']) }}{% endmacro %}")
    (table,) = written(Facts(said={"rows": ROWS}), plain).tables
    assert [row["epoch_s"] for row in table.rows] == [1.0, 2.0]
    assert table.runs == [["run-1"], ["run-2"]]
    assert not written(Facts(["a"], {}, {"rows": []}), plain).tables
