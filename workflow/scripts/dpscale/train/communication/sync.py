"""How workers agree on the parameters: one small class a way.

`wrap` gives the module that the training loop calls; the bare module stays the owner of the
parameters.
"""

import inspect
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from pkgutil import resolve_name
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks import debugging_hooks, default_hooks
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powersgd
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from dpscale.plan.ways import WAYS
from dpscale.train.data import Task

# PowerSGD reduces plainly until the buckets are rebuilt: its state belongs to buckets.
POWERSGD_START = 5
Hook = Callable[[Any, Any], Any]  # state, torch.distributed.GradBucket -> Future[Tensor]


class Sync(ABC):
    """A way to keep replicas together.

    micro_batches: parts of a batch, one after another; broadcasts: what it sends by a broadcast.
    """

    micro_batches = 1
    broadcasts = "buffers"

    @abstractmethod
    def wrap(self, module: nn.Module, device: torch.device, task: Task | None = None) -> nn.Module:
        """The module to train on the task, which exchanges what has to be exchanged."""

    def shared(self, optimizer: Optimizer) -> Optimizer:
        """The optimiser to step, in place of one over all parameters of the wrapped module."""
        return optimizer


class Solo(Sync):
    """One worker: nothing to agree on, and no wrapper in the way."""

    def wrap(self, module: nn.Module, device: torch.device, task: Task | None = None) -> nn.Module:
        """The module itself."""
        return module


class AllReduce(Sync):
    """Gradients averaged in every step by DistributedDataParallel.

    broadcast_buffers: rank 0's buffers (running statistics) are sent before each forward pass;
    hook: what is done with each bucket of gradients instead of the all-reduce.
    """

    def __init__(self, *, broadcast_buffers: bool = True, hook: Hook | None = None) -> None:
        self.broadcast_buffers, self.hook = broadcast_buffers, hook

    def wrap(self, module: nn.Module, device: torch.device, task: Task | None = None) -> nn.Module:
        """The module in DistributedDataParallel, with its hook registered."""
        # torch 2.14 renamed the argument; older versions know the old name alone.
        known = inspect.signature(DistributedDataParallel.__init__).parameters
        name = "forward_sync_buffers" if "forward_sync_buffers" in known else "broadcast_buffers"
        options: dict[str, Any] = {
            name: self.broadcast_buffers,
            # Else it would wait for their gradients for ever.
            "find_unused_parameters": task is not None and task.find_unused_parameters,
        }
        if device.type == "cuda":
            options["device_ids"] = [device.index]
        model = DistributedDataParallel(module, **options)
        if self.hook is not None:
            state = None
            if self.hook is powersgd.powerSGD_hook:
                state = powersgd.PowerSGDState(None, start_powerSGD_iter=POWERSGD_START)
            model.register_comm_hook(state, self.hook)
        return model


HOOKS: dict[str, Hook] = {
    "fp16": default_hooks.fp16_compress_hook,
    "bf16": default_hooks.bf16_compress_hook,
    "powersgd": powersgd.powerSGD_hook,
}


