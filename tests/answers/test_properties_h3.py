"""H3 by chance: whatever times and accuracies, what it says follows from their intervals."""

import re

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from assignment_tables import LINEAR, derived, failures, tidy
from dpscale.reporting.inputs import Inputs
from properties import BY_CHANCE, asked, edited, measured, side

TABLE = "assignment"
COLUMNS = {"speedup_ratio": (0.5, 2.0), "efficiency_frac": (0.1, 1.5), "train_s": (1.0, 99.0),
           "test_accuracy_frac": (0.0, 1.0), "test_accuracy_difference_frac": (-0.1, 0.1),
           "epochs_efficiency_frac": (0.1, 1.5)}  # fmt: skip
PACES = {"above": "faster than one", "below": "slower than one",
         "indistinct": "not told apart in time from one",
         "unknown": "not comparable with one for want of repeats"}  # fmt: skip
HIGHER = {"above": "higher than", "below": "lower than", "indistinct": "not told apart from",
          "unknown": "not comparable, for want of seeds, with"}  # fmt: skip
WORKERS = {2: "two workers", 4: "four workers"}


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """The trainings with measurements and statuses by chance."""
    rows, changed = derived()[TABLE], {}
    for place in range(len(rows)):
        changed[place] = {
            "status": draw(st.sampled_from(["complete"] * 4 + ["diverged", "out_of_memory"])),
            "oversubscribed": draw(st.booleans()),
        }
        for column, ends in COLUMNS.items():
            changed[place] |= draw(measured(column, *ends))
    return edited(rows, changed).assign(seeds=draw(st.sampled_from([1, 3, 7])))


def check(sentence: str, text: str, found: pd.DataFrame) -> None:
    decided, every, found = 0, found, found[found["workers"] > 1]
    _, *said = sentence.split(". ")
    for row in found.itertuples():
        pace = side(row.speedup_ratio_low, row.speedup_ratio_high, 1.0)
        reached = side(
            row.test_accuracy_difference_frac_low, row.test_accuracy_difference_frac_high
        )
        for clauses, who, words in (
            (said[0], "more workers", f"are {PACES[pace]}"),
            (said[1], "they", f", {HIGHER[reached]} that of one"),
        ):
            named = WORKERS[row.workers] if WORKERS[row.workers] in clauses.lower() else who
            (clause,) = re.findall(rf"{named}.*?(?= and (?:two|four) workers|$)", clauses.lower())
            assert words in clause
        decided += (pace != "unknown") + (reached != "unknown")
    assert (f"Of {decided} such comparisons" in text) == (decided > 1)
    assert ("oversubscribed" in text) == bool(every["oversubscribed"].any())


@BY_CHANCE
@given(tables())
def test_what_h3_says_follows_from_the_intervals(made: pd.DataFrame) -> None:
    answer, text = asked("H3", Inputs({**derived(), TABLE: made}, tidy()))
    found = made[made["status"] == "complete"]
    assert bool(answer.missing) == (1 not in set(found["workers"]))
    if not answer.missing:
        check(answer.sentence.replace("\u00a0", " "), text, found)


def test_no_failure_of_its_runs_is_an_error() -> None:
    for name, inputs in failures(LINEAR):
        assert asked("H3", inputs), name
