"""E1: ways of sharing compute the same, hold what they should, and send what they hand over."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dpscale.config.sections import ModelConfig
from dpscale.derive.wire import interface_bytes, ledger_bytes
from dpscale.plan.spec import TimedProtocol, Timing, own_file
from dpscale.plan.ways import WAYS
from dpscale.studies import load_config
from dpscale.studies.strategies import AGAIN
from dpscale.studies.strategies.config import SharingProtocol
from dpscale.train.timed import COUNTED_STEPS

Launched = Callable[..., Any]
OWN = Path(__file__).parents[1] / "own_training.py"
STUDIES = ("sweep", "scaling", "large_batch", "replicas", "ledger", "data_parallel")
ALL = ("ddp", *WAYS)
SHARED = {"per_worker_batch": 16}
WIDE = {"model": ModelConfig(name="mlp_4x512"), "training": {"optimizer": "adam"}}
MIB = 2**20


def protocol(budget_bytes: int | None = None, micro_batches: int = 4) -> SharingProtocol:
    return SharingProtocol(
        micro_batches=micro_batches, first_steps=4, budget_bytes=budget_bytes, resolution_frac=0.2
    )


TIMED = TimedProtocol(
    timing=Timing(
        arms=("without_loading", *WAYS),
        repeats=1,
        min_steps=3,
        warmup_steps=2,
        max_steps=3,
        direct_steps=3,
    ),
    micro_batches=4,
    broadcast_buffers=False,
)


@pytest.fixture(scope="module")
def shared(launched: Launched) -> Any:
    return launched(
        "sharing", kind="sharing", workers=2, protocol=protocol(24 * MIB), **SHARED, **WIDE
    )


def by_way(rows: list[dict[str, Any]]) -> dict[str, pd.DataFrame]:
    return dict(tuple(pd.DataFrame(rows).groupby("way")))


def test_all_ways_compute_the_same(shared) -> None:
    losses = by_way(shared.record.sharing_losses)
    assert list(losses) == sorted([*ALL, AGAIN])
    ddp = losses["ddp"]["loss"].tolist()
    assert len(ddp) == 4
    assert ddp[-1] < ddp[0]
    for way, rows in losses.items():
        assert rows["loss"].tolist() == pytest.approx(ddp, rel=1e-5), way
        assert rows["parameter_gap_frac"].iloc[-1] < 1e-3, way
    assert losses["accumulation"]["parameter_gap_frac"].iloc[-1] > 0  # it rounds otherwise
    assert losses[AGAIN]["loss"].tolist() == ddp  # a CPU adds in one order


def test_each_worker_holds_its_part(shared) -> None:
    size = shared.record.payload_bytes
    memory = by_way(shared.record.sharing_memory)
    for way in ("ddp", "accumulation"):
        assert memory[way]["parameter_bytes"].tolist() == [size, size]
        assert memory[way]["gradient_bytes"].tolist() == [size, size]
        assert (memory[way]["state_bytes"] / size).tolist() == pytest.approx([2, 2], rel=1e-4)
    # Adam's two moments, shared between the workers parameter by parameter.
    assert memory["zero1"]["state_bytes"].sum() / size == pytest.approx(2, rel=1e-4)
    assert memory["zero1"]["state_bytes"].max() < 1.5 * size
    for way in ("fsdp", "fsdp_kept"):
        for part, of_all in (("parameter", 1), ("gradient", 1), ("state", 2)):
            held = memory[way][f"{part}_bytes"] / size
            assert held.tolist() == pytest.approx([of_all / 2] * 2, rel=1e-4), (way, part)
    saved = {way: rows["activation_bytes"].max() for way, rows in memory.items()}
    assert saved["accumulation"] < saved["ddp"] == saved["fsdp"]


def test_the_peak_holds_what_is_there_at_once_and_sharding_lowers_it(shared) -> None:
    size = shared.record.payload_bytes
    peaks = {
        way: rows["peak_bytes"].max() / size
        for way, rows in by_way(shared.record.sharing_memory).items()
    }
    # Parameters, gradients, buckets, two moments, and the update of the widest layer at least.
    assert 5 < peaks["ddp"] < 7
    assert peaks["fsdp"] < 0.7 * peaks["ddp"]
    assert peaks["fsdp"] < peaks["zero1"] < peaks["ddp"]


def test_what_is_sharded_leaves_room_for_a_larger_batch(shared) -> None:
    fits = {}
    for way, rows in by_way(shared.record.sharing_batches).items():
        assert set(rows["budget_bytes"]) == {24 * MIB}
        assert set(rows["status"]) == {"complete"}
        within = rows[rows["peak_bytes"] <= 24 * MIB]["per_worker_batch"]
        beyond = rows[rows["peak_bytes"] > 24 * MIB]["per_worker_batch"]
        assert within.max() < beyond.min(), way
        fits[way] = within.max()
    assert fits["ddp"] < fits["fsdp"]
    assert fits["ddp"] < fits["accumulation"]


def test_a_users_own_network_is_shared_in_every_way(launched) -> None:
    # Tied weights, a layer that no loss depends on, groups of parameters and RMSprop.
    config = load_config({"name": "own", "own": {"file": str(OWN)}} | dict.fromkeys(STUDIES))
    own = {"own": own_file(config), "model": ModelConfig(name="own")}
    fields = {"workers": 2, "per_worker_batch": 8, "protocol": protocol(micro_batches=2)}
    result = launched("own_sharing", kind="sharing", **fields, **own)
    losses = by_way(result.record.sharing_losses)
    for way in ALL:
        assert losses[way]["loss"].tolist() == pytest.approx(
            losses["ddp"]["loss"].tolist(), rel=1e-4
        )
    assert result.record.sharing_batches == []
    assert len(result.record.sharing_memory) == 2 * len(ALL)


@pytest.mark.ledger
@pytest.mark.alone  # the loopback's counters hold what anybody sends
@pytest.mark.parametrize("workers", [2, 4])
def test_interfaces_count_what_the_ledger_says(launched, workers) -> None:
    result = launched(
        f"ways-n{workers}", kind="timed", workers=workers, protocol=TIMED, **SHARED, **WIDE
    )
    assert Counter(result.steps["arm"]) == dict.fromkeys(TIMED.timing.arms, 3 * workers)
    calls, wire = pd.DataFrame(result.record.collectives), pd.DataFrame(result.record.wire)
    updates = calls[calls["operation"] == "broadcast"][["timed_arm", "purpose"]]
    assert set(updates.itertuples(index=False, name=None)) == {("zero1", "updated parameters")}
    unit = (workers - 1) * result.record.payload_bytes
    found = {}
    for arm in TIMED.timing.arms:
        said, note = ledger_bytes(calls[calls["timed_arm"] == arm], workers, "gloo")
        assert note is None
        own = wire[wire["timed_arm"] == arm]
        assert set(own["iterations"]) == {COUNTED_STEPS}
        assert interface_bytes(own)["interface_bytes"] == pytest.approx(said, rel=0.02), arm
        found[arm] = said / unit
    # Parts of a layer are padded to equal lengths, so that sharding sends a little more.
    assert list(found.values()) == pytest.approx([2, 2, 3, 4, 3], rel=0.01)
    assert found["without_loading"] == found["accumulation"] == 2
