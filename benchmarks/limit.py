"""The limit track against the lab's own settings: epoch time, loading, FLOP utilisation, DDP.

    python benchmarks/limit.py [--device cuda|cpu] [--rounds 5] [--batches 32 128 512]

The lab track trains as config/lab.yaml says (fp32, DataLoader), the limit track as
config/limit.yaml (resident images, batched augmentation, bf16, channels_last, fused, compiled,
CUDA graphs), both by the library's own loop, on random images of CIFAR-10's shape. All take turns
in one process, in random order, an epoch at a time. For each batch size: seconds of an epoch of
50,000 images with the spread over rounds; the share of the time in loading, which is waiting for a
batch and moving it to the device; and the model FLOP utilisation, whose peak is the fastest large
matrix product in the track's precision, measured on the same device. At one batch size DDP around
a single device stands beside none. `busy` is the share of the time in which the device worked: on a
CPU well below 100% it was somebody else's, and the seconds are too long.

On a GPU also the largest batch of each track, found by doubling up to a real out-of-memory error
and bisecting; as each fills the device, the tracks are measured there one after the other. On a
CPU a smaller network trains few images, and the network is compiled at one batch size alone: each
compilation takes as long as all the rest. Nothing loads beside it in processes of their own, which
would take the cores that train, and bf16 is used only where its measured peak is the higher one.
"""

import argparse
import gc
import itertools
import math
import os
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "benchmarks")]

import torch  # noqa: E402
from flops import peak_flops_per_s, training_flops_per_sample  # noqa: E402
from ratios import Ratio, compare, interleaved, spread_frac  # noqa: E402

from dpscale.config import read_config  # noqa: E402
from dpscale.config.sections import DataConfig, HardwareConfig, ModelConfig  # noqa: E402
from dpscale.derive.formulas import epoch_seconds, model_flop_utilisation  # noqa: E402
from dpscale.plan import Spec  # noqa: E402
from dpscale.plan.spec import build_spec  # noqa: E402
from dpscale.train.clock import make_clock  # noqa: E402
from dpscale.train.data import build_loader, load_dataset  # noqa: E402
from dpscale.train.device import Utilisation, device_model, open_device  # noqa: E402
from dpscale.train.loop import train_epoch  # noqa: E402
from dpscale.train.memory import is_out_of_memory  # noqa: E402
from dpscale.train.network import seeded_network  # noqa: E402
from dpscale.train.sync import AllReduce, Solo  # noqa: E402
from dpscale.train.worker import Place, build_replica, join_group_of_one  # noqa: E402

TRACKS = ("lab", "limit")
EPOCH_IMAGES = 50_000  # of CIFAR-10
BATCHES = (32, 128, 512)
DDP_BATCH = 128
FIT_RESOLUTION_FRAC = 1 / 16  # a compilation for every step of the bisection


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

    def __init__(self, kind: str, rounds: int) -> None:
        self.kind, self.scale, self.rounds = kind, SCALES[kind], rounds
        hardware = HardwareConfig(
            device=kind,
            backend="nccl" if kind == "cuda" else "gloo",
            threads_per_worker=self.scale.threads,
        )
        self.hardware = hardware
        self.place = Place(0, 1, 1, open_device(hardware, 0))
        self.peaks = {name: peak_flops_per_s(self.place.device, name) for name in ("fp32", "bf16")}
        spec = self.spec("lab", 1)
        dataset = load_dataset(spec.data)
        self.sample_flops = training_flops_per_sample(
            seeded_network(spec, dataset, seed=0), dataset.image_shape
        )

    def spec(self, track: str, batch: int) -> Spec:
        """The spec of a timed run with the settings of a track."""
        config, scale = read_config(ROOT / f"config/{track}.yaml"), self.scale
        training, on_cpu = config.training, self.kind == "cpu"
        if on_cpu:
            slow = self.peaks[training.precision] < self.peaks["fp32"]
            precision = "fp32" if slow else training.precision
            training = training.model_copy(
                update={"compile_mode": "default", "precision": precision}
            )
        if scale.compiled is not None and batch not in scale.compiled:
            training = training.model_copy(update={"compile": False})
        data = DataConfig(
            dataset="synthetic", channels=3, image_size=32, classes=10,
            samples=max(scale.images, scale.steps * batch), augment=config.data.augment,
            loader=config.data.loader, loader_workers=0 if on_cpu else config.data.loader_workers,
        )  # fmt: skip
        sections = {"data": data, "training": training, "hardware": self.hardware}
        config = config.model_copy(update=sections | {"model": ModelConfig(name=scale.network)})
        return build_spec(
            config, "timed", run=track, study="limit", workers=1, per_worker_batch=batch
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
        try:
            self._build()
        except Exception as error:
            if not self.spec.training.compile or is_out_of_memory(error):
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
            dataset.train, dataset, loader=spec.data.loader, batch=spec.per_worker_batch, workers=1,
            rank=0, seed=0, augment=spec.data.augment, device=place.device,
            loader_workers=spec.data.loader_workers,
        )  # fmt: skip
        steps = len(self._loader)
        self._replica = build_replica(
            spec, dataset, place, seed=0, steps_per_epoch=steps,
            sync=AllReduce() if self._ddp else Solo(),
        )  # fmt: skip
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


