"""Both tracks of the limit benchmark on one device: their settings, and what trains with them."""

import gc
import itertools
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import torch
from flops import peak_flops_per_s, training_flops_per_sample

from dpscale.config.sections import DataConfig, HardwareConfig, ModelConfig
from dpscale.derive.formulas import model_flop_utilisation
from dpscale.plan import Spec
from dpscale.plan.spec import TIMED, RunProtocol, build_spec
from dpscale.studies import read_config
from dpscale.train.clock import make_clock
from dpscale.train.communication.sync import AllReduce, Solo
from dpscale.train.data import build_loader, load_dataset
from dpscale.train.loop import train_epoch
from dpscale.train.machine.device import Utilisation, open_device
from dpscale.train.machine.memory import failed_allocations, is_out_of_memory
from dpscale.train.network import seeded_network
from dpscale.train.worker import Place, build_replica, join_group_of_one

CONFIGS = Path(__file__).resolve().parents[1] / "config"
TRACKS = ("lab", "limit")
PRECISIONS = ("fp32", "bf16")
EPOCH_IMAGES = 50_000  # of CIFAR-10
DDP_BATCH = 128


@dataclass(frozen=True)
class Scale:
    """How much of the table a kind of device can do."""

    network: str
    images: int  # of an epoch that is timed, at least
    steps: int  # of such an epoch, at least
    warmup_steps: int  # a CUDA graph is replayed from the third on
    compiled: tuple[int, ...] | None  # batch sizes; None: all
    ddp_tracks: tuple[str, ...]
    threads: int


SCALES = {
    "cuda": Scale("resnet18_cifar", EPOCH_IMAGES, 4, 4, None, TRACKS, 4),
    "cpu": Scale("resnet20", 128, 1, 1, (DDP_BATCH,), ("lab",), 1),
}


class Reading(NamedTuple):
    """What one epoch gave."""

    samples_per_s: float
    loading_frac: float
    busy_frac: float  # of the device; nan: unknown


class Bench:
    """Both tracks on one device."""

    def __init__(
        self, kind: str, rounds: int, network: str | None = None, peak_repeats: int = 8
    ) -> None:
        self.kind, self.rounds = kind, rounds
        self.scale = replace(SCALES[kind], network=network or SCALES[kind].network)
        hardware = HardwareConfig(
            device=kind,
            backend="nccl" if kind == "cuda" else "gloo",
            threads_per_worker=self.scale.threads,
        )
        self.hardware = hardware
        self.place = Place(0, 1, 1, open_device(hardware, 0))
        peaks = {
            name: peak_flops_per_s(self.place.device, name, peak_repeats) for name in PRECISIONS
        }
        self.peaks = {name: peak for name, peak in peaks.items() if peak is not None}
        spec = self.spec("lab", 1)
        dataset = load_dataset(spec.data)
        self.sample_flops = training_flops_per_sample(
            seeded_network(spec, dataset, seed=0), dataset.image_shape
        )

    def spec(self, track: str, batch: int) -> Spec:
        """The spec of a timed run with the settings of a track."""
        config, scale = read_config(CONFIGS / f"{track}.yaml"), self.scale
        training, on_cpu = config.training, self.kind == "cpu"
        lacks = training.precision not in self.peaks
        if lacks or (on_cpu and self.peaks[training.precision] < self.peaks["fp32"]):
            training = training.model_copy(update={"precision": "fp32"})
        if on_cpu:
            training = training.model_copy(update={"compile_mode": "default"})
        if scale.compiled is not None and batch not in scale.compiled:
            training = training.model_copy(update={"compile": False})
        data = DataConfig(
            dataset="synthetic",
            channels=3,
            image_size=32,
            classes=10,
            samples=max(scale.images, scale.steps * batch),
            augment=config.data.augment,
            loader=config.data.loader,
            loader_workers=0 if on_cpu else config.data.loader_workers,
        )
        sections = {"data": data, "training": training, "hardware": self.hardware}
        config = config.model_copy(update=sections | {"model": ModelConfig(name=scale.network)})
        return build_spec(
            config,
            TIMED,
            run=track,
            study="limit",
            workers=1,
            per_worker_batch=batch,
            protocol=RunProtocol(),
        )

    def mfu(self, spec: Spec, reading: Reading) -> float:
        """Model FLOP utilisation of a reading, as a fraction."""
        peak = self.peaks[spec.training.precision]
        return model_flop_utilisation(self.sample_flops, reading.samples_per_s, peak)


class Trainee:
    """A track at a batch size, warm; each call of `read` trains an epoch."""

    def __init__(self, bench: Bench, track: str, batch: int, *, ddp: bool = False) -> None:
        self.bench, self.spec, self.note = bench, bench.spec(track, batch), ""
        self._ddp, self._numbers = ddp, itertools.count()
        before = failed_allocations()
        try:
            self._build()
        except Exception as error:
            ooms = failed_allocations() - before
            if not self.spec.training.compile or is_out_of_memory(error, num_ooms=ooms):
                raise
            self.note = f"compilation failed: {first_line(error)}"
            self._change(compile=False, compile_mode="default")
            self._build()
        if track == "limit" and not self.spec.training.compile:
            self.note = self.note or "not compiled"

    def read(self) -> Reading:
        """Rate and share of loading of one more epoch."""
        batches = self._loader.batches(next(self._numbers))
        device, threads = self.bench.place.device, self.bench.scale.threads
        with Utilisation(device, threads) as used:
            epoch = train_epoch(self._replica, batches, make_clock(device))
        seconds = {name: float(values.sum()) for name, values in epoch.seconds.items()}
        loading_s = seconds["load_s"] + seconds["copy_s"]
        busy_frac = math.nan if used.frac is None else used.frac
        rate = epoch.samples.sum() / seconds["step_s"]
        return Reading(rate, loading_s / seconds["step_s"], busy_frac)

    def _change(self, **training: object) -> None:
        changed = self.spec.training.model_copy(update=training)
        self.spec = self.spec.model_copy(update={"training": changed})

    def _build(self) -> None:
        """Loader and replica, and as many epochs as warm them up."""
        spec, place, scale = self.spec, self.bench.place, self.bench.scale
        if self._ddp:
            join_group_of_one(spec)
        dataset = load_dataset(spec.data)
        self._loader = build_loader(
            dataset.train,
            dataset,
            loader=spec.data.loader,
            batch=spec.per_worker_batch,
            workers=1,
            rank=0,
            seed=0,
            augment=spec.data.augment,
            device=place.device,
            loader_workers=spec.data.loader_workers,
        )
        steps = len(self._loader)
        self._replica = build_replica(
            spec,
            dataset,
            place,
            seed=0,
            steps_per_epoch=steps,
            sync=AllReduce() if self._ddp else Solo(),
        )
        for _ in range(-(-scale.warmup_steps // steps)):
            self.read()


def first_line(error: BaseException) -> str:
    """An error's type and the beginning of what it says."""
    said = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {said[0][:120]}"


def free() -> None:
    """Give back the memory of trainees that nobody holds, and of their compiled code."""
    torch.compiler.reset()
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
