"""The whole study of communication on links of known rate; minutes: pytest -m slow tests/network"""

from collections.abc import Callable

import pandas as pd
import pytest
from raw_tcp import tcp_ceiling
from rig import Rig
from shaped import config, measure

pytestmark = pytest.mark.slow
MakeRig = Callable[[int, str], Rig]
RESNET18_BYTES = 44_695_848


def of(table: pd.DataFrame, workers: int) -> pd.Series:
    rows = table[table["workers"] == workers]
    assert len(rows) == 1
    return rows.iloc[0]


def test_four_nodes_are_predicted_from_one_and_two(make_rig, tmp_path) -> None:
    rig = make_rig(4, "1gbit")
    raw = config("shaped", tmp_path / "data", workers=[1, 2, 4], hooks=["bf16"])
    tables = measure(rig, raw, tmp_path)
    split, rates = of(tables["communication"], 4), of(tables["bandwidth"], 4)
    assert split["nodes"] == 4
    parts = split[["exposed_s", "overhead_s", "contention_s"]].sum()
    assert parts == pytest.approx(split["subtraction_s"])
    assert rates["busbw_bytes_per_s"] == pytest.approx(tcp_ceiling(rig), rel=0.05)
    assert rates["link_source"] == "tcp"
    for workers in (2, 4):
        wire = of(tables["wire"], workers)
        assert wire["gradient_bytes"] == 2 * (workers - 1) * RESNET18_BYTES
        assert wire["interface_bytes"] == pytest.approx(wire["predicted_bytes"], rel=0.01)
    ledger = tables["ledger"].query("phase == 'steady' and purpose == 'gradient bucket'")
    assert set(ledger["bytes"]) == {RESNET18_BYTES}
    hook = tables["compression"].iloc[0]
    assert hook["bytes_ratio"] == 0.5
    assert hook["interface_ratio"] == pytest.approx(0.5, abs=0.01)
    assert hook["step_ratio_high"] < 1  # the wire is what a step waits for here
    predicted = of(tables["prediction"], 4)
    print(predicted.to_string())
    assert abs(predicted["error_frac"]) < 0.15


def test_a_slower_link_raises_the_exposed_time_alone(make_rig, tmp_path) -> None:
    rig = make_rig(2, "2gbit")
    found = {}
    for rate in ("2gbit", "500mbit"):
        rig.set_rate(rate)
        raw = config(rate, tmp_path / "data", workers=[1, 2], hooks=[])
        found[rate] = of(measure(rig, raw, tmp_path / rate)["communication"], 2)
    fast, slow = found["2gbit"], found["500mbit"]
    assert slow["exposed_s_low"] > fast["exposed_s_high"]
    grown_s = slow["exposed_s"] - fast["exposed_s"]
    for part in ("compute_s", "overhead_s", "contention_s", "straggler_s"):
        assert abs(slow[part] - fast[part]) < 0.1 * grown_s, part
