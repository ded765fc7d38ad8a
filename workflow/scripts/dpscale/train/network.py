"""A run's network, and the bytes of its gradient."""

import torch
from torch import nn

from dpscale.plan import Spec
from dpscale.train.data import Task


def seeded_network(spec: Spec, task: Task, seed: int) -> nn.Module:
    """The network on the CPU, with initial values that depend on the seed alone.

    Seeds torch's global generator.
    """
    torch.manual_seed(seed)
    return task.network(spec.model)


def network_on_paper(spec: Spec, task: Task) -> nn.Module:
    """The network for its shapes and sizes alone, without memory for values where it can be."""
    with torch.device(task.paper):
        return task.network(spec.model)


def payload_bytes(network: nn.Module) -> int:
    """Bytes of a network's gradient."""
    return sum(p.nelement() * p.element_size() for p in network.parameters() if p.requires_grad)
