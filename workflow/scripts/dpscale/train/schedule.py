"""The learning rate of every step, as a pure function of the step.

Warm-up: Goyal et al., Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour (2017,
arXiv:1706.02677), section 2.2. Cosine decay: Loshchilov and Hutter, SGDR: Stochastic Gradient
Descent with Warm Restarts (ICLR 2017), equation 5, one cycle without a restart.
"""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpscale.config.sections import ScheduleConfig


def learning_rate(
    step: int, *, base_lr: float, schedule: "ScheduleConfig", steps_per_epoch: int, epochs: int
) -> float:
    """The learning rate used by the step of that number, counted from 0.

    Warm-up, over the first `warmup_epochs`: `none`; `constant` holds base_lr times
    `warmup_start_factor`, then base_lr at once; `gradual` moves in a line, step by step, from
    base_lr times `warmup_start_factor` at step 0 to base_lr at the first step after the warm-up.
    Decay: `none`; `step` multiplies by `decay_factor` from the first step of each of
    `decay_epochs` on, counted from the start of training; `cosine` falls from base_lr at the
    first step after the warm-up to 0 at the last step. Raises ValueError for any other word.
    """
    warmup_steps = _warmup_steps(schedule, steps_per_epoch)
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


def _warmup_steps(schedule: "ScheduleConfig", steps_per_epoch: int) -> int:
    if schedule.warmup == "none":
        return 0
    return round(schedule.warmup_epochs * steps_per_epoch)


def _warmup_factor(step: int, schedule: "ScheduleConfig", warmup_steps: int) -> float:
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
