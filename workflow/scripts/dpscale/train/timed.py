"""Timed runs (Q1, Q2, Q3): epochs with and without loading, interleaved in one process group."""

import itertools
import random
from collections.abc import Callable, Iterable, Iterator

import torch

from dpscale.plan import Spec
from dpscale.plan.spec import Timing
from dpscale.train.clock import make_clock
from dpscale.train.data import Batch, Dataset, Loader, build_loader
from dpscale.train.device import Utilisation
from dpscale.train.loop import Epoch, train_epoch
from dpscale.train.measurement import (
    Measurement,
    StepLog,
    gather_steps,
    mean_of_known,
    most_of_known,
)
from dpscale.train.memory import PeakMemory
from dpscale.train.progress import Progress
from dpscale.train.worker import Place, build_replica

# Batches held ready in host memory for the arm without loading: few, so that they cost little.
READY_BATCHES = 8
READY_BYTES = 512 * 2**20


def measure_timed(spec: Spec, dataset: Dataset, place: Place) -> Measurement:
    """Times the spec's arms after a warm-up that is not recorded.

    Each repeat of an arm is as many epochs of full batches as reach `timing.min_steps`. The arms
    of a repeat come in random order, the same on all workers.
    """
    timing = spec.timing
    assert timing is not None
    assert spec.per_worker_batch is not None
    memory = PeakMemory(place.device)
    seed = spec.seeds[0]
    ready = _ready_batches(spec, dataset, place)
    supplies: dict[str, Callable[[int], Iterable[Batch]]] = {"without_loading": lambda _: ready}
    if "with_loading" in timing.arms:  # else a resident split would count as memory of training
        loader = _loader(spec, dataset, place, kind=spec.data.loader, device=place.device)
        supplies["with_loading"] = loader.batches
    replica = build_replica(spec, dataset, place, seed=seed, steps_per_epoch=len(ready))
    clock, log, numbers = make_clock(place.device), StepLog(place.rank), itertools.count()
    _warm_up(timing, len(ready), lambda: train_epoch(replica, ready, clock))
    if "with_loading" in timing.arms:  # the loader's processes start here
        train_epoch(replica, supplies["with_loading"](next(numbers)), clock)
    progress = Progress(spec.run, timing.repeats * len(timing.arms), shown=place.leads)
    order = random.Random(seed)
    with Utilisation(place.device, spec.hardware.threads_per_worker) as utilisation:
        for repeat in range(timing.repeats):
            for arm in order.sample(timing.arms, len(timing.arms)):
                for number in range(_epochs(timing, len(ready))):
                    epoch = train_epoch(replica, supplies[arm](next(numbers)), clock)
                    log.add(epoch, seed=seed, arm=arm, repeat=repeat, number=number)
                rate = epoch.samples.sum() * place.workers / epoch.seconds["step_s"].sum()
                progress.step(f"{arm.replace('_', ' ')}, {rate:.0f} samples/s")
    return Measurement(
        steps=gather_steps(log, place),
        fields={
            "peak_memory_bytes": most_of_known(place.gather(memory.bytes())),
            "utilisation_frac": mean_of_known(place.gather(utilisation.frac)),
        },
    )


def _loader(
    spec: Spec, dataset: Dataset, place: Place, *, kind: str, device: torch.device
) -> Loader:
    assert spec.per_worker_batch is not None
    return build_loader(
        dataset.train,
        dataset,
        loader=kind,
        batch=spec.per_worker_batch,
        workers=spec.workers,
        rank=place.rank,
        seed=spec.seeds[0],
        augment=spec.data.augment,
        device=device,
        loader_workers=spec.data.loader_workers,
    )


class _Ready:
    """An epoch of batches that lie ready in host memory, a few of them in turn."""

    def __init__(self, batches: list[Batch], steps: int) -> None:
        self._batches, self._steps = batches, steps

    def __len__(self) -> int:
        return self._steps

    def __iter__(self) -> Iterator[Batch]:
        return itertools.islice(itertools.cycle(self._batches), self._steps)


def _ready_batches(spec: Spec, dataset: Dataset, place: Place) -> "_Ready":
    host = torch.device("cpu")
    loader = _loader(spec, dataset, place, kind="resident", device=host)
    first = next(loader.batches(0))
    size = first[0].element_size() * first[0].nelement()
    count = max(1, min(READY_BATCHES, READY_BYTES // size, len(loader)))
    batches = list(itertools.islice(loader.batches(0), count))
    if place.device.type == "cuda":
        batches = [(images.pin_memory(), labels.pin_memory()) for images, labels in batches]
    most = spec.timing.max_steps if spec.timing else None
    return _Ready(batches, min(len(loader), most or len(loader)))


def _epochs(timing: Timing, steps_per_epoch: int) -> int:
    return -(-timing.min_steps // steps_per_epoch)


def _warm_up(timing: Timing, steps_per_epoch: int, run_epoch: Callable[[], Epoch]) -> None:
    """Whole epochs that reach the steps of the warm-up; at large batches these are few steps."""
    epochs = -(-timing.warmup_steps // steps_per_epoch)
    for _ in range(max(epochs, int(timing.warmup_epoch))):
        run_epoch()
