"""How far the replicas of one model are apart."""

import hashlib
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from dpscale.train.worker import Place


def flat_parameters(module: nn.Module) -> Tensor:
    """All parameters as one float32 vector."""
    return torch.cat([p.detach().float().reshape(-1) for p in module.parameters()])


def flat_running_statistics(module: nn.Module) -> Tensor:
    """All floating-point buffers (running means and variances) as one vector; may be empty."""
    buffers = [b.detach().float().reshape(-1) for b in module.buffers() if b.is_floating_point()]
    return torch.cat(buffers) if buffers else torch.empty(0)


def digest(vector: Tensor) -> str:
    """SHA-256 of a tensor's bytes: equal on two workers where they agree bitwise."""
    return hashlib.sha256(vector.cpu().numpy().tobytes()).hexdigest()


def compare_to_first(module: nn.Module, place: Place) -> dict[str, Any]:
    """This worker's parameters and running statistics against rank 0's.

    Returns the digests, `parameter_difference_max` (largest absolute difference) and
    `buffer_difference_frac` (norm of the difference over the norm of rank 0's).
    """
    parameters, buffers = flat_parameters(module), flat_running_statistics(module)
    first_parameters, first_buffers = _of_rank_0(parameters, place), _of_rank_0(buffers, place)
    norm = first_buffers.norm().item()
    return {
        "rank": place.rank,
        "parameter_digest": digest(parameters),
        "parameter_difference_max": (parameters - first_parameters).abs().max().item(),
        "buffer_digest": digest(buffers),
        "buffer_difference_frac": (buffers - first_buffers).norm().item() / norm if norm else None,
    }


def _of_rank_0(vector: Tensor, place: Place) -> Tensor:
    copy = vector.clone()
    if place.workers > 1 and len(copy):
        dist.broadcast(copy, src=0)
    return copy
