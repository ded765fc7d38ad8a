"""What ways of sharing a training need and give, apart from their time (E1).

One process group, in which each way begins from the same parameters: losses of the first steps and
the parameters after them, memory at its peak, and the largest batch that stays within a budget. The
last goes to where memory ends: should it go beyond, all else is known by then, on every worker.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._pytree import tree_map_only

from dpscale.plan import Spec
from dpscale.plan.ways import WAYS
from dpscale.studies.strategies import AGAIN
from dpscale.studies.strategies.config import SharingProtocol
from dpscale.studies.strategies.search import probe_batches
from dpscale.train.arms import Ready
from dpscale.train.clock import make_clock
from dpscale.train.communication.sync import AllReduce, Sync, way_of
from dpscale.train.data import Batch, Task, samples_of
from dpscale.train.loop import train_epoch
from dpscale.train.machine.memory import (
    PeakMemory,
    failed_allocations,
    give_back_what_is_freed,
    is_out_of_memory,
)
from dpscale.train.measurement import Measurement
from dpscale.train.progress import Meter
from dpscale.train.timed import ready_batches
from dpscale.train.worker import Place, Replica, build_replica

Rows = list[dict[str, Any]]
DDP = "ddp"
MOST_GROWTH = 2**10  # of the batch; beyond it memory is no limit
GPU_SHARE = 0.8  # of a GPU's free memory, so that the search itself does not run out of it


def measure_sharing(spec: "Spec[SharingProtocol]", task: Task, place: Place) -> Measurement:
    """Losses, parameters, memory and batches of each way; rows of the study's tidy tables.

    Out of memory in the search for a batch, it is the measurement up to there.
    """
    asked, ready = spec.protocol, ready_batches(spec, task, place)
    meter = Meter(spec.run, "way", 1 + 3 * (1 + len(WAYS)), shown=place.leads)
    give_back_what_is_freed()  # from now on
    losses, memory, batches = Rows(), Rows(), Rows()
    start: list[Tensor] = []
    again = AllReduce(broadcast_buffers=False)
    for name, sync in (*_ways(spec), (AGAIN, again)):
        losses += _first_steps(name, sync, spec, task, place, ready.of(asked.first_steps), start)
        meter.step(note=name)
    for name, sync in _ways(spec):
        way = _Memory(spec, task, place, sync, ready.batches[0])
        memory += [{"way": name, "rank": rank, **row} for rank, row in way.by_rank()]
        del way  # before the memory without the next one is read
        meter.step(note=name)
    fields = {"sharing_losses": losses, "sharing_memory": memory, "sharing_batches": batches}
    budget_bytes, failed = _budget_bytes(asked.budget_bytes, place), failed_allocations()
    if budget_bytes is None:
        return Measurement(fields=fields)
    for name, sync in _ways(spec):
        try:
            way = _Memory(spec, task, place, sync, ready.batches[0])
            way.search(name, budget_bytes, asked.resolution_frac, batches)
            del way
        except Exception as error:
            ooms = failed_allocations() - failed
            if not is_out_of_memory(error, on_cpu=place.device.type == "cpu", num_ooms=ooms):
                raise
            where = f"rank {place.rank}, search of {name}"
            message = f"{where}: {' '.join(str(error).split())[:200]}"
            return Measurement("out_of_memory", message, fields=fields)  # peers may hang
        meter.step(note=name)
    return Measurement(fields=fields)


def _ways(spec: "Spec[SharingProtocol]") -> Iterator[tuple[str, Sync]]:
    """DDP, then the others; each made when its turn has come."""
    yield DDP, AllReduce(broadcast_buffers=False)
    for name in WAYS:
        yield name, way_of(name, spec.protocol.micro_batches)


def _replica(spec: Spec, task: Task, place: Place, sync: Sync) -> Replica:
    """A replica that begins as all others do."""
    return build_replica(spec, task, place, seed=spec.seeds[0], steps_per_epoch=1, sync=sync)


def _first_steps(
    name: str, sync: Sync, spec: Spec, task: Task, place: Place, ready: Ready, start: list[Tensor]
) -> Rows:
    """Mean losses over the workers of each step, and how far the parameters are from those of DDP.

    start: filled with DDP's parameters, which come first.
    """
    replica = _replica(spec, task, place, sync)
    losses = train_epoch(replica, ready, make_clock(place.device)).losses
    whole = [_whole_tensor(one, place) for one in replica.module.parameters()]
    if not start:
        start += whole
    largest = torch.stack([one.abs().max() for one in start]).max()
    gaps = [(one - other).abs().max() for one, other in zip(whole, start, strict=True)]
    apart = torch.stack(gaps).max()  # NaN where a training diverged
    means = [sum(of_step) / place.workers for of_step in zip(*place.share(losses), strict=True)]
    rows: Rows = [
        {"way": name, "step": step, "loss": float(loss)} for step, loss in enumerate(means)
    ]
    for row in rows[-1:]:
        row["parameter_gap_frac"] = float(apart / largest) if largest else None
    return rows


def _whole_tensor(parameter: Tensor, place: Place) -> Tensor:
    """A parameter on the CPU; of a sharded one all workers have to ask together.

    Its rows come as all else that workers tell each other: `full_tensor` gathers them by functional
    collectives, which end by SIGSEGV on GPUs over gloo (torch 2.11).
    """
    if not hasattr(parameter, "to_local"):
        return parameter.detach().cpu()
    rows = parameter.to_local().detach().cpu().numpy()
    return torch.from_numpy(np.concatenate(place.share(rows)))


def local_bytes(value: Any) -> int:
    """Bytes of a tensor, or of this worker's part of it; 0 for anything else."""
    if not isinstance(value, Tensor):
        return 0
    return int((value.to_local() if hasattr(value, "to_local") else value).nbytes)


