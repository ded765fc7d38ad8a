"""The optimiser and its learning-rate scheduler, from the configuration's training section."""

from typing import TYPE_CHECKING

from torch import nn
from torch.optim import SGD, Adam, Optimizer
from torch.optim.lr_scheduler import LambdaLR

from dpscale.train.schedule import learning_rate

if TYPE_CHECKING:
    from dpscale.config.sections import TrainingConfig


def build_optimizer(model: nn.Module, training: "TrainingConfig") -> Optimizer:
    """SGD (momentum, nesterov) or Adam over all parameters, all with the same weight decay.

    The initial learning rate is `training.lr`. `model` is on its device already, which a fused
    optimiser has to know. Raises ValueError for any other optimiser.
    """
    # Not False, which would take torch's own choice of the other implementations away as well.
    fused = training.fused or None
    if training.optimizer == "sgd":
        return SGD(
            model.parameters(),
            lr=training.lr,
            momentum=training.momentum,
            nesterov=training.nesterov,
            weight_decay=training.weight_decay,
            fused=fused,
        )
    if training.optimizer == "adam":
        return Adam(
            model.parameters(), lr=training.lr, weight_decay=training.weight_decay, fused=fused
        )
    raise ValueError(f"training.optimizer: {training.optimizer!r} is not one of sgd, adam")


def build_scheduler(
    optimizer: Optimizer, training: "TrainingConfig", steps_per_epoch: int
) -> LambdaLR | None:
    """torch's LambdaLR over `learning_rate`: to be stepped once after every optimiser step.

    None where the rate never moves: a scheduler that multiplies by 1 costs a small network a tenth
    of its step.
    """
    if training.schedule.warmup == training.schedule.decay == "none":
        return None

    def share_of_base(step: int) -> float:
        """The rate at a step over the base rate."""
        return learning_rate(
            step,
            base_lr=1.0,
            schedule=training.schedule,
            steps_per_epoch=steps_per_epoch,
            epochs=training.epochs,
        )

    return LambdaLR(optimizer, share_of_base)
