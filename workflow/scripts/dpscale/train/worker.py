"""One worker: its place among the others, its device, its replica of the model."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from dpscale.config.sections import HardwareConfig
from dpscale.plan import Spec
from dpscale.processes import node_name
from dpscale.train.communication import exchange
from dpscale.train.communication.sync import AllReduce, Solo, Sync
from dpscale.train.data import Batch, Loader, Task, build_loader, on_device
from dpscale.train.heartbeat import heartbeat
from dpscale.train.machine.device import open_device, set_backends, synchronise
from dpscale.train.network import seeded_network
from dpscale.train.optim import build_optimizer, build_scheduler

# A rank that died is noticed at once by its connection; this bounds one that hangs.
COLLECTIVE_TIMEOUT = timedelta(minutes=10)

Forward = Callable[[Any, Any], tuple[Tensor, Any]]  # of inputs and targets: their loss, outputs


@dataclass(frozen=True)
class Place:
    """Where a worker stands: its rank among `workers`, and its device."""

    rank: int
    workers: int
    nodes: int
    device: torch.device

    @property
    def leads(self) -> bool:
        """Whether this is the worker that prints and writes."""
        return self.rank == 0

    def gather(self, value: Any) -> list[Any]:
        """The values of all workers by rank, on rank 0; empty elsewhere."""
        if self.workers == 1:
            return [value]
        return exchange.gather(value)

    def share(self, value: Any) -> list[Any]:
        """The values of all workers by rank, on every worker."""
        if self.workers == 1:
            return [value]
        return exchange.share(value)

    def wait(self) -> None:
        """Returns when all workers have come here with their devices idle."""
        synchronise(self.device)
        if self.workers > 1:
            dist.barrier()

    def sharing_device(self) -> int:
        """Workers on this one's device, itself included."""
        own = (node_name(), str(self.device))
        return self.share(own).count(own)

    def agree(self, value: bool) -> bool:
        """True on every worker where it is true on any."""
        return any(self.share(value))


def backends(hardware: HardwareConfig) -> str:
    """What carries tensors between workers, in the words of init_process_group.

    NCCL carries those of GPUs alone: objects, flags and barriers lie in host memory and go over
    gloo beside it, so that they cost the device neither memory nor time.
    """
    return "cpu:gloo,cuda:nccl" if hardware.backend == "nccl" else hardware.backend


@contextmanager
def join_workers(spec: Spec) -> Iterator[Place]:
    """This worker's place, inside the process group that torchrun's environment describes.

    Raises ValueError where the launch and the spec name different numbers of workers.
    """
    launched = int(os.environ.get("WORLD_SIZE", 1))
    if launched != spec.workers:
        raise ValueError(
            f"{spec.run}: the spec asks for {spec.workers} workers and {launched} were started; "
            f"start it with torchrun --nproc-per-node {spec.workers}"
        )
    with join_launched(spec.hardware) as place:
        yield place


