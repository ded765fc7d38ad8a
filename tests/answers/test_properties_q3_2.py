"""Q3.2 by chance: whatever rates were measured, what it says follows from their intervals."""

import re
from itertools import combinations

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from builders import derived_lab, full_lab
from cases import plain
from dpscale.reporting.inputs import Inputs
from dpscale.units import format_value
from properties import BY_CHANCE, NAN, asked, edited, ends, lies, measured, side

LAB, TIDY = derived_lab(), full_lab()
CELL = ["workers", "per_worker_batch"]
PARTS = ("", "_low", "_high")
PAYLOAD = LAB["bandwidth"]["payload_bytes"].max()
NO_RATE = {
    "below": "negative",
    "indistinct": "not told from zero",
    "unknown": "not told from zero for want of repeats",
}
BESIDE = {
    "below": "is below theirs",
    "above": "is above theirs",
    "indistinct": "is not told from theirs",
    "unknown": "has no two-sided interval to be compared with theirs",
}
TRENDS = {
    "below": "falls as b grows",
    "above": "rises as b grows",
    "both": "goes up and down with b",
    "indistinct": "is at no two b told apart",
    "unknown": "has no two-sided interval",
}
STEPS = {
    "above": "slower with",
    "below": "faster with",
    "indistinct": "not told from a plain one with",
    "unknown": "undecided for want of repeats with",
}
SIZES = {
    "above": "too small to fill the link",
    "below": "large enough to fill the link",
    "indistinct": "not told whether latency or bytes take longer",
    "unknown": "too few repeats tell whether latency or bytes take longer",
}
HOOKS = {"bf16": "bf16", "fp16": "fp16", "powersgd": "PowerSGD"}


def rate(row: pd.Series, seconds: dict[str, float]) -> dict[str, float]:
    """The lab's rate for seconds of communication; an end at or below zero is none."""
    moved = row["moved_bytes"] * row["iterations"]
    value, low, high = (seconds[f"subtraction_s{end}"] for end in PARTS)
    found = [moved / one if one > 0 and low > 0 else NAN for one in (value, high, low)]
    return dict(zip((f"lab_bytes_per_s{end}" for end in PARTS), found, strict=True))


def known(column: str, least: float, most: float) -> st.SearchStrategy[dict[str, float]]:
    """A value that is never null, with an interval or none."""
    return measured(column, least, most).filter(lambda found: found[column] == found[column])


@st.composite
def rates(draw: st.DrawFn) -> dict[str, pd.DataFrame]:
    """Communication times with the rates that follow, other rates, fits and hooks by chance."""
    parts, table = LAB["communication"].copy(), LAB["bandwidth"]
    changed = {}
    for place, row in table.iterrows():
        seconds = draw(measured("subtraction_s", -1.0, 3.0))
        own = parts["workers"].eq(row["workers"]) & parts["per_worker_batch"].eq(
            row["per_worker_batch"]
        )
        parts.loc[own, list(seconds)] = list(seconds.values())
        changed[place] = rate(row, seconds) | draw(measured("busbw_bytes_per_s", 1e8, 3e9))
    fits = {place: draw(known("level_bytes", 1e6, 1e7)) | draw(known("alpha_s", -1e-5, 1e-4))
            for place in range(len(LAB["link"]))}  # fmt: skip
    hooks = {place: draw(measured("step_ratio", 0.5, 2.0))
             for place in range(len(LAB["compression"]))}  # fmt: skip
    return {"communication": parts, "bandwidth": edited(table, changed),
            "link": edited(LAB["link"], fits),
            "compression": edited(LAB["compression"], hooks)}  # fmt: skip


def trend(own: pd.DataFrame) -> str:
    """How the rate goes over all batch sizes."""
    pairs = combinations([ends(row, "lab_bytes_per_s") for _, row in own.iterrows()], 2)
    moves = {lies(later, one) for one, later in pairs} - {"indistinct"}
    if "unknown" in moves:
        return "unknown"
    return "indistinct" if not moves else "both" if len(moves) > 1 else moves.pop()


