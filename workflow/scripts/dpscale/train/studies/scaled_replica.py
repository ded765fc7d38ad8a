"""The model of a run of S2 with its optimiser: grouped batch norm, weight decay of weights alone.

Goyal et al., Accurate, Large Minibatch SGD (2017, arXiv:1706.02677): no weight decay on the
gains and shifts of batch norm (section 5.1), and a velocity without the rate, equation 9, which
a changed rate leaves right (section 3, remark 2). torch's SGD keeps its velocity so.
"""

from dataclasses import replace

from torch import nn
from torch.optim import SGD, Optimizer

from dpscale.plan import Spec
from dpscale.train.data import Dataset
from dpscale.train.grouped_norm import group_batch_norm
from dpscale.train.lars import Lars
from dpscale.train.optim import build_scheduler
from dpscale.train.worker import Place, Replica, build_replica


def build_scaled_replica(
    spec: Spec, dataset: Dataset, place: Place, *, seed: int, steps_per_epoch: int
) -> Replica:
    """The spec's model, batch norm in its groups, with its optimiser and schedule."""
    assert spec.scaled is not None
    replica = build_replica(spec, dataset, place, seed=seed, steps_per_epoch=steps_per_epoch)
    group_batch_norm(replica.module, spec.scaled.group_batch)
    optimizer = _optimizer(replica.module, spec)
    scheduler = build_scheduler(optimizer, spec.training, steps_per_epoch)
    return replace(replica, optimizer=optimizer, scheduler=scheduler)


def _optimizer(module: nn.Module, spec: Spec) -> Optimizer:
    assert spec.scaled is not None
    training, parameters = spec.training, list(module.parameters())
    weights = [value for value in parameters if value.ndim > 1]
    others = [value for value in parameters if value.ndim <= 1]  # of batch norm, and biases
    groups = [
        {"params": weights, "weight_decay": training.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    if spec.scaled.optimizer == "lars":
        groups[1]["adapt"] = False
        return Lars(
            groups,
            lr=training.lr,
            momentum=training.momentum,
            trust_coefficient=spec.scaled.trust_coefficient,
        )
    return SGD(
        groups,
        lr=training.lr,
        momentum=training.momentum,
        nesterov=training.nesterov,
        fused=training.fused or None,
    )
