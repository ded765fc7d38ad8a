"""Q2: whatever the table of scaling holds, the sentence says what it shows."""

import re

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import derived_lab, full_lab
from cases import plain
from dpscale.reporting.inputs import Inputs
from dpscale.studies import questions
from dpscale.units import format_value
from properties import BY_CHANCE

LAB, TIDY = derived_lab(), full_lab()
RATIO = ["speedup_ratio", "speedup_ratio_low", "speedup_ratio_high"]
CELL = ("workers", "per_worker_batch")
SIGNS = {"faster": 1, "slower": -1, "not told apart": 0}
NUMBERS = {"no": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "all six": 6}


@st.composite
def scalings(draw: st.DrawFn) -> pd.DataFrame:
    """The made-up table with other speed-ups of several workers, each with an interval."""
    rows = LAB["scaling"].copy()
    for place in rows.index[rows["workers"] > 1]:
        value = draw(st.floats(0.2, 6.0))
        below, above = draw(st.floats(0.0, 0.5)), draw(st.floats(0.0, 0.5))
        rows.loc[place, RATIO] = [value, value * (1 - below), value * (1 + above)]
    return rows


@settings(BY_CHANCE, max_examples=40)
@given(scalings())
def test_every_cell_is_told_as_its_interval_lies(scaling: pd.DataFrame) -> None:
    answer = questions()["Q2"](Inputs(LAB | {"scaling": scaling}, TIDY))
    weak = scaling[(scaling["kind"] == "weak") & (scaling["workers"] > 1)]
    shown = {
        (row.workers, row.per_worker_batch): (row.speedup_ratio_low > 1)
        - (row.speedup_ratio_high < 1)
        for row in weak.itertuples()
    }
    several = [row for row in answer.tables[0].rows if row["pace"] in SIGNS]
    told = {tuple(int(row[one].value) for one in CELL): SIGNS[row["pace"]] for row in several}
    assert told == shown
    opening = plain(answer.sentence)
    for words, sign in SIGNS.items():
        if sign and (count := list(shown.values()).count(sign)):
            (number,) = re.findall(rf"{words} in ((?:all )?\w+)", opening)
            assert NUMBERS[number] == count, opening
    for workers in (2, 4):
        own = weak[weak["workers"] == workers]["speedup_ratio"]
        ends = [format_value(one, "ratio") for one in (own.min(), own.max())]
        assert f"{' to '.join(dict.fromkeys(ends))} at N = {workers}" in opening
