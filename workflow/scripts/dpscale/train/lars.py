"""Layer-wise adaptive rate scaling.

You, Gitman and Ginsburg, Large Batch Training of Convolutional Networks (2017, arXiv:1708.03888),
section 4 and Algorithm 1.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer


class Lars(Optimizer):
    """SGD with momentum whose rate is scaled for each layer by its own norms.

    For a layer with weights w, gradient g, global rate γ, weight decay β, momentum m and trust
    coefficient η: the local rate is λ = η |w| / (|g| + β |w|) (equation 6), the velocity becomes
    v = m v + γ λ (g + β w), and w = w - v (Algorithm 1). Here the velocity is kept without γ, so
    that a changed rate needs no correction of it (Goyal et al. 2017, section 3).
    A group with `adapt` False, or a layer whose weights or gradient are zero, has λ = 1.
    """

    def __init__(
        self,
        params: Iterable[Any],
        *,
        lr: float,
        momentum: float = 0.9,
        weight_decay: float = 0.0,
        trust_coefficient: float = 0.001,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "weight_decay": weight_decay,
            "trust_coefficient": trust_coefficient,
            "adapt": True,
        }
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """One update of every parameter that has a gradient."""
        for group in self.param_groups:
            for weights in group["params"]:
                if weights.grad is None:
                    continue
                change = weights.grad.add(weights, alpha=group["weight_decay"])
                if group["adapt"]:
                    change.mul_(_local_rate(weights, weights.grad, group))
                state = self.state[weights]
                if "velocity" not in state:
                    state["velocity"] = torch.zeros_like(weights)
                velocity: Tensor = state["velocity"].mul_(group["momentum"]).add_(change)
                weights.sub_(velocity, alpha=group["lr"])


def _local_rate(weights: Tensor, gradient: Tensor, group: dict[str, Any]) -> Tensor:
    """λ of equation 6, as a tensor without dimensions: no wait for the device."""
    of_weights, of_gradient = weights.norm(), gradient.norm()
    rate = group["trust_coefficient"] * of_weights
    rate = rate / (of_gradient + group["weight_decay"] * of_weights)
    return torch.where((of_weights > 0) & (of_gradient > 0), rate, 1.0)