def largest_batch(fits: Callable[[int], bool], first: int) -> int:
    """Return the largest batch that fits, by doubling and bisecting; `first` is known to fit.

    Correct to FIT_RESOLUTION_FRAC of the answer.
    """
    fitting, failing = first, 2 * first
    while fits(failing):
        fitting, failing = failing, 2 * failing
    while failing - fitting > max(1, FIT_RESOLUTION_FRAC * fitting):
        middle = (fitting + failing) // 2
        if fits(middle):
            fitting = middle
        else:
            failing = middle
    return fitting


def fits_in(bench: Bench, track: str) -> Callable[[int], bool]:
    """Whether a batch of a track trains without running out of memory; says why not."""

    def fits(batch: int) -> bool:
        try:
            Trainee(bench, track, batch)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            print(f"{track}: b = {batch:,} does not fit: {first_line(error)}", flush=True)
            return False
        finally:
            free()
        return True

    return fits


def at_batch(bench: Bench, batch: int) -> list[Ratio]:
    """Ratios of the tracks at a batch size, and of DDP around one device where it is asked for."""
    trainees = {name: Trainee(bench, name, batch) for name in TRACKS}
    if batch == DDP_BATCH:
        for name in bench.scale.ddp_tracks:
            trainees[f"{name}, DDP"] = Trainee(bench, name, batch, ddp=True)
    readings = interleaved({name: one.read for name, one in trainees.items()}, bench.rounds)
    for name, one in trainees.items():
        tell(bench, name, one.spec, readings[name], one.note)
    case = f"{bench.scale.network}, b = {batch}"
    if not trainees["limit"].spec.training.compile:
        case += " (not compiled)"
    specs = {name: one.spec for name, one in trainees.items()}
    found = ratios_of(bench, case, specs, readings)
    for name in TRACKS:
        if with_ddp := readings.get(f"{name}, DDP"):
            case = f"DDP at one device, {name} track, b = {batch}"
            rate, bare_rate = rates(with_ddp), rates(readings[name])
            found.append(compare("limit", case, "without DDP", "samples/s", rate, bare_rate))
    return found


def at_largest(bench: Bench, first: int) -> list[Ratio]:
    """Ratios of the tracks, each with the largest batch that fits the device."""
    specs, readings, sizes = {}, {}, []
    for name in TRACKS:
        batch = largest_batch(fits_in(bench, name), first)
        trainee = Trainee(bench, name, batch)
        specs[name] = trainee.spec
        readings[name] = [trainee.read() for _ in range(bench.rounds)]
        tell(bench, name, trainee.spec, readings[name], "the largest that fits")
        sizes.append(f"{name} {batch:,}")
        del trainee
        free()
    case = f"{bench.scale.network}, the largest b ({', '.join(sizes)})"
    return ratios_of(bench, case, specs, readings)


def rates(readings: list[Reading]) -> list[float]:
    """Samples per second of each reading."""
    return [one.samples_per_s for one in readings]