def check_trends(text: str, decided: pd.DataFrame) -> None:
    several = {workers: trend(own) for workers, own in decided.groupby("workers") if len(own) > 1}
    _, _, told = text.partition("would give one bandwidth; the lab's ")
    assert bool(told) == bool(several)
    for verdict, words in TRENDS.items():
        own = [str(workers) for workers, found in several.items() if found == verdict]
        assert re.findall(rf"{words} at N = (\d(?: and \d)?)[ .]", told) == (
            [" and ".join(own)] if own else []
        )


def check_beside(text: str, decided: pd.DataFrame) -> None:
    """The lab's rate beside that of the same buckets alone."""
    known = decided[decided["busbw_bytes_per_s"].notna()]
    verdicts = [lies(ends(row, "lab_bytes_per_s"), ends(row, "busbw_bytes_per_s"))
                for _, row in known.iterrows()]  # fmt: skip
    _, _, told = text.partition("The lab's bandwidth ")
    for verdict, words in BESIDE.items():
        assert (words in told) == (verdict in verdicts), (verdict, told)


def check_sentence(sentence: str, table: pd.DataFrame) -> None:
    decided = table[table["lab_bytes_per_s"].notna()].sort_values("lab_bytes_per_s")
    reasons = re.findall(r"time is ([a-z, ]+)\.", sentence)
    told = re.split(", | or ", reasons[0]) if reasons else []
    found = {side(row.subtraction_s_low, row.subtraction_s_high) for row in table.itertuples()}
    assert set(told) == {words for verdict, words in NO_RATE.items() if verdict in found}
    assert sentence.startswith("No bandwidth follows: ") == decided.empty
    if decided.empty:
        return
    assert ("No rate follows" in sentence) == (len(decided) < len(table))
    assert ("at most" in sentence) == (len(decided) > 1)
    most = format_value(decided["lab_bytes_per_s"].iloc[-1], "bytes/s")
    assert re.search(rf"{re.escape(plain(most).split()[0])}(\d*)? ", sentence)


def check_link(text: str, fits: pd.DataFrame, hooks: pd.DataFrame) -> None:
    verdicts = [side(row.level_bytes_low, row.level_bytes_high, PAYLOAD)
                for row in fits.itertuples()]  # fmt: skip
    for verdict, words in SIZES.items():
        assert (words in text) == (verdict in verdicts)
    for row in fits.itertuples():
        across = side(row.alpha_s_low, row.alpha_s_high) in ("indistinct", "below")
        assert (f"latency at N = {row.workers} is not told from zero" in text) == across
    _, _, steps = text.partition(" a step is ")
    groups = re.findall(r"([a-z -]+ with) (.*?\))[;.]", steps)
    told = {words.strip(): names for words, names in groups}
    for row in hooks[hooks["step_ratio"].notna()].itertuples():
        assert HOOKS[row.hook] in told[STEPS[side(row.step_ratio_low, row.step_ratio_high, 1.0)]]


@BY_CHANCE
@given(rates())
def test_what_q3_2_says_follows_from_the_intervals(made: dict[str, pd.DataFrame]) -> None:
    answer, text = asked("Q3.2", Inputs({**LAB, **made}, TIDY))
    seconds = made["communication"].set_index(CELL)
    wanted = seconds[[f"subtraction_s{end}" for end in PARTS]]
    table = made["bandwidth"].join(wanted, on=CELL).query("subtraction_s.notna()")
    assert bool(answer.missing) == table.empty
    if table.empty:
        return
    check_sentence(plain(answer.sentence), table)
    decided = table[table["subtraction_s_low"] > 0]
    check_trends(text, decided)
    check_beside(text, decided)
    # Of numbers of workers without a communication time the bytes of an iteration are not known.
    fits = made["link"][made["link"]["workers"].isin(table["workers"])]
    check_link(text, fits, made["compression"])
