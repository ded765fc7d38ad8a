"""Q6 by chance: whatever bytes were counted, what it says of them is what the tables hold."""

import re

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from builders import derived_lab, full_lab
from cases import plain
from dpscale.reporting.inputs import Inputs
from properties import BY_CHANCE, asked, edited

LAB, TIDY = derived_lab(), full_lab()
SIZES = st.one_of(st.integers(0, 5), st.integers(0, 5_000_000))
GAPS = st.sampled_from([0, 0, -1, 1, -20_000, 300_000])


@st.composite
def counted(draw: st.DrawFn) -> dict[str, pd.DataFrame]:
    """The bytes of each message, some without any, and each N's sums about the formula's."""
    ledger = LAB["ledger"]
    sizes = {place: {"bytes": draw(SIZES)} for place in range(len(ledger))}
    wire = LAB["wire"].astype({"interface_bytes": "float64"})
    sums = {}
    for place in range(len(wire)):
        formula = wire["predicted_bytes"].iloc[place]
        seen = draw(st.one_of(GAPS.map(lambda gap, own=formula: float(own + gap)),
                              st.just(float("nan"))))  # fmt: skip
        sums[place] = {"ledger_bytes": formula + draw(GAPS), "interface_bytes": seen}
    return {"ledger": edited(ledger, sizes), "wire": edited(wire, sums)}


def check_sentence(sentence: str, ledger: pd.DataFrame) -> None:
    steady = ledger[(ledger["phase"] == "steady") & (ledger["bytes"] > 0)]
    gradients = steady.loc[steady["purpose"] == "gradient bucket", "bytes"].sum()
    others = steady[steady["purpose"] != "gradient bucket"]
    before = ledger[(ledger["bytes"] > 0) & (ledger["phase"] != "steady")]
    earlier = set(before["purpose"]) - set(steady["purpose"]) - {"gradient bucket"}
    opening = "No: " if len(others) else "In a steady iteration yes: " if earlier else "Yes: "
    assert sentence.startswith(opening)
    assert f"passes {gradients:,} B of gradients".replace(",", " ") in sentence
    for size in others.groupby("purpose")["bytes"].sum():
        assert f"{size:,} B of".replace(",", " ") in sentence
    if len(others):
        share = float(re.findall(r", ([\d.e-]+)% of its bytes", sentence)[0])
        assert abs(share - 100 * others["bytes"].sum() / steady["bytes"].sum()) <= 0.005 * share
    assert ("also pass" in sentence) == bool(earlier)


def relation(found: float, formula: float) -> str:
    """What is said of a sum beside the formula's."""
    return "exactly" if found == formula else "above" if found > formula else "below"


def check_sums(text: str, wire: pd.DataFrame) -> None:
    for row in wire.itertuples():
        opening = f"at N = {row.workers} the ledger's "
        (said,) = re.findall(rf"{opening}(.*?)(?:; at N|\. An all)", text)
        ledger, _, interface = said.partition(" and the interface's ")
        assert relation(row.ledger_bytes, row.predicted_bytes) in ledger
        if pd.isna(row.interface_bytes):
            assert interface == "bytes were not counted"
        else:
            assert relation(row.interface_bytes, row.predicted_bytes) in interface
    more = bool((wire["interface_bytes"] > wire["predicted_bytes"]).any())
    assert ("An interface counts the headers" in text) == more


@BY_CHANCE
@given(counted())
def test_what_q6_says_is_what_was_counted(made: dict[str, pd.DataFrame]) -> None:
    answer, text = asked("Q6", Inputs({**LAB, **made}, TIDY))
    ledger = made["ledger"]
    steady = ledger[(ledger["phase"] == "steady") & (ledger["bytes"] > 0)]
    assert bool(answer.missing) == steady.empty
    if not answer.missing:
        most = ledger[ledger["workers"] == steady["workers"].max()]
        check_sentence(plain(answer.sentence), most)
        check_sums(plain(text), made["wire"])