def ratios_of(
    bench: Bench, case: str, specs: dict[str, Spec], readings: dict[str, list[Reading]]
) -> list[Ratio]:
    """The limit track over the lab track: rate, FLOP utilisation, share of loading."""
    used = {name: [bench.mfu(specs[name], one) for one in readings[name]] for name in TRACKS}
    loading = {name: [one.loading_frac for one in readings[name]] for name in TRACKS}
    rate = {name: rates(readings[name]) for name in TRACKS}
    frac = "fraction"
    return [
        compare("limit", case, "lab track", "samples/s", rate["limit"], rate["lab"]),
        compare("limit", f"MFU, {case}", "lab track", frac, used["limit"], used["lab"]),
        compare(
            "limit", f"loading, {case}", "lab track", frac, loading["limit"], loading["lab"],
            less_is_better=True,
        ),
    ]  # fmt: skip


HEAD = (
    f"{'track':10} {'b':>6} {'precision':9} {'epoch s':>8} {'samples/s':>10} {'spread':>6} "
    f"{'loading':>7} {'MFU':>6} {'busy':>5}"
)


def tell(bench: Bench, name: str, spec: Spec, readings: list[Reading], note: str) -> None:
    """Print a row of the table: medians over the rounds."""
    rate = statistics.median(rates(readings))
    loading = statistics.median(one.loading_frac for one in readings)
    busy = statistics.median(one.busy_frac for one in readings)
    used = statistics.median(bench.mfu(spec, one) for one in readings)
    if used > 1:
        note = " ".join([note, "(no matrix product reached the peak of this device)"]).strip()
    epoch_s = epoch_seconds(1.0, rate, EPOCH_IMAGES)
    print(
        f"{name:10} {spec.per_worker_batch:6} {spec.training.precision:9} {epoch_s:8,.2f} "
        f"{rate:10,.0f} {spread_frac(rates(readings)):6.1%} {loading:7.1%} {used:6.1%} "
        f"{busy:5.0%}  {note}",
        flush=True,
    )


def tell_ratio(one: Ratio) -> None:
    """Print a ratio with its 95% interval."""
    shown = ".1%" if one.unit == "fraction" else ",.0f"
    unit = "" if one.unit == "fraction" else f" {one.unit}"
    print(
        f"{one.case}: {one.ours:{shown}}{unit}, {one.peer_name} {one.peer:{shown}}{unit}, "
        f"ratio {one.ratio:.2f} [{one.ratio_low:.2f}, {one.ratio_high:.2f}]",
        flush=True,
    )


def run(
    device: str = "auto", rounds: int = 5, batches: tuple[int, ...] = BATCHES, largest: bool = True
) -> list[Ratio]:
    """All ratios, printed with the table behind them; `largest` concerns GPUs alone."""
    kind = device if device != "auto" else ("cuda" if torch.cuda.is_available() else "cpu")
    bench = Bench(kind, rounds)
    print(
        f"{device_model(bench.hardware)}, {bench.scale.threads} threads, torch "
        f"{torch.__version__}; {bench.scale.network}, {bench.sample_flops / 1e9:.3f} GFLOP a "
        "sample forward and backward; peak "
        + ", ".join(f"{name} {peak / 1e12:.3g} TFLOP/s" for name, peak in bench.peaks.items())
        + f"; {bench.rounds} rounds\n{HEAD}",
        flush=True,
    )
    found: list[Ratio] = []
    try:
        fitting = [batch for batch in batches if add_batch(bench, batch, found)]
        if kind == "cuda" and largest and fitting:
            found += at_largest(bench, first=max(fitting))
    finally:  # minutes of a GPU are in these rows
        for one in found:
            tell_ratio(one)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    return found


def add_batch(bench: Bench, batch: int, found: list[Ratio]) -> bool:
    """Whether both tracks fit with a batch size; adds their ratios to those found."""
    try:
        found += at_batch(bench, batch)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        print(f"b = {batch:,} does not fit: {first_line(error)}", flush=True)
        return False
    finally:
        free()
    return True


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("auto", "cuda", "cpu"), default="auto")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, nargs="+", default=list(BATCHES))
    parser.add_argument("--largest", action=argparse.BooleanOptionalAction, default=True)
    arguments = parser.parse_args()
    run(arguments.device, arguments.rounds, tuple(arguments.batches), arguments.largest)


if __name__ == "__main__":
    main()
