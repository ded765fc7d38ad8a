"""How workers agree on the parameters: one small class a way.

`wrap` gives the module that the training loop calls; the bare module stays the owner of the
parameters.
"""

import inspect
from collections.abc import Callable
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import debugging_hooks, default_hooks
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powersgd
from torch.nn.parallel import DistributedDataParallel

from dpscale.train.data import Task

# PowerSGD reduces plainly until the buckets are rebuilt: its state belongs to buckets.
POWERSGD_START = 5
Hook = Callable[[Any, Any], Any]  # state, torch.distributed.GradBucket -> Future[Tensor]


class Sync(Protocol):
    """A way to keep replicas together."""

    def wrap(self, module: nn.Module, device: torch.device, task: Task | None = None) -> nn.Module:
        """The module to train on the task, which exchanges what has to be exchanged."""


class Solo:
    """One worker: nothing to agree on, and no wrapper in the way."""

    def wrap(self, module: nn.Module, device: torch.device, task: Task | None = None) -> nn.Module:
        """The module itself."""
        return module


class AllReduce:
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
        }  # fmt: skip
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


class Scatter:
    """torch's DataParallel: one process that splits each batch over several GPUs."""

    def __init__(self, devices: int) -> None:
        self.devices = devices

    def wrap(self, module: nn.Module, device: torch.device, task: Task | None = None) -> nn.Module:
        """The module in DataParallel over the first devices."""
        return nn.DataParallel(module, device_ids=list(range(self.devices)))
