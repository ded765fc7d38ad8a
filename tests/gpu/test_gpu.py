"""What only a GPU shows: events, the allocator's end, compiled graphs, NCCL, precision."""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from dpscale.plan.spec import Messages, Timing
from dpscale.train.clock import make_clock
from dpscale.train.collectives import unobservable
from dpscale.train.data import build_loader, load_dataset
from dpscale.train.device import open_device, synchronise
from dpscale.train.loop import train_epoch
from dpscale.train.sync import AllReduce, Solo
from dpscale.train.worker import Place, Replica, build_replica, join_group_of_one

STEPS = 20
LIMIT = {"precision": "bf16", "channels_last": True, "fused": True}
GRAPHS = {"compile": True, "compile_mode": "reduce-overhead"}


def replica_of(spec: Any, *, ddp: bool = False) -> tuple[Replica, list[Any]]:
    """A replica of this process alone, and batches on its device."""
    place = Place(0, 1, 1, open_device(spec.hardware, 0))
    if ddp:
        join_group_of_one(spec)
    dataset = load_dataset(spec.data)
    loader = build_loader(
        dataset.train, dataset, loader="resident", batch=spec.per_worker_batch, workers=1, rank=0,
        seed=0, augment=False, device=place.device,
    )  # fmt: skip
    sync = AllReduce() if ddp else Solo()
    replica = build_replica(spec, dataset, place, seed=0, steps_per_epoch=STEPS, sync=sync)
    return replica, [next(loader.batches(0))] * STEPS


def losses_of(spec: Any, *, ddp: bool = False) -> np.ndarray:
    replica, batches = replica_of(spec, ddp=ddp)
    epochs = [train_epoch(replica, batches, make_clock(replica.place.device)) for _ in range(2)]
    return np.concatenate([epoch.losses for epoch in epochs])


@pytest.mark.parametrize("ddp", [False, True], ids=["bare", "NCCL"])
def test_events_tell_the_time_that_passes(runs: Any, measured: Any, ddp: bool) -> None:
    replica, batches = replica_of(runs.spec("events"), ddp=ddp)
    clock = make_clock(replica.place.device)
    train_epoch(replica, batches, clock)
    synchronise(replica.place.device)
    start_s = time.perf_counter()
    epoch = train_epoch(replica, batches, clock)
    synchronise(replica.place.device)
    wall_s = time.perf_counter() - start_s
    events_s = float(epoch.seconds["step_s"].sum())
    measured(f"events over wall time, {'DDP at one' if ddp else 'bare'}", events_s / wall_s, "1")
    assert 0.8 * wall_s < events_s <= 1.001 * wall_s


def test_ddp_at_one_device_stands_beside_none(runs: Any, measured: Any) -> None:
    timing = Timing(
        arms=("without_loading", "ddp_of_one"), repeats=10, min_steps=30, warmup_steps=20,
        direct_steps=30,
    )  # fmt: skip
    spec = runs.spec("ddp-at-one", timing=timing)
    record = runs.launch(spec)
    assert record.status == "complete", record.message
    steps = pd.read_parquet(runs.folder / "runs/ddp-at-one/steps.parquet")
    step_s = steps.groupby(["arm", "repeat"])["step_s"].mean().unstack("arm")
    ratio = step_s["ddp_of_one"] / step_s["without_loading"]
    measured("step of DDP at one device over none", float(ratio.median()), "1")
    assert (step_s > 0).all().all()


