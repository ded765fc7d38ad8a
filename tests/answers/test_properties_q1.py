"""Q1: whatever the sweep holds, its sentence says what the times of all batch sizes show."""

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
COMPLETE = LAB["sweep"][LAB["sweep"]["status"] == "complete"]
SHAPES = {
    "falls then rises": "and then rises to",
    "up and down": "goes up and down",
    "falls then level": "no size is told apart",
    "falls": "falls over the sweep",
    "rises": "rises with the batch size",
    "level": "are not told apart",
}


@st.composite
def sweeps(draw: st.DrawFn) -> pd.DataFrame:
    """A sweep of up to seven batch sizes, of which the made-up lab's are the first."""
    count = draw(st.integers(2, 7))
    rows = pd.concat([COMPLETE] * 3, ignore_index=True).iloc[:count]
    times = pd.Series(draw(st.lists(st.floats(1, 9), min_size=count, max_size=count)))
    width = pd.Series(draw(st.lists(st.floats(0, 0.3), min_size=count, max_size=count)))
    return rows.assign(
        per_worker_batch=[32 * 2**place for place in range(count)], epoch_s=times,
        epoch_s_low=times * (1 - width), epoch_s_high=times * (1 + width),
        samples_per_s=10_000 / times,
    ).astype({"per_worker_batch": "Int64"})  # fmt: skip


def shown(sweep: pd.DataFrame) -> str:
    """The shape by loops over all pairs of rows."""
    low, high = sweep["epoch_s_low"].tolist(), sweep["epoch_s_high"].tolist()
    pairs = [(i, j) for j in range(len(low)) for i in range(j)]
    falls = {(i, j) for i, j in pairs if high[j] < low[i]}
    rises = {(i, j) for i, j in pairs if low[j] > high[i]}
    best = high.index(min(high))
    if falls and rises:
        before = all(j <= best for _, j in falls) and any(j <= best for _, j in falls)
        after = all(i >= best for i, _ in rises) and any(i >= best for i, _ in rises)
        inside = not any(j <= best for _, j in rises) and not any(i >= best for i, _ in falls)
        turns = inside and any(j <= best for _, j in falls) and any(i >= best for i, _ in rises)
        return "falls then rises" if turns or (before and after and inside) else "up and down"
    if rises:
        return "rises"
    if not falls:
        return "level"
    slower = [n for n in range(len(low)) if low[n] > high[best]]
    return "falls" if slower[-1] == len(low) - 2 else "falls then level"


@settings(BY_CHANCE, max_examples=40)
@given(sweeps())
def test_the_shape_is_that_of_all_batch_sizes(sweep: pd.DataFrame) -> None:
    answer = questions()["Q1"](Inputs(LAB | {"sweep": sweep}, TIDY))
    sentence = plain(answer.sentence)
    told = [shape for shape, words in SHAPES.items() if words in sentence]
    assert told == [shown(sweep)], sentence
    turns = re.findall(r"(falls|rises)[a-z ,]* from .*? at b = (\d+) to .*? at b = (\d+)", sentence)
    turns += re.findall(r" at b = (\d+) and then (rises) to .*? at b = (\d+)", sentence)
    ends = sweep.set_index("per_worker_batch")[["epoch_s_low", "epoch_s_high"]]
    for turn in turns:
        move = next(word for word in turn if not word.isdigit())
        one, other = (ends.loc[int(batch)] for batch in turn if batch.isdigit())
        lower, upper = (other, one) if move == "falls" else (one, other)
        assert lower["epoch_s_high"] < upper["epoch_s_low"], sentence
