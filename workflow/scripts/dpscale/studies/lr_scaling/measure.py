"""S2: trainings with groups of batch norm, by rules of rate and warm-up.

k groups of n samples make a global batch. A worker holds its share of the groups in one batch;
several workers average their gradients by DDP, one worker averages them in its loss.

Goyal et al., Accurate, Large Minibatch SGD (2017, arXiv:1706.02677): no weight decay on the
gains and shifts of batch norm (section 5.1), and a velocity without the rate, equation 9, which
a changed rate leaves right (section 3, remark 2). torch's SGD keeps its velocity so.
"""

import time
from dataclasses import replace
from typing import Any

import numpy as np
from torch import nn
from torch.optim import SGD, Optimizer

from dpscale.plan import Spec
from dpscale.studies.lr_scaling.config import RateProtocol
from dpscale.train.clock import make_clock
from dpscale.train.data import Dataset, build_loader
from dpscale.train.evaluate import evaluate
from dpscale.train.grouped_norm import group_batch_norm
from dpscale.train.loop import Epoch, train_epoch
from dpscale.train.measurement import Measurement
from dpscale.train.optim import Lars, build_scheduler
from dpscale.train.progress import Meter
from dpscale.train.worker import Place, Replica, build_replica

Row = dict[str, Any]


def measure_scaled(spec: "Spec[RateProtocol]", dataset: Dataset, place: Place) -> Measurement:
    """One trial a seed, with an evaluation an epoch; a loss that is not finite ends its trial.

    The run is `complete` where any seed came to its end: a trial says itself how it ended.
    """
    protocol, training = spec.protocol, spec.training
    settings = {
        "role": protocol.role, "arm": spec.arm, "model": spec.model.name,
        "optimizer": protocol.optimizer, "learners": protocol.groups,
        "per_learner_batch": protocol.group_batch,
        "global_batch": protocol.groups * protocol.group_batch,
        "lr": training.lr, "momentum": training.momentum,
    }  # fmt: skip
    meter = Meter(spec.run, "epoch", training.epochs, parts=len(spec.seeds), shown=place.leads)
    trials: list[Row] = []
    evaluations: list[Row] = []
    for trial, seed in enumerate(spec.seeds):
        meter.begin(f"seed {seed}")
        curve, outcome = _train(spec, dataset, place, seed, meter)
        evaluations += [{"trial": trial} | row for row in curve]
        trials.append({"trial": trial, "seed": seed} | settings | outcome)
    diverged = [trial["seed"] for trial in trials if trial["status"] == "diverged"]
    return Measurement(
        status="diverged" if len(diverged) == len(trials) else "complete",
        message=f"the loss was not finite for seed {diverged}" if diverged else None,
        fields={"trials": trials, "evaluations": evaluations},
    )


def _train(
    spec: "Spec[RateProtocol]", dataset: Dataset, place: Place, seed: int, meter: Meter
) -> tuple[list[Row], Row]:
    """The curve of one seed and how it ended; on rank 0 alone the numbers are of all workers."""
    assert spec.per_worker_batch is not None
    loader = build_loader(  # whole batches on the device: nothing is timed here
        dataset.train, dataset, loader="resident", batch=spec.per_worker_batch,
        workers=spec.workers, rank=place.rank, seed=seed, augment=spec.data.augment,
        device=place.device,
    )  # fmt: skip
    replica = _replica(spec, dataset, place, seed, len(loader))
    clock, start = make_clock(place.device), time.perf_counter()
    rows: list[Row] = []
    status = "complete"
    for number in range(1, spec.training.epochs + 1):
        losses: list[Any] = []
        lr = replica.optimizer.param_groups[0]["lr"]  # of the epoch's first step
        batches = meter.watched(
            loader.batches(number), losses, steps=len(loader), samples=loader.batch * place.workers
        )
        epoch = train_epoch(replica, batches, clock, count_correct=True, losses=losses)
        row = {"epoch": float(number), "step": number * len(loader), "lr": lr} | _seen(epoch, place)
        if place.agree(not np.isfinite(epoch.losses).all()):
            status = "diverged"
            rows.append(row | {"train_loss": None, "train_accuracy_frac": None})
            break
        if place.leads:  # with rank 0's running statistics, as DDP keeps them
            row |= _evaluation(replica, dataset, last=number == spec.training.epochs)
        rows.append(row | {"wall_s": time.perf_counter() - start})
        meter.step(loss=row["train_loss"], note=_note(row))
    wall_s = time.perf_counter() - start
    return rows, {"status": status, "steps": rows[-1]["step"], "wall_s": wall_s}


def _replica(
    spec: "Spec[RateProtocol]", dataset: Dataset, place: Place, seed: int, steps: int
) -> Replica:
    """The spec's model, batch norm in its groups, with its optimiser; steps: of an epoch."""
    replica = build_replica(spec, dataset, place, seed=seed, steps_per_epoch=steps)
    group_batch_norm(replica.module, spec.protocol.group_batch)
    optimizer = _optimizer(replica.module, spec)
    scheduler = build_scheduler(optimizer, spec.training, steps)
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
    shared: Row = {"lr": training.lr, "momentum": training.momentum}
    if lars:
        return Lars(groups, trust_coefficient=protocol.trust_coefficient, **shared)
    return SGD(groups, nesterov=training.nesterov, fused=training.fused or None, **shared)


def _seen(epoch: Epoch, place: Place) -> Row:
    """Means over all samples that the workers saw in an epoch; on rank 0 alone of all of them."""
    assert epoch.correct is not None
    right, _ = epoch.correct
    own = float((epoch.losses * epoch.samples).sum()), right, int(epoch.samples.sum())
    loss, correct, samples = np.array(place.gather(own) or [own]).sum(axis=0)
    return {"train_loss": float(loss / samples), "train_accuracy_frac": float(correct / samples)}


def _evaluation(replica: Replica, dataset: Dataset, *, last: bool) -> Row:
    """Validation after every epoch; the test set is looked at once, after the last one."""
    device = replica.place.device
    loss, accuracy = evaluate(replica.module, dataset.validation, dataset, device)
    test = evaluate(replica.module, dataset.test, dataset, device) if last else (None, None)
    return {
        "validation_loss": loss if loss is not None and np.isfinite(loss) else None,
        "validation_accuracy_frac": accuracy,
        "test_accuracy_frac": test[1],
    }


def _note(row: Row) -> str:
    validation = row.get("validation_accuracy_frac")
    return "" if validation is None else f"validation error {1 - validation:.1%}"