@contextmanager
def join_launched(hardware: HardwareConfig) -> Iterator[Place]:
    """This worker's place among those that torchrun started; alone without torchrun."""
    rank = int(os.environ.get("RANK", 0))
    workers = int(os.environ.get("WORLD_SIZE", 1))
    local_size = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    device = open_device(hardware, int(os.environ.get("LOCAL_RANK", 0)))
    place = Place(rank, workers, workers // local_size, device)
    with heartbeat(rank, workers):
        if workers > 1:
            dist.init_process_group(backends(hardware), timeout=COLLECTIVE_TIMEOUT)
        yield place
    if dist.is_initialized():  # after an error peers may be stuck in a collective: just leave
        dist.destroy_process_group()


@dataclass
class Replica:
    """A model in training on one worker. `module` owns the parameters, `model` is called."""

    place: Place
    module: nn.Module
    model: nn.Module
    optimizer: Optimizer
    scheduler: LRScheduler | None  # None: the rate never moves
    task: Task
    channels_last: bool
    bf16: bool
    graphs: bool  # the network is replayed from CUDA graphs
    sync: Sync

    def in_precision(self, forward: Forward) -> Forward:
        """A forward pass in the replica's precision: under autocast to bfloat16, or as it is."""
        if self.bf16:
            autocast = torch.autocast(self.place.device.type, dtype=torch.bfloat16)
            return cast(Forward, autocast(forward))
        return forward

    @property
    def moves_batches(self) -> bool:
        """Whether a batch of the host has another place or layout on the replica's device."""
        return self.place.device.type != "cpu" or self.channels_last

    def copied(self, batch: Batch) -> Batch:
        """The batch on the replica's device and in its layout; itself where that is so already."""
        if not self.moves_batches:
            return batch
        inputs, targets = batch
        device = self.place.device
        if not (isinstance(inputs, Tensor) and isinstance(targets, Tensor)):
            return on_device(batch, device)
        layout = torch.channels_last if self.channels_last else torch.preserve_format
        return (
            inputs.to(device, non_blocking=True, memory_format=layout),
            targets.to(device, non_blocking=True),
        )


def join_group_of_one(spec: Spec) -> None:
    """A process group of this worker alone, where there is none: DDP needs one."""
    if not dist.is_initialized():
        store = dist.HashStore()
        dist.init_process_group(backends(spec.hardware), store=store, rank=0, world_size=1)


def build_spec_loader(
    spec: Spec,
    task: Task,
    place: Place,
    *,
    seed: int,
    loader: str | None = None,
    device: torch.device | None = None,
    set_epoch: bool = True,
) -> Loader:
    """The loader of this worker's share of the train split, as the spec has it but for these."""
    assert spec.per_worker_batch is not None
    return build_loader(
        task.train,
        task,
        loader=loader or spec.data.loader,
        batch=spec.per_worker_batch,
        workers=spec.workers,
        rank=place.rank,
        seed=seed,
        augment=spec.data.augment,
        device=device or place.device,
        loader_workers=spec.data.loader_workers,
        set_epoch=set_epoch,
    )


def build_replica(
    spec: Spec,
    task: Task,
    place: Place,
    *,
    seed: int,
    steps_per_epoch: int,
    sync: Sync | None = None,
) -> Replica:
    """The task's network with optimiser and schedule, wrapped by `sync` (default: as DDP is).

    The same seed gives every worker the same initial parameters.
    """
    training = spec.training
    module = seeded_network(spec, task, seed).to(place.device)
    if training.channels_last:
        module = module.to(memory_format=torch.channels_last)
    set_backends(training)
    sync = sync or usual_sync(spec)
    model = sync.wrap(module, place.device, task)
    # After it: to shard a module gives it other parameters.
    trainable = [value for value in module.parameters() if value.requires_grad]
    made = task.optimizer(trainable, training.lr) or build_optimizer(module, training)
    optimizer = sync.shared(made)
    if training.compile:
        model = _compiled(model, module, training.compile_mode)
    return Replica(
        place,
        module,
        model,
        optimizer,
        scheduler=build_scheduler(optimizer, training, steps_per_epoch),
        task=task,
        channels_last=training.channels_last,
        bf16=training.precision == "bf16",
        graphs=training.compile and training.compile_mode != "default",
        sync=sync,
    )


def _compiled(model: nn.Module, module: nn.Module, mode: str) -> nn.Module:
    """The model whose calls run compiled; those of `module`, which is evaluated, do not."""
    # torch keeps compiled graphs by the code of the network's class and the compiler: with a
    # compiler of its own no replica runs what was compiled for another one, whose graphs DDP split.
    modes = torch._inductor.list_mode_options(mode, dynamic=False)
    compiler = partial(torch._inductor.compile, options=modes)
    # Every step has the same shape: code for any batch would be slower, and a graph for each.
    options: dict[str, Any] = {"backend": compiler, "dynamic": False}
    if model is module:
        return cast(nn.Module, torch.compile(module, **options))
    model.compile(**options)  # in place: it stays the DDP that others ask for its log
    return model


def usual_sync(spec: Spec, *, broadcast_buffers: bool = True) -> Sync:
    """How workers agree: DDP where there are several."""
    return AllReduce(broadcast_buffers=broadcast_buffers) if spec.workers > 1 else Solo()
