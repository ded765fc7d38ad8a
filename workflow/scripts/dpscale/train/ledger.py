"""The ledger (Q6): every collective of construction, first and steady iterations, by its bytes.

An untimed pass. Observers see each collective as it is issued; the kernel's counters of the
network interfaces see the bytes.
"""

import socket
from collections import Counter
from pathlib import Path
from typing import Any

import torch.distributed as dist

from dpscale.plan import Spec
from dpscale.train.clock import make_clock
from dpscale.train.collectives import OUTSIDE, HookObserver, Observer, ProfilerObserver
from dpscale.train.data import Batch, Dataset, build_loader
from dpscale.train.device import synchronise
from dpscale.train.loop import train_epoch
from dpscale.train.measurement import Measurement
from dpscale.train.progress import Progress
from dpscale.train.worker import Place, build_replica

_INTERFACES = Path("/sys/class/net")
Rows = list[dict[str, Any]]


def measure_ledger(spec: Spec, dataset: Dataset, place: Place) -> Measurement:
    """Collectives and interface bytes of construction, first, rebuild and steady iterations.

    Hooks are tried first, then the profiler. Raises RuntimeError when several workers trained and
    neither saw an all-reduce.
    """
    for kind in (HookObserver, ProfilerObserver):
        if not kind.available():
            continue
        observer = kind()
        wire = _observe(observer, spec, dataset, place)
        unseen = all(row["purpose"] != "gradient bucket" for row in observer.rows)
        if not place.agree(unseen):
            # NCCL sends over NVLink, PCIe or InfiniBand, which the kernel does not count.
            counted = place.leads and spec.hardware.backend == "gloo"
            fields = {"collectives": observer.rows, "wire": wire if counted else []}
            return Measurement(fields=fields)
    raise RuntimeError(
        f"{spec.run}: {spec.workers} workers trained and no all-reduce was seen; neither hooks nor "
        f"the profiler report the collectives of {spec.hardware.backend}"
    )


def _observe(observer: Observer, spec: Spec, dataset: Dataset, place: Place) -> Rows:
    """Trains through the phases under an observer; returns the rows of interface bytes."""
    assert spec.steady_steps is not None
    batch, steps_per_epoch = _batch(spec, dataset, place)
    clock = make_clock(place.device)
    phases = [("first", 1), ("rebuild", 1), ("steady", spec.steady_steps)]
    progress = Progress(spec.run, len(phases) + 1, shown=place.leads)
    wire: Rows = []
    with observer.watching():
        observer.start("construction")
        replica = build_replica(spec, dataset, place, seed=0, steps_per_epoch=steps_per_epoch)
        observer.start(OUTSIDE)
        progress.step("construction")
        done = 0
        for phase, steps in phases:
            sent = _sent_bytes(place)
            for iteration in range(done, done + steps):
                observer.start(phase, iteration)
                train_epoch(replica, [batch], clock)
                observer.start(OUTSIDE)
            done += steps
            wire += _wire_rows(sent, _sent_bytes(place), phase, steps)
            progress.step(phase)
    return wire


def _batch(spec: Spec, dataset: Dataset, place: Place) -> tuple[Batch, int]:
    """One batch of this worker, and the steps that an epoch would have."""
    assert spec.per_worker_batch is not None
    loader = build_loader(
        dataset.train,
        dataset,
        loader="resident",
        batch=spec.per_worker_batch,
        workers=spec.workers,
        rank=place.rank,
        seed=spec.seeds[0],
        augment=False,
        device=place.device,
    )
    return next(loader.batches(0)), len(loader)


def _sent_bytes(place: Place) -> dict[str, dict[str, int]]:
    """Bytes sent so far by each interface of each host, read while all workers stand still."""
    synchronise(place.device)
    dist.barrier()
    own = {
        path.name: int((path / "statistics/tx_bytes").read_text())
        for path in sorted(_INTERFACES.iterdir())
        if (path / "statistics/tx_bytes").exists()
    }
    hosts = dict(place.gather((socket.gethostname(), own)))
    dist.barrier()
    return hosts


def _wire_rows(
    before: dict[str, dict[str, int]], after: dict[str, dict[str, int]], phase: str, steps: int
) -> Rows:
    sent: Counter[str] = Counter()
    for host, interfaces in after.items():
        for name, count in interfaces.items():
            sent[name] += count - before[host].get(name, 0)
    return [
        {"phase": phase, "iterations": steps, "interface": name, "sent_bytes": count}
        for name, count in sent.items()
        if count > 0
    ]
