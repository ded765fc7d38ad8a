"""What only a GPU shows: events, compiled graphs, NCCL, precision, cuDNN, large activations."""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import needs  # noqa: F401
import numpy as np
import pandas as pd
import pytest
import torch
from patience import HANG_S
from ratios import interleaved
from torch import Tensor, nn

from dpscale.plan.spec import LinkProtocol, Timing
from dpscale.train.clock import Clock, make_clock
from dpscale.train.communication.collectives import unobservable
from dpscale.train.communication.sync import AllReduce, Solo
from dpscale.train.data import build_loader, load_dataset
from dpscale.train.loop import train_epoch
from dpscale.train.machine.device import open_device, set_backends, synchronise
from dpscale.train.worker import Place, Replica, build_replica, join_group_of_one

STEPS = 20
ROUNDS, ROUND_SAMPLES = 11, 3200  # of what is measured in turns
LIMIT = {"precision": "bf16", "channels_last": True, "fused": True}
GRAPHS = {"compile": True, "compile_mode": "reduce-overhead"}
needs_compiler = pytest.mark.skipif(
    not (shutil.which("cc") or shutil.which("gcc")), reason="torch.compile needs a C compiler"
)


def replica_of(spec: Any, *, ddp: bool = False, steps: int = STEPS) -> tuple[Replica, list[Any]]:
    """A replica of this process alone, and batches on its device."""
    place = Place(0, 1, 1, open_device(spec.hardware, 0))
    if ddp:
        join_group_of_one(spec)
    dataset = load_dataset(spec.data)
    loader = build_loader(
        dataset.train,
        dataset,
        loader="resident",
        batch=spec.per_worker_batch,
        workers=1,
        rank=0,
        seed=0,
        augment=False,
        device=place.device,
    )
    sync = AllReduce() if ddp else Solo()
    replica = build_replica(spec, dataset, place, seed=0, steps_per_epoch=STEPS, sync=sync)
    return replica, [next(loader.batches(0))] * steps


class NoEvents:
    def __init__(self) -> None:
        self._marks = 0

    def start(self) -> None:
        self._marks = 0

    def mark(self) -> None:
        self._marks += 1

    def note(self) -> None:
        pass

    def intervals(self) -> np.ndarray:
        return np.zeros(self._marks)

    def notes(self) -> np.ndarray:
        return np.zeros(0)


class Walled:
    """A clock, and the time on the wall from its start until the device is done."""

    def __init__(self, clock: Clock, device: torch.device) -> None:
        self._clock, self._device, self.wall_s = clock, device, 0.0
        self.mark, self.note, self.notes = clock.mark, clock.note, clock.notes

    def start(self) -> None:
        synchronise(self._device)
        self._began_s = time.perf_counter()
        self._clock.start()

    def intervals(self) -> np.ndarray:
        synchronise(self._device)
        self.wall_s = time.perf_counter() - self._began_s
        return self._clock.intervals()


