"""The optimiser's steps, worked by hand, and its scheduler."""

import pytest
import torch
from torch import nn
from torch.optim import Optimizer

from dpscale.config.sections import ScheduleConfig, TrainingConfig
from dpscale.train.optim import build_optimizer, build_scheduler


def weight(value: float) -> nn.Linear:
    layer = nn.Linear(1, 1, bias=False)
    nn.init.constant_(layer.weight, value)
    return layer


def step_with_gradient(layer: nn.Linear, optimizer: Optimizer, gradient: float) -> float:
    layer.weight.grad = torch.full_like(layer.weight, gradient)
    optimizer.step()
    return layer.weight.item()


def test_sgd_steps_with_momentum_and_weight_decay() -> None:
    layer = weight(1.0)
    training = TrainingConfig(lr=0.1, momentum=0.5, weight_decay=0.2)
    optimizer = build_optimizer(layer, training)
    # Velocity 2 + 0.2 * 1 = 2.2, then 0.5 * 2.2 + 2 + 0.2 * 0.78 = 3.256.
    assert step_with_gradient(layer, optimizer, 2.0) == pytest.approx(0.78)
    assert step_with_gradient(layer, optimizer, 2.0) == pytest.approx(0.4544)


def test_nesterov_looks_ahead_by_the_momentum() -> None:
    layer = weight(1.0)
    training = TrainingConfig(lr=0.1, momentum=0.5, weight_decay=0.0, nesterov=True)
    # 1 - 0.1 * (2 + 0.5 * 2)
    assert step_with_gradient(layer, build_optimizer(layer, training), 2.0) == pytest.approx(0.7)


def test_adam_takes_a_first_step_as_long_as_the_learning_rate() -> None:
    layer = weight(1.0)
    training = TrainingConfig(optimizer="adam", lr=0.01, weight_decay=0.0)
    assert step_with_gradient(layer, build_optimizer(layer, training), 5.0) == pytest.approx(0.99)


def test_adam_decays_weights() -> None:
    layer = weight(1.0)
    training = TrainingConfig(optimizer="adam", lr=0.01, weight_decay=0.5)
    # The gradient is 0, so the step follows the sign of the decay alone.
    assert step_with_gradient(layer, build_optimizer(layer, training), 0.0) == pytest.approx(0.99)


def test_an_unknown_optimizer_is_named() -> None:
    training = TrainingConfig().model_copy(update={"optimizer": "sdg"})
    with pytest.raises(ValueError, match=r"training\.optimizer: 'sdg'"):
        build_optimizer(weight(1.0), training)


def test_the_scheduler_sets_the_rate_of_each_step() -> None:
    schedule = ScheduleConfig(
        warmup="gradual",
        warmup_epochs=1.0,
        warmup_start_factor=0.5,
        decay="step",
        decay_epochs=(2,),
    )
    training = TrainingConfig(lr=0.4, epochs=3, schedule=schedule)
    layer = weight(1.0)
    optimizer = build_optimizer(layer, training)
    scheduler = build_scheduler(optimizer, training, steps_per_epoch=2)
    rates = []
    for _ in range(6):
        rates.append(optimizer.param_groups[0]["lr"])
        step_with_gradient(layer, optimizer, 0.0)
        scheduler.step()
    assert rates == pytest.approx([0.2, 0.3, 0.4, 0.4, 0.04, 0.04])
