"""One run from its spec to its record: the frame around every measurement."""

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import torch

from dpscale.files import stamp
from dpscale.plan import Spec
from dpscale.processes import node_name
from dpscale.provenance import now, provenance
from dpscale.records import Record, write_record, write_steps
from dpscale.train.data import BatchExceedsDatasetError, Task, load_task
from dpscale.train.machine.condition import Condition, Facts
from dpscale.train.machine.device import (
    available_devices,
    device_libraries,
    device_model,
    machine_id,
    most_shared,
    visible_units,
)
from dpscale.train.machine.memory import is_out_of_memory, memory_budget, run_in_child
from dpscale.train.measurement import Measurement
from dpscale.train.network import network_on_paper, payload_bytes
from dpscale.train.worker import Place, join_workers

Measure = Callable[[Spec, Task, Place], Measurement]
CRASHES_OF_MEMORY = ("SIGSEGV", "SIGABRT", "SIGBUS")
STEP_COLUMNS = ("seed", "arm", "repeat", "epoch", "rank", "step", "samples", "step_s", "loss")


def run(spec: Spec, measure: str, *, record: Path, steps: Path) -> None:
    """Does a run on this worker; rank 0 writes its record and its steps.

    measure: module and function, resolved here: every worker waits for what it imports.

    Out of memory, a loss that is not finite, a batch beyond the dataset and missing devices (not in
    a job of Slurm that asked for them) are outcomes: they are recorded. Every other failure raises,
    and leaves no record.
    """
    frame = _Frame(spec, record, steps)
    if missing := spec.withheld or _missing_devices(spec):
        if int(os.environ.get("RANK", 0)) == 0:
            frame.write(Measurement(status="unavailable", message=missing))
        return
    if spec.protocol.needs.memory_budget_bytes is None:
        _run(spec, measure, frame)
    elif crash := run_in_child(lambda: _run(spec, measure, frame)):
        if crash not in CRASHES_OF_MEMORY:
            raise RuntimeError(f"ended by {crash}")
        frame.describe(load_task(spec), Place(0, 1, 1, torch.device("cpu")))
        message = (
            f"batch {spec.per_worker_batch}: {crash} within the memory budget: a library under "
            "torch did not check an allocation"
        )
        frame.write(Measurement(status="out_of_memory", message=message))


def _run(spec: Spec, measure: str, frame: "_Frame") -> None:
    with join_workers(spec) as place:
        task = load_task(spec)
        frame.describe(task, place)
        outcome, writes = _measure(spec, resolve_name(measure), task, place, frame)
        if writes:
            _write(frame, outcome)
        if outcome.status == "out_of_memory" and spec.workers > 1:
            # NCCL's peers would not notice for minutes: a failed worker makes torchrun end them.
            raise RuntimeError(outcome.message)


def _write(frame: "_Frame", outcome: Measurement) -> None:
    try:
        frame.write(outcome)
    except Exception as error:
        if outcome.status == "out_of_memory":  # so little is left that not even this can be written
            raise RuntimeError(outcome.message) from error
        raise


def _measure(
    spec: Spec, measure: Measure, task: Task, place: Place, frame: "_Frame"
) -> tuple[Measurement, bool]:
    """The outcome of the measurement, and whether this worker is the one to write it.

    A worker that runs out of memory writes at once, whatever its rank: its peers may hang. Where
    that ends a part of a measurement alone, the measurement says so itself, with what is known.
    """
    budget_bytes = spec.protocol.needs.memory_budget_bytes
    try:
        with memory_budget(budget_bytes):
            outcome = measure(spec, task, place)
        if outcome.status == "out_of_memory":
            frame.note({place.rank: frame.condition.since()})
            return outcome, True
        frame.note(dict(enumerate(place.gather(frame.condition.since()))))
        return outcome, place.leads
    except BatchExceedsDatasetError as error:
        return Measurement(status="exceeds_dataset", message=str(error)), place.leads
    except Exception as error:
        since = frame.condition.since()
        if is_out_of_memory(
            error,
            on_cpu=place.device.type == "cpu",
            limited=budget_bytes is not None,
            num_ooms=sum(device.get("num_ooms", 0) for device in since),
        ):
            frame.note({place.rank: since})
            text = " ".join(str(error).split())[:200]
            message = f"rank {place.rank}, batch {spec.per_worker_batch}: {text}"
            return Measurement(status="out_of_memory", message=message), True
        if spec.workers > 1 and frame.recorded():  # a peer out of memory took the group with it
            return Measurement(), False
        raise