class _Memory:
    """A way in training, and the memory of a worker that it takes."""

    def __init__(self, spec: Spec, task: Task, place: Place, sync: Sync, batch: Batch) -> None:
        self._place, self._some = place, batch
        give_back_what_is_freed()  # by the ways before
        self._peak = PeakMemory(place.device)
        self._replica = _replica(spec, task, place, sync)
        self._train(self._some)  # from now on gradients, buckets and optimiser's state exist
        self._peak.again()  # of training: the whole network was there before it was sharded
        self._train(self._some)
        self._first_peak = self._peak.bytes()
        self._saved = self._saved_bytes()

    def _train(self, batch: Batch) -> None:
        train_epoch(self._replica, [batch], make_clock(self._place.device))

    def by_rank(self) -> list[tuple[int, dict[str, int | None]]]:
        """Bytes of each worker: what it holds after a step, saves in one, and has at its peak."""
        optimizer: Any = self._replica.optimizer
        # ZeroRedundancyOptimizer has one of its part within.
        states = getattr(optimizer, "optim", optimizer).state.values()
        parameters = list(self._replica.module.parameters())
        own = {
            "parameter_bytes": sum(map(local_bytes, parameters)),
            "gradient_bytes": sum(local_bytes(one.grad) for one in parameters),
            "state_bytes": sum(local_bytes(one) for state in states for one in state.values()),
            "activation_bytes": self._saved,
            "peak_bytes": self._first_peak,
        }
        return list(enumerate(self._place.share(own)))

    def _saved_bytes(self) -> int:
        """Bytes of what a forward pass saves for the backward pass, parameters apart.

        Of micro-batches those of the one with the most.
        """
        passes: list[dict[int, int]] = []

        def keep(one: Tensor) -> Tensor:
            """Note the memory of a tensor that is saved."""
            # As they are now: sharded parameters are gathered for each pass.
            held = {each.untyped_storage().data_ptr() for each in _plain_parameters(self._replica)}
            memory = one.untyped_storage()
            if memory.data_ptr() not in held:
                passes[-1][memory.data_ptr()] = memory.nbytes()
            return one

        begin = self._replica.module.register_forward_pre_hook(lambda *_: passes.append({}))
        with saved_tensors_hooks(keep, lambda one: one):
            self._train(self._some)
        begin.remove()
        return max(sum(saved.values()) for saved in passes)

    def search(self, way: str, budget_bytes: int, resolution_frac: float, rows: Rows) -> None:
        """Adds a row for each batch of a search, with the largest peak of all workers.

        None where peaks are not counted. A batch that has not come to its end is out of memory.
        """
        if None in self._place.share(self._first_peak):
            return

        def peak_bytes(batch: int) -> int:
            """Try a batch."""
            row = {"way": way, "per_worker_batch": batch, "budget_bytes": budget_bytes}
            rows.append(row | {"status": "out_of_memory"})
            peak = self._peak_of(batch)
            rows[-1] = row | {"status": "complete", "peak_bytes": peak}
            return peak

        first = samples_of(self._some)
        probe_batches(
            peak_bytes,
            budget_bytes,
            first=first,
            per_sample=max(self._place.share(self._saved)) / first,
            multiple=self._replica.sync.micro_batches,
            most=first * MOST_GROWTH,
            resolution_frac=resolution_frac,
        )

    def _peak_of(self, batch: int) -> int:
        """The largest peak of all workers with so many samples each, the same on all of them."""
        self._peak.again()
        self._train(repeated(self._some, batch))
        return max(self._place.share(self._peak.bytes() or 0))


def _plain_parameters(replica: Replica) -> Iterator[Tensor]:
    """The parameters in the form that computes now; those that are sharded now have no memory."""
    for one in replica.module.parameters():
        if not hasattr(one, "to_local"):
            yield one


def repeated(batch: Batch, samples: int) -> Batch:
    """A batch of so many samples: those of another one, in turn."""
    of = torch.arange(samples) % samples_of(batch)
    return tree_map_only(Tensor, lambda one: one[of.to(one.device)], batch)


def _budget_bytes(asked: int | None, place: Place) -> int | None:
    """The memory of a worker that a batch has to fit, the same on all, whose devices may differ.

    Of a GPU a share of what is free while nothing of this run is on it: others may have a part.
    None on a CPU where none is asked for.
    """
    sharing, budget = place.sharing_device(), asked
    if place.device.type == "cuda":
        give_back_what_is_freed()
        place.wait()  # for those who share the device
        free, _ = torch.cuda.mem_get_info(place.device)
        budget = min(int(GPU_SHARE * free / sharing), asked or free)
    budgets = place.share(budget)
    return None if None in budgets else min(budgets)