def step_of(spec: Any, *, ddp: bool = False, clock: Clock | None = None) -> Callable[[], float]:
    """Trains an epoch with a spec's settings at each call; seconds of a step on the wall."""
    replica, batches = replica_of(spec, ddp=ddp, steps=ROUND_SAMPLES // spec.per_worker_batch)
    device = replica.place.device
    walled = Walled(clock or make_clock(device), device)

    def train() -> float:
        """Train on them; the settings of another replica may be in force."""
        set_backends(spec.training)
        train_epoch(replica, batches, walled)
        return walled.wall_s / len(batches)

    train()  # captures graphs, and lets cuDNN choose
    return train


def in_turns(steps: Mapping[str, Callable[[], float]]) -> dict[str, float]:
    """The median step of each in seconds, over rounds in which all take turns."""
    found = interleaved(steps, ROUNDS)
    return {name: statistics.median(seconds) for name, seconds in found.items()}


def losses_of(spec: Any, *, ddp: bool = False) -> np.ndarray:
    replica, batches = replica_of(spec, ddp=ddp)
    epochs = [train_epoch(replica, batches, make_clock(replica.place.device)) for _ in range(2)]
    return np.concatenate([epoch.losses for epoch in epochs])


@pytest.mark.parametrize("ddp", [False, True], ids=["bare", "NCCL"])
def test_events_tell_the_time_that_passes(runs, measured, ddp) -> None:
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
    assert 0.1 * wall_s < events_s <= 1.001 * wall_s


def test_ddp_at_one_device_stands_beside_none(runs, measured) -> None:
    timing = Timing(
        arms=("without_loading", "ddp_of_one"),
        repeats=10,
        min_steps=30,
        warmup_steps=20,
        max_steps=30,
    )
    spec = runs.spec("ddp-at-one", timing=timing)
    record = runs.launch(spec)
    assert record.status == "complete", record.message
    steps = pd.read_parquet(runs.folder / "runs/ddp-at-one/steps.parquet")
    step_s = steps.groupby(["arm", "repeat"])["step_s"].mean().unstack("arm")
    ratio = step_s["ddp_of_one"] / step_s["without_loading"]
    measured("step of DDP at one device over none", float(ratio.median()), "1")
    assert (step_s > 0).all().all()


def test_two_workers_on_one_device_exchange_over_gloo(runs, device) -> None:
    timing = Timing(
        arms=("without_loading", "solo", "reference", "noop_hook", "buckets", "no_broadcast"),
        repeats=5,
        min_steps=5,
        warmup_steps=10,
        max_steps=5,
        direct_steps=5,
    )
    shared = {"backend": "gloo", "allow_oversubscription": True}
    record = runs.launch(runs.spec("shared", workers=2, hardware=shared, timing=timing))
    assert record.status == "complete", record.message
    assert record.oversubscribed == (device.type == "cuda")
    assert sum(row["bytes"] for row in record.buckets) == record.payload_bytes
    assert {row["rank"] for row in record.spans} == {0, 1}
    if unobservable() is None:
        assert record.collectives
    trained = runs.launch(runs.spec("shared-training", kind="training", workers=2, hardware=shared))
    assert trained.status == "complete", trained.message
    epochs = pd.DataFrame(trained.replicas).groupby("epoch")
    assert (epochs["rank"].nunique() == 2).all()
    assert (epochs["parameter_digest"].nunique() == 1).all()


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU here")
def test_two_workers_exchange_over_nccl(runs, measured) -> None:
    messages = LinkProtocol(bytes=(25 * 2**20,), repeats=20, budget_s=30.0)
    record = runs.launch(runs.spec("link", kind="link", workers=2, protocol=messages))
    seconds = float(pd.DataFrame(record.messages)["seconds"].median())
    measured("all-reduce of 25 MiB over NCCL, two workers", seconds, "s")
    assert seconds > 0


@needs_compiler
def test_cuda_graphs_with_ddp_at_one_device_stand_beside_all_without(runs, measured) -> None:
    steps = {
        f"{mode}, {'DDP' if ddp else 'bare'}": step_of(
            runs.spec("beside", per_worker_batch=32, training=LIMIT | training), ddp=ddp
        )
        for mode, training in (("eager", {}), ("CUDA graphs", GRAPHS))
        for ddp in (False, True)
    }
    step_s = in_turns(steps)
    for name, seconds in step_s.items():
        measured(f"step of the limit track, b = 32: {name}", seconds, "s")
    ratio = step_s["CUDA graphs, DDP"] / step_s["CUDA graphs, bare"]
    measured("step of DDP at one device over none, CUDA graphs, b = 32", ratio, "1")
    assert min(step_s.values()) > 0


@needs_compiler
def test_five_events_a_step_stand_beside_none(runs, measured) -> None:
    spec = runs.spec("marked", per_worker_batch=32, training=LIMIT | GRAPHS)
    step_s = in_turns({"events": step_of(spec), "none": step_of(spec, clock=NoEvents())})
    ratio = step_s["events"] / step_s["none"]
    remark = "above 1%: the clock costs what it measures" if ratio > 1.01 else "within 1%"
    measured("step with five events over one with none, limit track, b = 32", ratio, "1", remark)
    assert ratio > 0


@pytest.mark.parametrize("batch", [32, 128, 512])
@pytest.mark.parametrize("track", [{}, LIMIT], ids=["fp32", "eager limit"])
def test_the_fastest_of_cudnns_algorithms_stands_beside_its_first_choice(
    runs, measured, track, batch
) -> None:
    def step(benchmark: bool) -> Callable[[], float]:
        training = track | {"cudnn_benchmark": benchmark}
        return step_of(runs.spec("chosen", per_worker_batch=batch, training=training))

    step_s = in_turns({"on": step(True), "off": step(False)})
    name = "eager limit track" if track else "fp32"
    measured(
        f"step with cudnn.benchmark over without, {name}, b = {batch}",
        step_s["on"] / step_s["off"],
        "1",
    )
    assert min(step_s.values()) > 0


def test_activations_of_2_to_the_31_elements_are_those_of_their_samples_alone(
    device, measured
) -> None:
    few, shape = 8, (64, 32, 32)  # as in the first layers of ResNet-18: 2^16 elements a sample
    samples = 2**15 + few
    needed = 12 * samples * 2**16 * 2  # bytes of bfloat16: inputs, outputs, gradients, work space
    free, _ = torch.cuda.mem_get_info(device)
    if free < needed:
        pytest.skip(f"{free / 1e9:.0f} GB free of the {needed / 1e9:.0f} GB that it takes")
    torch.manual_seed(0)
    options: dict[str, Any] = {"device": device, "dtype": torch.bfloat16}
    conv = nn.Conv2d(64, 64, 3, padding=1, bias=False, **options)
    conv = conv.to(memory_format=torch.channels_last)
    some, last = (
        torch.randn(few, *shape, **options).contiguous(memory_format=torch.channels_last)
        for _ in range(2)
    )

    def passes(inputs: Tensor) -> tuple[Tensor, Tensor, float]:
        """Outputs and gradients of the last samples, and seconds of both passes."""
        inputs = inputs.detach().requires_grad_()
        for _ in range(2):  # cuDNN chooses in the first
            inputs.grad = None
            synchronise(device)
            start_s = time.perf_counter()
            outputs = torch.relu(conv(inputs))
            outputs.backward(torch.ones_like(outputs))
            synchronise(device)
            seconds = time.perf_counter() - start_s
        assert inputs.grad is not None
        return outputs[-few:].detach().clone(), inputs.grad[-few:].clone(), seconds

    alone = passes(last)
    half = samples // 2 // few
    *_, half_s = passes(torch.cat([some] * half))  # which keeps the layout
    whole = passes(torch.cat([some] * (samples // few - 1) + [last]))
    for name, one, other in zip(("outputs", "gradients"), alone, whole, strict=False):
        gap = float((one - other).abs().max() / one.abs().max())
        measured(f"largest gap of {name} beyond 2^31 elements to the samples alone", gap, "1")
        assert gap < 0.05  # rounding of bfloat16; an index that wraps finds another sample
    ratio = (whole[2] / samples) / (half_s / (half * few))
    measured("time of a sample beyond 2^31 elements over that at 2^30", ratio, "1")


@pytest.mark.parametrize("workers", sorted({1, torch.cuda.device_count() or 1}))
def test_an_all_reduce_stands_beside_a_cuda_graph_of_it(measured, workers) -> None:
    script = Path(__file__).with_name("allreduce_graph.py")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    ended = subprocess.run(
        [*torchrun, f"--nproc-per-node={workers}", str(script)],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-4000:]
    found = json.loads(ended.stdout.splitlines()[-1])
    for name in ("called", "graph"):
        case = f"all-reduce of {found['bytes'] / 1e6:.1f} MB over NCCL, N = {workers}: {name}"
        measured(case, found[f"{name}_s"], "s")
    assert found["apart"] < 1e-6  # a mean that float32 may round


@needs_compiler
def test_compiled_arms_have_graphs_of_their_own(runs, monkeypatch) -> None:
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
    [
        {"precision": "bf16"},
        {"channels_last": True},
        LIMIT,
        pytest.param(LIMIT | GRAPHS, marks=needs_compiler),
    ],
    ids=["bf16", "channels-last", "eager limit", "CUDA graphs"],
)
def test_every_setting_of_the_limit_track_learns(runs, training, ddp) -> None:
    losses = losses_of(runs.spec("learns", training=training | {"lr": 0.02}), ddp=ddp)
    assert np.isfinite(losses).all()
    assert losses[-1] < losses[0]  # one batch again and again


def test_the_table_of_the_limit_track(measured) -> None:
    import limit  # benchmarks/limit.py

    for ratio in limit.run(device="cuda", rounds=3, batches=(32, 128, 512), largest=False):
        row = argparse.Namespace(**ratio.row())
        measured(f"{row.case}: ours, {row.unit}", row.ours, row.unit)
        measured(f"{row.case}: {row.peer_name}, {row.unit}", row.peer, row.unit)
        assert row.ratio > 0
