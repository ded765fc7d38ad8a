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
TINY = 1e-300  # seconds below which a rate has no number
CELL = ["workers", "per_worker_batch"]
PARTS = ("", "_low", "_high")
NO_RATE = {
    "below": "negative",
    "indistinct": "not told from zero",
    "unknown": "not told from zero for want of repeats",
}
BESIDE = {
    "below": "is below it",
    "above": "is above it",
    "indistinct": "is not told apart from it",
    "unknown": "has no two-sided interval to be compared with it",
}
TRENDS = {
    "below": "falls",
    "above": "rises",
    "both": "goes up and down",
    "indistinct": "is at no two b told apart",
    "unknown": "has no two-sided interval",
}
STEPS = {
    "above": "its step is slower here",
    "below": "its step is faster here",
    "indistinct": "its step is not told from the plain one",
    "unknown": "too few repeats decide about its step",
}
TCP = {
    "below": "below what raw TCP gives",
    "above": "above what raw TCP gives",
    "indistinct": "not told apart from what raw TCP gives",
    "unknown": "not comparable with raw TCP for want of repeats",
}
HOOKS = {"bf16": "bf16", "fp16": "fp16", "powersgd": "PowerSGD"}


def rate(row: pd.Series, seconds: dict[str, float]) -> dict[str, float]:
    """The lab's rate for seconds of communication; an end at or below zero is none."""
    moved = row["moved_bytes"] * row["iterations"]
    value, low, high = (seconds[f"subtraction_s{end}"] for end in PARTS)
    found = [moved / one if one > TINY and low > 0 else NAN for one in (value, high, low)]
    return dict(zip((f"lab_bytes_per_s{end}" for end in PARTS), found, strict=True))


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
    fits = {place: draw(measured("tcp_bytes_per_s", 1e9, 2e9)) | draw(
        measured("alpha_s", -1e-5, 1e-4)) for place in range(len(LAB["link"]))}  # fmt: skip
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
    for workers, own in decided.groupby("workers"):
        told = re.findall(rf"at N = {workers}, from b = (\d+) to (\d+), it ([a-z -]+?)[.;]", text)
        if len(own) == 1:
            assert not told
            continue
        ((first, last, words),) = told
        assert int(first) == own["per_worker_batch"].min()
        assert int(last) == own["per_worker_batch"].max()
        assert words == TRENDS[trend(own)]


def check_beside(text: str, decided: pd.DataFrame) -> None:
    """The lab's rate beside that of the same buckets alone."""
    known = decided[decided["busbw_bytes_per_s"].notna()]
    verdicts = [lies(ends(row, "lab_bytes_per_s"), ends(row, "busbw_bytes_per_s"))
                for _, row in known.iterrows()]  # fmt: skip
    _, _, told = text.partition("The lab's bandwidth ")
    for verdict, words in BESIDE.items():
        assert (words in told) == (verdict in verdicts), (verdict, told)


def check_sentence(sentence: str, text: str, table: pd.DataFrame) -> None:
    for verdict, words in NO_RATE.items():
        own = table[[side(row.subtraction_s_low, row.subtraction_s_high) == verdict
                     for row in table.itertuples()]]  # fmt: skip
        found = re.search(rf"communication time is [^.]*{words} \(", text)
        assert bool(found) == (len(own) > 0)
    decided = table[table["lab_bytes_per_s"].notna()]
    assert sentence.startswith("By Q3.1's" if len(decided) else "No bandwidth follows")
    for (_, own), words in zip(decided.groupby("workers"), sentence.split(" with "), strict=False):
        rates = [plain(format_value(rate, "bytes/s")) for rate in sorted(own["lab_bytes_per_s"])]
        told = " to ".join(dict.fromkeys([rates[0], rates[-1]]))
        assert told.split(" (")[0] in words, (told, words)


def check_link(text: str, fits: pd.DataFrame, hooks: pd.DataFrame) -> None:
    known = fits[fits["tcp_bytes_per_s"].notna()]
    verdicts = [lies(ends(row, "beta_bytes_per_s"), ends(row, "tcp_bytes_per_s"))
                for _, row in known.iterrows()]  # fmt: skip
    for verdict, words in TCP.items():
        assert (words in text) == (verdict in verdicts)
    for row in fits.itertuples():
        (told,) = re.findall(rf"N = {row.workers}, \$\\alpha\$ is (.*?) and \$\\beta\$", text)
        across = side(row.alpha_s_low, row.alpha_s_high) in ("indistinct", "below")
        assert ("not told from zero" in told) == across
    for row in hooks[hooks["step_ratio"].notna()].itertuples():
        told = re.findall(rf"{HOOKS[row.hook]} (?:sends|halves|has) .*?, and ([a-z ]+?)[,;.]", text)
        assert told == [STEPS[side(row.step_ratio_low, row.step_ratio_high, 1.0)]]


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
    check_sentence(plain(answer.sentence), text, table)
    decided = table[table["subtraction_s_low"] > 0]
    check_trends(text, decided)
    check_beside(text, decided)
    check_link(text, made["link"], made["compression"])
