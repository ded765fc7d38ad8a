"""S2: trainings with groups of batch norm, by rules of rate and warm-up.

k groups of n samples make a global batch. A worker holds its share of the groups in one batch;
several workers average their gradients by DDP, one worker averages them in its loss.

Goyal et al., Accurate, Large Minibatch SGD (2017, arXiv:1706.02677): no weight decay on the
gains and shifts of batch norm (section 5.1), and a velocity without the rate, equation 9, which
a changed rate leaves right (section 3, remark 2). torch's SGD keeps its velocity so.
"""

from dataclasses import replace
from typing import Any

from torch import nn
from torch.optim import SGD, Optimizer

from dpscale.plan import Spec
from dpscale.studies.lr_scaling.config import RateProtocol
from dpscale.train.data import Task
from dpscale.train.grouped_norm import group_batch_norm
from dpscale.train.measurement import Measurement
from dpscale.train.optim import Lars, build_scheduler
from dpscale.train.progress import Meter
from dpscale.train.replica import ReplicaStepper
from dpscale.train.training import Training, Trial, divergence, epoch_stops, settings, tables
from dpscale.train.worker import Place, Replica


def measure_scaled(spec: "Spec[RateProtocol]", task: Task, place: Place) -> Measurement:
    """One trial a seed, with an evaluation an epoch; a loss that is not finite ends its trial.

    Validation after every epoch, with rank 0's running statistics, as DDP keeps them; the test set
    is looked at once, after the last one. The run is `complete` where any seed came to its end: a
    trial says itself how it ended.
    """
    protocol, epochs = spec.protocol, spec.training.epochs
    given = settings(
        spec,
        role=protocol.role,
        optimizer=protocol.optimizer,
        learners=protocol.groups,
        per_learner_batch=protocol.group_batch,
    )
    meter = Meter(spec.run, "epoch", epochs, parts=len(spec.seeds), shown=place.leads)
    trials: list[Trial] = []
    for seed in spec.seeds:
        meter.begin(f"seed {seed}")
        stepper = _Groups(spec, task, place, seed, meter=meter, loader="resident")
        steps = len(stepper.loader)
        trials += Training(
            [Trial(seed, dict(given))],
            stepper,
            stepper.supply,
            epoch_stops(steps, epochs),
            max_steps=epochs * steps,
            splits=["validation"],
            at_end=["test"],
            meter=meter,
        ).run()
    lost = all(trial.status == "diverged" for trial in trials)
    return Measurement(
        status="diverged" if lost else "complete", message=divergence(trials), fields=tables(trials)
    )


class _Groups(ReplicaStepper):
    """A replica whose batch norm is in groups, with the optimiser of the publication."""

    spec: "Spec[RateProtocol]"

    def build(self) -> Replica:
        """Return the spec's model, batch norm in its groups, with its optimiser."""
        replica = super().build()
        group_batch_norm(replica.module, self.spec.protocol.group_batch)
        optimizer = _optimizer(replica.module, self.spec)
        scheduler = build_scheduler(optimizer, self.spec.training, len(self.loader))
        return replace(replica, optimizer=optimizer, scheduler=scheduler)


def _optimizer(module: nn.Module, spec: "Spec[RateProtocol]") -> Optimizer:
    training, protocol = spec.training, spec.protocol
    weights = [value for value in module.parameters() if value.ndim > 1]
    others = [value for value in module.parameters() if value.ndim <= 1]  # batch norm's, biases
    lars = protocol.optimizer == "lars"
    groups = [
        {"params": weights, "weight_decay": training.weight_decay},
        {"params": others, "weight_decay": 0.0} | ({"adapt": False} if lars else {}),
    ]
    shared: dict[str, Any] = {"lr": training.lr, "momentum": training.momentum}
    if lars:
        return Lars(groups, trust_coefficient=protocol.trust_coefficient, **shared)
    return SGD(groups, nesterov=training.nesterov, fused=training.fused or None, **shared)
