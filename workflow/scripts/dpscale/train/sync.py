"""How workers agree on the parameters: one small class a way.

`wrap` gives the module that the training loop calls; the bare module stays the owner of the
parameters.
"""

import inspect
from typing import Any, Protocol

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Sync(Protocol):
    """A way to keep replicas together."""

    def wrap(self, module: nn.Module, device: torch.device) -> nn.Module:
        """The module to train, which exchanges what has to be exchanged."""


class Solo:
    """One worker: nothing to agree on, and no wrapper in the way."""

    def wrap(self, module: nn.Module, device: torch.device) -> nn.Module:
        return module


class AllReduce:
    """Gradients averaged in every step by DistributedDataParallel.

    broadcast_buffers: rank 0's buffers (running statistics) are sent before each forward pass.
    """

    def __init__(self, *, broadcast_buffers: bool = True) -> None:
        self.broadcast_buffers = broadcast_buffers

    def wrap(self, module: nn.Module, device: torch.device) -> nn.Module:
        parameters = inspect.signature(DistributedDataParallel.__init__).parameters
        # torch 2.14 renamed the argument; older versions know the old name alone.
        name = "forward_sync_buffers" if "forward_sync_buffers" in parameters else None
        options: dict[str, Any] = {name or "broadcast_buffers": self.broadcast_buffers}
        if device.type == "cuda":
            options["device_ids"] = [device.index]
        return DistributedDataParallel(module, **options)


class Scatter:
    """torch's DataParallel: one process that splits each batch over several GPUs."""

    def __init__(self, devices: int) -> None:
        self.devices = devices

    def wrap(self, module: nn.Module, device: torch.device) -> nn.Module:
        return nn.DataParallel(module, device_ids=list(range(self.devices)))
