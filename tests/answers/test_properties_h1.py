"""H1 by chance: whatever the shares and rates, what it says follows from their intervals."""

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from assignment_tables import ONE_WORKER, derived, failures, tidy
from dpscale.reporting.inputs import Inputs
from properties import BY_CHANCE, asked, edited, measured

TABLE = "assignment_utilisation"
DEVICES = ("CPU core", "group of CPU cores", "NVIDIA H200")
COLUMNS = {"utilisation_frac": (0.0, 1.0), "samples_per_s": (1.0, 100.0), "load_frac": (0.0, 1.0),
           "compute_frac": (0.0, 1.0)}  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """The batches of one worker with measurements and statuses by chance, on some device."""
    rows, changed = derived()[TABLE], {}
    for place in range(len(rows)):
        own: dict[str, object] = {"status": draw(st.sampled_from(["complete"] * 5 + ["diverged"]))}
        for column, ends in COLUMNS.items():
            own |= draw(measured(column, *ends))
        changed[place] = own
    made = edited(rows, changed).assign(device=draw(st.sampled_from(DEVICES)))
    return made.iloc[: draw(st.integers(0, len(made)))]


def apart(one: pd.Series, other: pd.Series, column: str) -> str:
    """Where an interval lies against another."""
    ends = [row[f"{column}{end}"] for row in (one, other) for end in ("_low", "_high")]
    if pd.isna([*ends, one[column], other[column]]).any():
        return "unknown"
    low, high, other_low, other_high = ends
    return "above" if low > other_high else "below" if high < other_low else "indistinct"


TRENDS = {
    "above": "more with the largest batch",
    "below": "less with the largest batch",
    "indistinct": ": not told apart.",
    "unknown": "too few epochs were timed",
}
PACES = {
    "above": "it trains faster",
    "below": "it trains more slowly",
    "indistinct": "it is not told apart in speed",
    "unknown": "it is not compared in speed",
}


def check(text: str, found: pd.DataFrame) -> None:
    first, last = found.iloc[0], found.iloc[-1]
    idle = first["compute_frac"] - first["utilisation_frac"] > 0.1
    assert all(f"at b = {row['per_worker_batch']}" in text for row in (first, last))
    if "did not have its core" in text or "The worker was" in text:
        own = found[found["device"] == "CPU core"]
        assert idle or (own["compute_frac"] - own["utilisation_frac"] > 0.1).any()
        return
    low = first["utilisation_frac_low"]
    assert ("little room to rise" in text) == (pd.notna(low) and low > 0.95)
    if len(found) == 1:
        assert "no larger batch has a result" in text
        return
    trend = apart(last, first, "utilisation_frac")
    assert [words for words in TRENDS.values() if words in text] == [TRENDS[trend]]
    for _, row in found.iloc[1:-1].iterrows():
        sides = {apart(row, end, "utilisation_frac") for end in (first, last)}
        for side in ("above", "below"):
            said = f"Between them, b = {row['per_worker_batch']} is {side} both" in text
            assert said == (sides == {side})
    pace = apart(last, first, "samples_per_s")
    assert [words for words in PACES.values() if words in text] == [PACES[pace]]
    assert ("does not tell how well" in text) == (pace == "above" and trend != "above")


@BY_CHANCE
@given(tables())
def test_what_h1_says_follows_from_the_intervals(made: pd.DataFrame) -> None:
    answer, text = asked("H1", Inputs({**derived(), TABLE: made}, tidy()))
    found = made[(made["status"] == "complete") & made["utilisation_frac"].notna()]
    assert bool(answer.missing) == found.empty
    if not answer.missing:
        check(text, found)


def test_no_failure_of_its_runs_is_an_error() -> None:
    for name, inputs in failures(ONE_WORKER):
        assert asked("H1", inputs), name
