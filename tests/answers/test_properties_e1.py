"""E1 of tables by chance: each claim of its words is worked out again from the tables."""

import re

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from dpscale.reporting.inputs import Inputs
from dpscale.studies import derived_of
from dpscale.studies.strategies.derive import compared
from properties import BY_CHANCE, QUICK, asked
from small_labs import no_failure_is_an_error, nulls_are_no_error
from test_e1 import lab

TIDY = lab()
DERIVED = derived_of(TIDY)
WAY = {"ddp": "DDP", "accumulation": "gradient accumulation", "zero1": "ZeRO-1", "fsdp": "FSDP2",
       "fsdp_kept": "FSDP2 without resharding"}  # fmt: skip
VERDICTS = st.sampled_from(["above", "below", "indistinct", "unknown"])


@st.composite
def tables(draw: st.DrawFn) -> dict[str, pd.DataFrame]:
    """Other times, verdicts, peaks and batches."""
    times, needs = DERIVED["strategies"], DERIVED["strategy_needs"]
    times["step_s"] = draw(st.lists(st.floats(1e-4, 1.0), min_size=10, max_size=10, unique=True))
    for column in ("to_ddp", "to_fastest"):
        times[column] = pd.Series([draw(VERDICTS) for _ in range(10)], dtype="str")
    times["to_ddp"] = times["to_ddp"].mask(times["way"] == "ddp")
    for _, rows in times.groupby("workers"):  # the fastest has no verdict against itself
        times.loc[rows["step_s"].idxmin(), "to_fastest"] = None
    size = st.integers(1, 10**9)
    needs["peak_bytes"] = draw(st.lists(size, min_size=10, max_size=10))
    fits = pd.Series(draw(st.lists(st.integers(1, 10**5), min_size=10, max_size=10)))
    needs["fits_batch"], needs["fails_batch"] = fits, fits + 50
    return {"strategies": times, "strategy_needs": compared(needs)}


@given(tables())
@BY_CHANCE
def test_the_best_are_the_best(found: dict[str, pd.DataFrame]) -> None:
    answer, _ = asked("E1", Inputs(DERIVED | found, TIDY))
    text = (
        re.sub(r"[\ue000-\uf8ff]", "", answer.sentence).replace("\u202f", "").replace("\xa0", " ")
    )
    times, needs = (table[table["workers"] == 4].set_index("way") for table in found.values())
    fastest = times["step_s"].idxmin()
    tied = [way for way in times.index if times.loc[way, "to_fastest"] in ("indistinct", "unknown")]
    assert f"{WAY[fastest]} has the shortest step," in text
    assert ("not told from that of" in text.split(". ")[0]) == bool(tied)
    least = needs["peak_bytes"].idxmin()
    assert ("No way needs less" in text) == (least == "ddp")
    if least != "ddp":
        name = WAY[least][:1].upper() + WAY[least][1:]
        assert f"{name} needs the least memory" in text
        slower = times.loc[least, "to_ddp"] == "above"
        assert (" as long." in text and "only" not in text) == slower
    most = needs["fits_batch"].max()
    assert f"largest batch, b = {most}" in text
    rivals = needs["fails_batch"] > most
    assert ("not told from that of" in text[text.find("Within") :]) == (rivals.sum() > 1)


@given(st.data())
@QUICK
def test_any_nulls_and_missing_rows(data: st.DataObject) -> None:
    nulls_are_no_error(
        data, "E1", TIDY,
        {"strategies": ["step_s", "step_s_low", "to_ddp_ratio", "to_ddp", "to_fastest",
                        "ledger_bytes", "predicted_bytes", "interface_bytes", "oversubscribed"],
         "strategy_needs": ["peak_bytes", "parameter_bytes", "fits_batch", "fails_batch",
                            "loss_gap_frac", "parameter_gap_frac", "budget_bytes"]},
    )  # fmt: skip


def test_no_failure_of_a_run_is_an_error() -> None:
    no_failure_is_an_error("E1", TIDY)
