"""H5 for any lab: what it says of accuracies is what their intervals decide."""

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

import small_labs
from cases import plain
from properties import QUICK, asked, ends, lies
from small_labs import SHARES, inputs

STUDY = small_labs.study("assignment-linear", "assignment-sqrt", "assignment-fixed", epochs=[4],
                         two_nodes=True)  # fmt: skip
REACHED = "test_accuracy_frac"
WORDS = {"above": "reach", "below": "lose", "indistinct": "told apart"}


@st.composite
def accuracies(draw: st.DrawFn, rows: pd.DataFrame) -> pd.DataFrame:
    """The trainings with other accuracies, and intervals or none."""
    made = rows.copy()
    for place in made.index:
        value, below, above = draw(st.tuples(SHARES, st.floats(0, 0.1), st.floats(0, 0.1)))
        known = draw(st.sampled_from([True] * 5 + [False]))
        ends = (value - below, value + above) if known else (float("nan"),) * 2
        made.loc[place, "test_accuracy_frac"] = value
        made.loc[place, ["test_accuracy_frac_low", "test_accuracy_frac_high"]] = ends
    return made


@QUICK
@given(st.data())
def test_any_accuracies(data):
    made = inputs(STUDY, {"assignment": data.draw(accuracies(inputs(STUDY).derived["assignment"]))})
    answer, text = asked("H5", made)
    rows = made.rows("assignment", nodes=1)
    base = next(row for row in rows if row["workers"] == 1)
    four = [row for row in rows if row["workers"] == 4]
    sides = {lies(ends(row, REACHED), ends(base, REACHED)) for row in four}
    clause = plain(answer.sentence).split("Against one worker's")[1]
    for verdict, word in WORDS.items():
        assert (word in clause) == (verdict in sides), text
    assert "no loss" not in text
    assert "workers_per_node" not in text


@QUICK
@given(st.data())
def test_any_nulls_and_missing_rows(data):
    columns = ["test_accuracy_frac", "test_accuracy_frac_low", "steps", "counted_workers"]
    small_labs.nulls_are_no_error(data, "H5", STUDY, {"assignment": columns})


def test_no_failure_of_a_run_is_an_error():
    small_labs.no_failure_is_an_error("H5", STUDY)
