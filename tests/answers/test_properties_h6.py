"""H6 for any lab: what it says of accuracies is what their intervals decide."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import small_labs
from cases import plain
from properties import QUICK, asked
from small_labs import SHARES, inputs

STUDY = small_labs.study("assignment-linear", "assignment-sqrt", "assignment-fixed", epochs=[4],
                         two_nodes=True)  # fmt: skip
VALUES = ["test_accuracy_frac", "test_accuracy_frac_low", "test_accuracy_frac_high"]


@QUICK
@given(st.data())
def test_the_best_on_two_nodes_has_the_most_and_is_told_from_what_its_interval_excludes(data):
    rows = inputs(STUDY).derived["assignment"].copy()
    for place in rows.index:
        value, below, above = data.draw(st.tuples(SHARES, st.floats(0, 0.1), st.floats(0, 0.1)))
        rows.loc[place, VALUES] = value, value - below, value + above
    answer, text = asked("H6", inputs(STUDY, {"assignment": rows}))
    tried: Any = rows[(rows["nodes"] == 2) & (rows["rule"] == "linear")]
    ranked = tried.sort_values("test_accuracy_frac", ascending=False, kind="stable")
    best, other = ranked.iloc[0], ranked.iloc[1]
    assert answer.values["best_test_accuracy_frac"].value == best["test_accuracy_frac"]
    sentence = plain(answer.sentence)
    assert sentence.startswith("On two nodes the best test accuracy is")
    apart = other["test_accuracy_frac_high"] < best["test_accuracy_frac_low"]
    assert (f"higher than with {other['workers']}." in sentence) == apart, text


@QUICK
@given(st.data())
def test_any_nulls_and_missing_rows(data):
    columns = {"assignment": [*VALUES, "steps", "counted_workers"]}
    small_labs.nulls_are_no_error(data, "H6", STUDY, columns)


def test_no_failure_of_a_run_is_an_error():
    small_labs.no_failure_is_an_error("H6", STUDY)


def test_where_no_two_nodes_were_planned_one_line_says_so():
    alone = small_labs.study("assignment-linear", epochs=[4])
    text = asked("H6", inputs(alone))[1]
    assert text.startswith("On one node the best")
    assert "Two nodes were not run." in text