def test_two_workers_on_one_device_exchange_over_gloo(runs: Any, measured: Any) -> None:
    timing = Timing(
        arms=("without_loading", "solo", "reference", "noop_hook", "buckets"), repeats=5,
        min_steps=5, warmup_steps=10, direct_steps=5,
    )  # fmt: skip
    shared = {"backend": "gloo", "allow_oversubscription": True}
    record = runs.launch(runs.spec("shared", workers=2, hardware=shared, timing=timing))
    assert record.status == "complete", record.message
    assert record.oversubscribed
    assert sum(row["bytes"] for row in record.buckets) == record.payload_bytes
    assert {row["rank"] for row in record.spans} == {0, 1}
    if unobservable() is None:
        assert record.collectives
    trained = runs.launch(
        runs.spec("shared-training", kind="training", workers=2, hardware=shared)
    )  # fmt: skip
    assert len({row["parameter_digest"] for row in trained.replicas}) == 1


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU here")
def test_two_workers_exchange_over_nccl(runs: Any, measured: Any) -> None:
    messages = Messages(bytes=(25 * 2**20,), repeats=20, budget_s=30.0)
    record = runs.launch(runs.spec("link", kind="link", workers=2, messages=messages))
    seconds = float(pd.DataFrame(record.messages)["seconds"].median())
    measured("all-reduce of 25 MiB over NCCL, two workers", seconds, "s")
    assert seconds > 0


def test_the_boundary_is_a_real_out_of_memory(runs: Any, measured: Any) -> None:
    timing = Timing(arms=("without_loading",), repeats=1, min_steps=1, warmup_steps=1, max_steps=1)
    sweep, batch = [], 2048
    many = {"samples": 2**17}
    while not sweep or sweep[-1].status == "complete":
        spec = runs.spec(f"sweep-b{batch}", per_worker_batch=batch, timing=timing, data=many)
        sweep.append(runs.launch(spec))
        batch *= 4
    assert sweep[-1].status == "out_of_memory", sweep[-1].message
    output = runs.folder / "boundary.json"
    probe = spec.model_copy(update={"study": "boundary"})
    script = Path(__file__).resolve().parents[2] / "workflow/scripts/find_boundary.py"
    subprocess.run(
        [sys.executable, str(script), probe.model_dump_json(), "--resolution", "0.2",
         "--confirmations", "0", "--runs", str(runs.folder / "runs"), "--output", str(output),
         "--log", str(runs.folder / "boundary.log"), "--history", str(runs.folder / "boundary"),
         "--sweep", *(record.run for record in sweep)], check=True, timeout=300,
    )  # fmt: skip
    found = json.loads(output.read_text())
    measured("largest batch of ResNet-18 in fp32", found["largest_fit_batch"], "samples")
    assert found["largest_fit_batch"] < found["smallest_failed_batch"]


def test_compiled_arms_have_graphs_of_their_own(runs: Any, monkeypatch: Any) -> None:
    sizes: list[int] = []

    def count(graph: Any, inputs: Any, options: Any = None) -> Any:
        sizes.append(sum(node.op.startswith("call") for node in graph.graph.nodes))
        return graph.forward

    monkeypatch.setattr(torch._inductor, "compile", count)
    found = []
    for ddp in (True, False, True):
        losses_of(runs.spec("apart", training={"compile": True}), ddp=ddp)
        found.append(list(sizes))
        sizes.clear()
    split, whole, again = found
    assert len(split) > 1
    assert whole == [sum(split)]
    assert again == split


@pytest.mark.parametrize("ddp", [False, True], ids=["bare", "DDP"])
@pytest.mark.parametrize(
    "training",
    [{"precision": "bf16"}, {"channels_last": True}, LIMIT, LIMIT | GRAPHS],
    ids=["bf16", "channels-last", "eager limit", "CUDA graphs"],
)
def test_every_setting_of_the_limit_track_learns(runs: Any, training: dict, ddp: bool) -> None:
    losses = losses_of(runs.spec("learns", training=training | {"lr": 0.02}), ddp=ddp)
    assert np.isfinite(losses).all()
    assert losses[-1] < losses[0]  # one batch again and again


def test_the_table_of_the_limit_track(measured: Any) -> None:
    import limit  # benchmarks/limit.py

    for ratio in limit.run(device="cuda", rounds=3, batches=(32, 128, 512), largest=False):
        row = argparse.Namespace(**ratio.row())
        measured(f"{row.case}: ours, {row.unit}", row.ours, row.unit)
        measured(f"{row.case}: {row.peer_name}, {row.unit}", row.peer, row.unit)
        assert row.ratio > 0
