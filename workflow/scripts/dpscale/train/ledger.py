"""The ledger (Q6): every collective of construction, first and steady iterations, by its bytes.

An untimed pass. Hooks of the process group see each collective as it is issued, gradient buckets
from DDP's own threads included; the kernel's counters of the network interfaces see the bytes.
"""

import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from dpscale.plan import Spec
from dpscale.train.clock import make_clock
from dpscale.train.data import Dataset, build_loader
from dpscale.train.device import synchronise
from dpscale.train.loop import train_epoch
from dpscale.train.measurement import Measurement
from dpscale.train.progress import Progress
from dpscale.train.worker import Place, build_replica

_HOOK_ID = 1
# Bucket layout is agreed on in int32; counters of batch norm are int64, statistics float.
_LAYOUT_DTYPE = torch.int32
_INTERFACES = Path("/sys/class/net")


class Ledger:
    """Counts the collectives that this worker issues, by phase."""

    def __init__(self) -> None:
        self.phase = "construction"
        self.iteration: int | None = None
        self.rows: list[dict[str, Any]] = []

    def start(self, phase: str, iteration: int | None) -> None:
        """What follows belongs to this phase and iteration."""
        self.phase, self.iteration = phase, iteration

    @contextmanager
    def watching(self) -> Iterator["Ledger"]:
        """Hooks in the default process group, for the length of the block."""
        group: Any = dist.group.WORLD
        group.register_pre_hook(_HOOK_ID, self._enter)
        try:
            yield self
        finally:
            group.unregister_pre_hook(_HOOK_ID)

    def _enter(self, call: Any) -> None:
        operation = call.name.name.lower()
        for dtype, size in _sizes(call.input_tensors).items():
            self.rows.append(
                {
                    "phase": self.phase,
                    "iteration": self.iteration,
                    "index": len(self.rows),
                    "operation": operation,
                    "purpose": purpose(operation, dtype, self.phase),
                    "dtype": str(dtype).removeprefix("torch."),
                    "calls": 1,
                    "bytes": size,
                }
            )


def purpose(operation: str, dtype: torch.dtype, phase: str) -> str:
    """What DDP sends a collective for, from its kind, its type and when it is sent."""
    if operation == "allreduce":
        return "gradient bucket"
    if phase == "construction":
        if operation == "broadcast" and dtype.is_floating_point:
            return "parameters and buffers at construction"
        return "shape check" if operation == "allgather" else "shapes and counters at construction"
    return "bucket rebuild" if dtype == _LAYOUT_DTYPE else "buffers"


def _sizes(tensors: list[torch.Tensor]) -> Counter[torch.dtype]:
    sizes: Counter[torch.dtype] = Counter()
    for tensor in tensors:
        sizes[tensor.dtype] += tensor.nelement() * tensor.element_size()
    return sizes


def measure_ledger(spec: Spec, dataset: Dataset, place: Place) -> Measurement:
    """Collectives and interface bytes of construction, first, rebuild and steady iterations.

    Raises RuntimeError when several workers trained and no communication was seen.
    """
    assert spec.per_worker_batch is not None
    assert spec.steady_steps is not None
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
    batch = next(loader.batches(0))
    clock, ledger = make_clock(place.device), Ledger()
    phases = [("first", 1), ("rebuild", 1), ("steady", spec.steady_steps)]
    progress = Progress(spec.run, len(phases) + 1, shown=place.leads)
    wire: list[dict[str, Any]] = []
    with ledger.watching():
        replica = build_replica(spec, dataset, place, seed=0, steps_per_epoch=len(loader))
        progress.step("construction")
        done = 0
        for phase, steps in phases:
            sent = _sent_bytes(ledger, place)
            for iteration in range(done, done + steps):
                ledger.start(phase, iteration)
                train_epoch(replica, [batch], clock)
            done += steps
            wire += _wire_rows(sent, _sent_bytes(ledger, place), phase, steps)
            progress.step(phase)
    rows = [row for row in ledger.rows if row["phase"] != "outside"]
    if not any(row["purpose"] == "gradient bucket" for row in rows):
        raise RuntimeError(
            f"{spec.run}: {spec.workers} workers trained and no all-reduce was seen; the process "
            f"group of {spec.hardware.backend} does not report its collectives"
        )
    return Measurement(fields={"collectives": rows, "wire": wire if place.leads else []})


def _sent_bytes(ledger: Ledger, place: Place) -> dict[str, dict[str, int]]:
    """Bytes sent so far by each interface of each host, read while all workers stand still."""
    ledger.start("outside", None)
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
) -> list[dict[str, Any]]:
    sent: Counter[str] = Counter()
    for host, interfaces in after.items():
        for name, count in interfaces.items():
            sent[name] += count - before[host].get(name, 0)
    return [
        {"phase": phase, "iterations": steps, "interface": name, "sent_bytes": count}
        for name, count in sent.items()
        if count > 0
    ]