class Silent(AllReduce):
    """DistributedDataParallel that sends nothing: its own work without its communication.

    `on_bucket`, where set, is told the bytes of each bucket at the time when it is full.
    """

    def __init__(self) -> None:
        super().__init__(broadcast_buffers=False, hook=self._keep)
        self.on_bucket: Callable[[int], None] | None = None

    def _keep(self, state: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        if self.on_bucket is not None:
            self.on_bucket(bucket.buffer().nbytes)
        return debugging_hooks.noop_hook(state, bucket)


class Accumulated(AllReduce):
    """DistributedDataParallel that sends the gradients of all micro-batches of a step at once."""

    def __init__(self, micro_batches: int) -> None:
        super().__init__(broadcast_buffers=False)
        self.micro_batches = micro_batches


class ShardedOptimizer(AllReduce):
    """ZeRO-1: each worker updates a part of the parameters, and sends them to the others.

    Rajbhandari et al., ZeRO (SC 2020), section 5.1, as torch's ZeroRedundancyOptimizer does it.
    """

    broadcasts = "updated parameters"

    def __init__(self, micro_batches: int = 1) -> None:
        super().__init__(broadcast_buffers=False)

    def shared(self, optimizer: Optimizer) -> Optimizer:
        """One of the same kind and settings that keeps the state of this worker's part alone."""
        # Seconds to import, which most workers need not wait for.
        from torch.distributed.optim import ZeroRedundancyOptimizer

        known = inspect.signature(type(optimizer)).parameters
        settings = {name: value for name, value in optimizer.defaults.items() if name in known}
        # It would send frozen parameters too, which nothing changes.
        groups = [
            group | {"params": [one for one in group["params"] if one.requires_grad]}
            for group in optimizer.param_groups
        ]
        return ZeroRedundancyOptimizer(groups, type(optimizer), **settings)


class FullyShard(Sync):
    """FSDP2: of parameters, gradients and optimiser state each worker keeps its part (ZeRO-3).

    reshard: what was gathered for the forward pass is dropped after it and gathered again for the
    backward pass; else it is kept until then. Rajbhandari et al., ZeRO (SC 2020), section 5.3.
    """

    reshard = True

    def __init__(self, micro_batches: int = 1) -> None:
        """It takes a batch as it is, whatever the micro-batches."""

    def wrap(self, module: nn.Module, device: torch.device, task: Task | None = None) -> nn.Module:
        """The module itself, sharded unit by unit."""
        from torch.distributed.device_mesh import DeviceMesh
        from torch.distributed.fsdp import fully_shard

        # The group whose collectives are observed: a mesh of its own may have another.
        group = dist.group.WORLD
        assert group is not None
        mesh = DeviceMesh.from_group(group, device.type)
        whole = {one for one in module.parameters() if one.ndim == 0}  # which nothing can cut
        for one in whole:
            if one.requires_grad:
                one.register_post_accumulate_grad_hook(_average)
        for unit in [*units(module), module]:
            fully_shard(unit, mesh=mesh, reshard_after_forward=self.reshard, ignored_params=whole)
        return module


class FullyShardKept(FullyShard):
    """FSDP2 that gathers the parameters once a step."""

    reshard = False


def _average(parameter: Tensor) -> None:
    """Make the gradient of a parameter the mean over the workers."""
    assert parameter.grad is not None
    dist.all_reduce(parameter.grad)
    parameter.grad /= dist.get_world_size()


def units(network: nn.Module) -> list[nn.Module]:
    """What is gathered at a time: elements of a network's lists of layers that have parameters.

    The rest is gathered with the whole: it may be used from outside its own forward pass, as
    parameters are that several layers have in common.
    """
    uses = _uses(network)

    def within(module: nn.Module) -> Iterator[nn.Module]:
        """The units of a part of the network."""
        listed = isinstance(module, nn.Sequential | nn.ModuleList)
        for child in module.children():
            own, called = _uses(child), not isinstance(child, nn.ModuleList | nn.ModuleDict)
            if listed and called and own and all(uses[one] == n for one, n in own.items()):
                yield child
            else:
                yield from within(child)

    return list(within(network))


def _uses(module: nn.Module) -> Counter[int]:
    """How many layers have a parameter, by its identity."""
    return Counter(id(one) for _, one in module.named_parameters(remove_duplicate=False))


class Scatter(Sync):
    """torch's DataParallel: one process that splits each batch over several GPUs."""

    def __init__(self, devices: int) -> None:
        self.devices = devices

    def wrap(self, module: nn.Module, device: torch.device, task: Task | None = None) -> nn.Module:
        """The module in DataParallel over the first devices."""
        return nn.DataParallel(module, device_ids=list(range(self.devices)))


def way_of(name: str, micro_batches: int) -> Sync:
    """Return a way of `plan.ways`."""
    made: Sync = resolve_name(f"{__name__}:{WAYS[name].sync}")(micro_batches)
    return made
