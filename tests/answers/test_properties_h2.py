"""H2 by chance: whatever the steps and epochs, what it says follows from the trainings."""

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from assignment_tables import LINEAR, derived, failures, tidy
from dpscale.reporting.inputs import Inputs
from properties import BY_CHANCE, NAN, asked, edited, measured

TABLE = "assignment"


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """The trainings with steps, seconds and statuses by chance."""
    rows, changed = derived()[TABLE], {}
    for place in range(len(rows)):
        planned = int(rows["planned_steps"].iloc[place])
        changed[place] = {
            "status": draw(st.sampled_from(["complete"] * 4 + ["diverged", "out_of_memory"])),
            "steps": draw(st.sampled_from([planned, planned, planned + 1])),
            "startup_s": draw(st.sampled_from([1.0, 2.0, NAN])),
            **draw(measured("full_run_s", 1.0, 500.0)),
        }
    return edited(rows, changed).assign(epochs=draw(st.sampled_from([4, 12, 40])))


def check(sentence: str, text: str, found: pd.DataFrame) -> None:
    whole = (found["epochs"] == found["full_run_epochs"]).all()
    assert ("scaled from runs of" in sentence) == (not whole)
    assert ("nothing is scaled" in sentence) == whole
    wrong = found[found["steps"] != found["planned_steps"]]
    assert ("are as many as computed, for every" in text) == wrong.empty
    for row in wrong.itertuples():
        assert f"{row.steps} instead of {row.planned_steps} at N = {row.workers}" in text
    assert ("The start-up," in text) == found["startup_s"].notna().all()


@BY_CHANCE
@given(tables())
def test_what_h2_says_follows_from_the_trainings(made: pd.DataFrame) -> None:
    answer, text = asked("H2", Inputs({**derived(), TABLE: made}, tidy()))
    found = made[made["status"] == "complete"]
    assert bool(answer.missing) == (1 not in set(found["workers"]))
    if not answer.missing:
        check(answer.sentence, text, found)


def test_no_failure_of_its_runs_is_an_error() -> None:
    for name, inputs in failures(LINEAR):
        assert asked("H2", inputs), name
