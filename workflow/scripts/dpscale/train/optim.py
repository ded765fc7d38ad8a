"""The optimisers, and the learning rate of every step as a pure function of the step.

LARS: You, Gitman and Ginsburg, Large Batch Training of Convolutional Networks (2017,
arXiv:1708.03888), section 4 and Algorithm 1. Warm-up: Goyal et al., Accurate, Large Minibatch SGD:
Training ImageNet in 1 Hour (2017, arXiv:1706.02677), section 2.2. Cosine decay: Loshchilov and
Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts (ICLR 2017), equation 5, one cycle
without a restart.
"""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, Optimizer
from torch.optim.lr_scheduler import LambdaLR

from dpscale.config.sections import ScheduleConfig, TrainingConfig


def build_optimizer(model: nn.Module, training: TrainingConfig) -> Optimizer:
    """SGD (momentum, nesterov) or Adam over all parameters, all with the same weight decay.

    The initial learning rate is `training.lr`. `model` is on its device already, which a fused
    optimiser has to know. Raises ValueError for any other optimiser.
    """
    # Not False, which would take torch's own choice of the other implementations away as well.
    fused = training.fused or None
    rates: dict[str, Any] = {"lr": training.lr, "weight_decay": training.weight_decay}
    if training.optimizer == "sgd":
        momentum, nesterov = training.momentum, training.nesterov
        return SGD(model.parameters(), momentum=momentum, nesterov=nesterov, fused=fused, **rates)
    if training.optimizer == "adam":
        return Adam(model.parameters(), fused=fused, **rates)
    raise ValueError(f"training.optimizer: {training.optimizer!r} is not one of sgd, adam")


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


def build_scheduler(
    optimizer: Optimizer, training: TrainingConfig, steps_per_epoch: int
) -> LambdaLR | None:
    """torch's LambdaLR over `learning_rate`: to be stepped once after every optimiser step.

    None where the rate never moves: a scheduler that multiplies by 1 costs a small network a tenth
    of its step.
    """
    schedule, epochs = training.schedule, training.epochs
    if schedule.warmup == schedule.decay == "none":
        return None

    def share_of_base(step: int) -> float:
        """The rate at a step over the base rate."""
        return learning_rate(
            step, base_lr=1.0, schedule=schedule, steps_per_epoch=steps_per_epoch, epochs=epochs
        )

    return LambdaLR(optimizer, share_of_base)


def learning_rate(
    step: int, *, base_lr: float, schedule: ScheduleConfig, steps_per_epoch: int, epochs: int
) -> float:
    """The learning rate used by the step of that number, counted from 0.

    Warm-up, over the first `warmup_epochs`: `none`; `constant` holds base_lr times
    `warmup_start_factor`, then base_lr at once; `gradual` moves in a line, step by step, from
    base_lr times `warmup_start_factor` at step 0 to base_lr at the first step after the warm-up.
    Decay: `none`; `step` multiplies by `decay_factor` from the first step of each of
    `decay_epochs` on, counted from the start of training; `cosine` falls from base_lr at the
    first step after the warm-up to 0 at the last step. Raises ValueError for any other word.
    """
    warms = schedule.warmup != "none"
    warmup_steps = round(schedule.warmup_epochs * steps_per_epoch) if warms else 0
    warmup = _warmup_factor(step, schedule, warmup_steps)
    if schedule.decay == "none":
        return base_lr * warmup
    if schedule.decay == "step":
        falls = sum(step >= epoch * steps_per_epoch for epoch in schedule.decay_epochs)
        return base_lr * warmup * schedule.decay_factor**falls
    if schedule.decay == "cosine":
        steps_to_fall = max(steps_per_epoch * epochs - 1 - warmup_steps, 1)
        progress = min(max(step - warmup_steps, 0) / steps_to_fall, 1.0)
        return base_lr * warmup * 0.5 * (1 + math.cos(math.pi * progress))
    raise ValueError(f"schedule.decay: {schedule.decay!r} is not one of none, step, cosine")


def _warmup_factor(step: int, schedule: ScheduleConfig, warmup_steps: int) -> float:
    if schedule.warmup not in ("none", "constant", "gradual"):
        raise ValueError(
            f"schedule.warmup: {schedule.warmup!r} is not one of none, constant, gradual"
        )
    if step >= warmup_steps:
        return 1.0
    start = schedule.warmup_start_factor
    if schedule.warmup == "constant":
        return start
    return start + (1 - start) * step / warmup_steps
