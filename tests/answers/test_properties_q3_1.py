"""Q3.1 by chance: whatever the arms took, what it says follows from their intervals."""

import re
from collections import Counter

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from builders import derived_lab, full_lab
from cases import plain
from dpscale.reporting.inputs import Inputs
from dpscale.units import format_value
from properties import BY_CHANCE, asked, edited, ends, lies, measured, side

LAB, TIDY = derived_lab(), full_lab()
COLUMNS = {"epoch_s": (0.5, 9.0), "base_epoch_s": (0.5, 9.0), "subtraction_s": (-1.0, 3.0),
           "exposed_s": (-1.0, 3.0), "overhead_s": (-1.0, 1.0), "contention_s": (-1.0, 3.0),
           "span_s": (0.1, 3.0), "buckets_s": (0.1, 3.0), "straggler_s": (-0.1, 1.0)}  # fmt: skip
NO_TIME = {
    "below": "a negative time",
    "indistinct": "a time not told from zero",
    "unknown": "an undecided time",
}
LONGER = {
    "above": "is longer than",
    "below": "is shorter than",
    "indistinct": "is not told apart from",
    "unknown": "has too few repeats to be compared with",
}
NAMES = {
    "subtraction_s": "the subtraction",
    "exposed_s": "the exposed time",
    "buckets_s": "the all-reduce alone",
}
TINY = 1e-9  # seconds
CONTRASTS = [("subtraction_s", "exposed_s"), ("exposed_s", "buckets_s")]
SCORES = {
    "close": "within 15% of the measured step",
    "off": "off by more than 15%",
    "open": "not decided to be within 15% or not",
}
WORDS = ["none", "one", "two", "three", "four", "five", "six"]


@st.composite
def splits(draw: st.DrawFn) -> dict[str, pd.DataFrame]:
    """The split of an epoch and the predicted steps, with values by chance."""
    rows, changed = LAB["communication"], {}
    for place in range(len(rows)):
        if rows["workers"].iloc[place] > 1:
            changed[place] = {"oversubscribed": draw(st.booleans())}
            for column, ends in COLUMNS.items():
                changed[place] |= draw(measured(column, *ends))
    steps = {place: draw(measured("measured_step_s", 0.5, 2.0)) | {"predicted_step_s": 1.0}
             for place in range(len(LAB["prediction"]))}  # fmt: skip
    predicted = edited(LAB["prediction"], steps)
    errors = predicted["predicted_step_s"] / predicted["measured_step_s"] - 1
    return {"communication": edited(rows, changed),
            "prediction": predicted.assign(error_frac=errors)}  # fmt: skip


def sides(rows: pd.DataFrame, column: str) -> list[str]:
    """Where each cell's time lies against zero."""
    return [side(*ends(row, column)) for _, row in rows.iterrows()]


def check_times(told: str, rows: pd.DataFrame, column: str) -> None:
    """The range at every N of the times that are above zero, or why there is none."""
    clauses = re.split(r" with (?:two|four)(?: workers)?(?: and )?", told)
    for clause, (_, own) in zip(clauses, rows.groupby("workers"), strict=False):
        lies_at = sides(own, column)
        above = sorted(own[[one == "above" for one in lies_at]][column])
        if not above:
            assert clause.startswith(NO_TIME[lies_at[0]]), (clause, lies_at)
            continue
        if above[0] < TINY:
            continue  # printed with as many digits as its interval asks for
        ends_of = [plain(format_value(end, "s")) for end in (above[0], above[-1])]
        assert clause.startswith(ends_of[0]), (clause, above)
        assert (" to " in clause and "(" not in clause) == (ends_of[0] != ends_of[1])


def contrasts(text: str) -> dict[tuple[str, str, str], str]:
    """In which cells each of two estimates is said to be longer or not, by both and the verdict."""
    subjects = "|".join(name.capitalize() for name in NAMES.values())
    found, subject = {}, ""
    said = (
        rf"({subjects}|it) ({'|'.join(LONGER.values())}) ({'|'.join(NAMES.values())}) in ([a-z ]+)"
    )
    for name, relation, other, cells in re.findall(said, text):
        subject = subject if name == "it" else name
        found[subject.lower(), other, relation] = cells.strip()
    return found


def check_counts(text: str, table: pd.DataFrame) -> None:
    """Each pair of estimates: in how many cells which is longer."""
    expected = {}
    for one, other in CONTRASTS:
        both = table[table[one].notna() & table[other].notna()]
        counted = Counter(lies(ends(row, one), ends(row, other)) for _, row in both.iterrows())
        every = {1: "the one cell measured", 2: "both cells"}.get(
            len(both), f"all {WORDS[len(both)]} cells"
        )
        for verdict, count in counted.items():
            some = f"{WORDS[count]} of the {WORDS[len(both)]} cells"
            cells = every if count == len(both) else some
            expected[NAMES[one], NAMES[other], LONGER[verdict]] = cells
    assert contrasts(text) == expected


def check_scores(text: str, predicted: pd.DataFrame) -> None:
    known = predicted[predicted["error_frac"].notna()]
    scores = []
    for row in known.itertuples():
        errors = [1 / end - 1 for end in (row.measured_step_s_low, row.measured_step_s_high)]
        within = [abs(error) <= 0.15 for error in errors]
        off = max(errors) < -0.15 or min(errors) > 0.15
        scores.append("open" if any(pd.isna(errors)) else
                      "close" if all(within) else "off" if off else "open")  # fmt: skip
    for score, words in SCORES.items():
        assert (f" {words} in " in text) == (score in scores), (score, text)


@BY_CHANCE
@given(splits())
def test_what_q3_1_says_follows_from_the_intervals(made: dict[str, pd.DataFrame]) -> None:
    table = made["communication"]
    table = table[(table["workers"] > 1) & table["subtraction_s"].notna()]
    answer, text = asked("Q3.1", Inputs({**LAB, **made}, TIDY))
    assert bool(answer.missing) == table.empty
    if table.empty:
        return
    arms = table[table["exposed_s"].notna()]
    lies_at = sides(table, "subtraction_s") + sides(arms, "exposed_s")
    sentence = plain(answer.sentence)
    some = "above" in lies_at and len(set(lies_at)) > 1
    assert sentence.startswith("Where above zero, communication" if some else "Communication")
    told = re.split(r"\. (?=[MWTC])| takes | it takes ", sentence)
    check_times(told[1].replace(" of an epoch", ""), table, "subtraction_s")
    if not arms.empty:
        check_times(told[3], arms, "exposed_s")
        check_counts(plain(" ".join([text, *answer.method])), arms)
        check_scores(plain(" ".join(answer.method)), made["prediction"])
