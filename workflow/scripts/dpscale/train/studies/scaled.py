"""S2: trainings with groups of batch norm, by rules of rate and warm-up.

k groups of n samples make a global batch. A worker holds its share of the groups in one batch;
several workers average their gradients by DDP, one worker averages them in its loss.
"""

import time
from typing import Any

import numpy as np

from dpscale.plan import Spec
from dpscale.train.clock import make_clock
from dpscale.train.data import Dataset, Loader, build_loader
from dpscale.train.evaluate import evaluate
from dpscale.train.loop import Epoch, train_epoch
from dpscale.train.measurement import Measurement
from dpscale.train.progress import Meter
from dpscale.train.studies.scaled_replica import build_scaled_replica
from dpscale.train.worker import Place, Replica

Row = dict[str, Any]


def measure_scaled(spec: Spec, dataset: Dataset, place: Place) -> Measurement:
    """One trial a seed, with an evaluation an epoch; a loss that is not finite ends its trial.

    The run is `complete` where any seed came to its end: a trial says itself how it ended.
    """
    meter = Meter(spec.run, "epoch", spec.training.epochs, parts=len(spec.seeds), shown=place.leads)
    trials: list[Row] = []
    evaluations: list[Row] = []
    for trial, seed in enumerate(spec.seeds):
        meter.begin(f"seed {seed}")
        curve, outcome = _train(spec, dataset, place, seed, meter)
        evaluations += [{"trial": trial} | row for row in curve]
        trials.append({"trial": trial, "seed": seed} | _settings(spec) | outcome)
    diverged = [trial["seed"] for trial in trials if trial["status"] == "diverged"]
    return Measurement(
        status="diverged" if len(diverged) == len(trials) else "complete",
        message=f"the loss was not finite for seed {diverged}" if diverged else None,
        fields={"trials": trials, "evaluations": evaluations},
    )


def _settings(spec: Spec) -> Row:
    assert spec.scaled is not None
    assert spec.per_worker_batch is not None
    return {
        "role": spec.scaled.role,
        "arm": spec.arm,
        "model": spec.model.name,
        "optimizer": spec.scaled.optimizer,
        "learners": spec.scaled.groups,
        "per_learner_batch": spec.scaled.group_batch,
        "global_batch": spec.per_worker_batch * spec.workers,
        "lr": spec.training.lr,
        "momentum": spec.training.momentum,
    }


def _train(
    spec: Spec, dataset: Dataset, place: Place, seed: int, meter: Meter
) -> tuple[list[Row], Row]:
    """The curve of one seed and how it ended; on rank 0 alone the numbers are of all workers."""
    loader = _loader(spec, dataset, place, seed)
    replica = build_scaled_replica(spec, dataset, place, seed=seed, steps_per_epoch=len(loader))
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
        row = {"epoch": float(number), "step": number * len(loader), "lr": lr}
        row |= _seen(epoch, place)
        if place.agree(not np.isfinite(epoch.losses).all()):
            status = "diverged"
            rows.append(row | {"train_loss": None, "train_accuracy_frac": None})
            break
        if place.leads:  # with rank 0's running statistics, as DDP keeps them
            row |= _evaluation(replica, dataset, last=number == spec.training.epochs)
        rows.append(row | {"wall_s": time.perf_counter() - start})
        meter.step(loss=row["train_loss"], note=_note(row))
    outcome = {
        "status": status,
        "steps": rows[-1]["step"],
        "wall_s": time.perf_counter() - start,
    }
    return rows, outcome


def _loader(spec: Spec, dataset: Dataset, place: Place, seed: int) -> Loader:
    """Whole batches on the device: nothing is timed here."""
    assert spec.per_worker_batch is not None
    return build_loader(
        dataset.train, dataset, loader="resident", batch=spec.per_worker_batch,
        workers=spec.workers, rank=place.rank, seed=seed, augment=spec.data.augment,
        device=place.device,
    )  # fmt: skip


def _seen(epoch: Epoch, place: Place) -> Row:
    """Means over all samples that the workers saw in an epoch; on rank 0 alone of all of them."""
    own = (
        float((epoch.losses * epoch.samples).sum()),
        epoch.correct or 0,
        int(epoch.samples.sum()),
    )
    loss, correct, samples = np.array(place.gather(own) or [own]).sum(axis=0)
    return {
        "train_loss": float(loss / samples),
        "train_accuracy_frac": float(correct / samples),
    }


def _evaluation(replica: Replica, dataset: Dataset, *, last: bool) -> Row:
    """Validation after every epoch; the test set is looked at once, after the last one."""
    device = replica.place.device
    validation = evaluate(replica.module, dataset.validation, dataset, device)
    test = evaluate(replica.module, dataset.test, dataset, device) if last else None
    loss = validation[0] if validation else None
    return {
        "validation_loss": loss if loss is not None and np.isfinite(loss) else None,
        "validation_accuracy_frac": validation[1] if validation else None,
        "test_accuracy_frac": test[1] if test else None,
    }


def _note(row: Row) -> str:
    validation = row.get("validation_accuracy_frac")
    return "" if validation is None else f"validation error {1 - validation:.1%}"
