"""H4 by chance: whatever the shares of an epoch, the losses named follow from their intervals."""

import re

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from builders import derived_lab, full_lab
from cases import plain
from dpscale.reporting.inputs import Inputs
from properties import BY_CHANCE, asked, edited, measured, side

LAB, TIDY = derived_lab(), full_lab()
LOSSES = {
    "load": "loading",
    "copy": "the copy to the device",
    "sharing": "sharing the machine",
    "stragglers": "stragglers",
    "overhead": "the overhead of DDP",
    "exposed": "exposed communication",
}
STEPS = {
    "below": "is shorter than",
    "above": "is longer than",
    "indistinct": "is not told apart from",
    "unknown": "has no interval beside",
}
HOOKS = {"bf16": "bf16", "fp16": "fp16", "powersgd": "PowerSGD"}


@st.composite
def shares(draw: st.DrawFn) -> dict[str, pd.DataFrame]:
    """The parts of an epoch, and the steps with compressed gradients, by chance."""
    rows = LAB["assignment_split"]
    parts = {place: {"oversubscribed": draw(st.booleans())} for place in range(len(rows))}
    for place in parts:
        for loss in LOSSES:
            parts[place] |= draw(measured(f"{loss}_frac", -0.2, 0.9))
    hooks = {place: draw(measured("step_ratio", 0.5, 2.0))
             for place in range(len(LAB["compression"]))}  # fmt: skip
    return {"assignment_split": edited(rows, parts),
            "compression": edited(LAB["compression"], hooks)}  # fmt: skip


def above_zero(row: pd.Series) -> pd.DataFrame:
    """The losses whose interval lies above zero, the largest first, and the ends of each."""
    ends = [(words, *(row[f"{loss}_frac{end}"] for end in ("", "_low", "_high")))
            for loss, words in LOSSES.items()]  # fmt: skip
    found = pd.DataFrame(ends, columns=["words", "share", "low", "high"])
    return found[found["low"] > 0].sort_values("share", ascending=False, kind="stable")


def named(words: str) -> list[str]:
    """The losses that some words name, in their order."""
    every = "|".join(map(re.escape, LOSSES.values()))
    return re.findall(every, words)


def check_remedies(text: str, row: pd.Series, leading: list[str]) -> None:
    """What is said against the losses of the most workers, and never against another."""
    against = re.findall(r"Against ([^:]+):", text)
    assert len(against) == len(leading)
    assert all(loss.startswith(one) for loss, one in zip(leading, against, strict=True))
    first = "The first remedy is a device for each worker" in text
    assert first == bool(row["oversubscribed"] and row["workers"] > 1)
    assert ("no part beside computation is told from zero, so" in text) == (not leading)


def check_hooks(text: str, table: pd.DataFrame, asked_for: bool) -> None:
    for row in table.itertuples():
        verdict = side(row.step_ratio_low, row.step_ratio_high, 1.0)
        (group,) = re.findall(r"a step with ([^.;]*?) " + STEPS[verdict], text) or ("",)
        assert (HOOKS[row.hook] in group) == asked_for


@BY_CHANCE
@given(shares())
def test_what_h4_says_follows_from_the_intervals(made: dict[str, pd.DataFrame]) -> None:
    answer, text = asked("H4", Inputs({**LAB, **made}, TIDY))
    assert not answer.missing
    last, first, *remedy = plain(answer.sentence).split(". ")
    table = made["assignment_split"].sort_values(["nodes", "workers"])
    for clause, row in ((first, table.iloc[0]), (last, table.iloc[-1])):
        found = above_zero(row)
        leading = found[found["high"] >= found["low"].head(1).sum()]["words"].tolist()
        assert named(clause) == leading
        assert ("not told apart" in clause) == (len(leading) > 1)
        assert ("no other part is told from zero" in clause) == (not leading)
    assert bool(remedy) == bool(row["oversubscribed"])
    check_remedies(text, row, leading)
    check_hooks(text, made["compression"], "exposed communication" in leading)