def _missing_devices(spec: Spec) -> str | None:
    """Why this machine cannot hold the run's workers, or None.

    Raises RuntimeError where a job of Slurm lacks GPUs that it asked for: other nodes have them.
    """
    devices = available_devices(spec.hardware)
    scatter_devices = spec.protocol.needs.scatter_devices
    asked = scatter_devices or int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    if scatter_devices and spec.hardware.device == "cpu":
        return "DataParallel splits a batch over GPUs, and hardware.device is cpu"
    shared = spec.hardware.allow_oversubscription and not scatter_devices
    if devices >= asked or (devices and shared):
        return None
    if spec.hardware.device == "cuda" and (job := os.environ.get("SLURM_JOB_ID")):
        raise RuntimeError(
            f"{node_name()} shows {devices} CUDA devices of the {asked} asked for in job {job}"
        )
    if devices == 0:
        return "no CUDA device on this machine; set hardware.device: cpu"
    return (
        f"{asked} workers and {devices} devices on this machine; "
        "hardware.allow_oversubscription: true shares them"
    )


class _Frame:
    """Collects what describes a run and writes its two files, the record last."""

    def __init__(self, spec: Spec, record: Path, steps: Path) -> None:
        self._spec, self._record, self._steps = spec, record, steps
        self._earlier = stamp(record)
        self._started_at, self._start = now(), time.perf_counter()
        self._environment = dict(os.environ)  # before torch's compiler adds to it
        self._devices: list[list[Facts]] = []  # of each rank
        self._fields: dict[str, Any] = {}

    def describe(self, task: Task, place: Place) -> None:
        """Notes the sizes of dataset and model, the devices, and how the workers share them."""
        model, hardware = network_on_paper(self._spec, task), self._spec.hardware
        scatter_devices = self._spec.protocol.needs.scatter_devices or 0
        scattered = [torch.device("cuda", n) for n in range(scatter_devices)]
        self.condition = Condition(hardware, scattered or [place.device])
        units = (machine_id(), visible_units(hardware))
        cores = sorted(os.sched_getaffinity(0))
        own = (units, node_name(), cores, self.condition.described())
        seen, names, cores_of_ranks, described = zip(*place.share(own), strict=True)
        self._devices = list(described)
        units_per_device = 1 if hardware.device == "cuda" else hardware.threads_per_worker
        workers, devices = most_shared(seen, units_per_device)
        self._fields = {
            "nodes": place.nodes,
            "rank_nodes": list(names),
            "rank_cores": list(cores_of_ranks),
            "oversubscribed": workers > devices,
            "workers_per_machine": workers,
            "devices_per_machine": devices,
            "task": task.described(model),
            "train_samples": len(task.train),
            "test_samples": len(task.test),
            "parameters": sum(p.nelement() for p in model.parameters() if p.requires_grad),
            "payload_bytes": payload_bytes(model),
            "buffer_bytes": sum(b.nelement() * b.element_size() for b in model.buffers()),
        }

    def note(self, since: Mapping[int, Sequence[Facts]]) -> None:
        """Notes of the devices of some ranks what they went through."""
        for rank, of_rank in since.items():
            pairs = zip(self._devices[rank], of_rank, strict=True)
            self._devices[rank] = [device | more for device, more in pairs]

    def recorded(self) -> bool:
        """Whether another worker wrote the outcome; waits a moment for it."""
        for _ in range(20):
            if stamp(self._record) not in (None, self._earlier):
                return True
            time.sleep(0.1)
        return False

    def write(self, measurement: Measurement) -> None:
        """Writes steps.parquet, then record.json, which makes the run whole."""
        spec = self._spec
        write_steps(self._steps, measurement.steps or {name: np.empty(0) for name in STEP_COLUMNS})
        rows = [{"rank": rank} | device for rank, own in enumerate(self._devices) for device in own]
        facts = provenance(
            device=_device(rows) or device_model(spec.hardware),
            devices=available_devices(spec.hardware),
            backend=spec.hardware.backend,
            libraries=device_libraries(spec.hardware),
            environment=self._environment,
        )
        record = Record(
            run=spec.run,
            status=measurement.status,
            message=measurement.message,
            spec=spec.model_dump(mode="json"),
            provenance=facts,
            started_at=self._started_at,
            finished_at=now(),
            wall_s=time.perf_counter() - self._start,
            rank_devices=rows,
            **self._fields,
            **measurement.fields,
        )
        write_record(self._record, record)


def _device(rows: Sequence[Facts]) -> str:
    """The model of the devices; of different ones how many each; empty where none is known."""
    models = Counter(str(row["model"]) for row in rows)
    each = " + ".join(f"{count} x {model}" for model, count in models.items())
    return each if len(models) > 1 else "".join(models)
