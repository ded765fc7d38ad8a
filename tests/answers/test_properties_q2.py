"""Q2: whatever the table of scaling holds, the sentence says what it shows."""

import re

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import derived_lab, full_lab
from cases import plain
from dpscale.reporting.inputs import Inputs
from dpscale.studies import questions
from properties import BY_CHANCE

LAB, TIDY = derived_lab(), full_lab()
RATIO = ["speedup_ratio", "speedup_ratio_low", "speedup_ratio_high"]
WORDS = {"faster than one": 1, "slower than one": -1, "not told apart from one": 0}
NUMBERS = {"two": 2, "four": 4}


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
    told = {}
    (said,) = (plain(one) for one in answer.paragraphs if one.startswith("With b fixed"))
    for of_workers in said.split(";")[:2]:
        (workers,) = (n for word, n in NUMBERS.items() if f"{word} workers are" in of_workers)
        for words, cells in re.findall(r"((?:[a-z]+ )+)\(speed-up ([^)]*)\)", of_workers):
            for batch in re.findall(r"at b = (\d+)", cells):
                (sign,) = (sign for word, sign in WORDS.items() if words.strip().endswith(word))
                told[workers, int(batch)] = sign
    weak = scaling[(scaling["kind"] == "weak") & (scaling["workers"] > 1)]
    shown = {
        (row.workers, row.per_worker_batch): (row.speedup_ratio_low > 1)
        - (row.speedup_ratio_high < 1)
        for row in weak.itertuples()
    }
    assert told == shown
    sentence = plain(answer.sentence)
    faster = re.search(
        r"workers (?:are )?faster than one(?: at every b| in \w+ of \w+ cells)?:", sentence
    )
    assert bool(faster) == (1 in shown.values()), sentence
