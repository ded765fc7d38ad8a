"""Trainings (Q4, Q5, Q7, H1 to H6): loss, accuracy and time of every epoch, seed by seed.

`wall_s` of an epoch is what a user waits for its training: loading, steps, and the slowest worker;
`evaluation_s` is what its evaluation takes.
"""

import hashlib
import time
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from dpscale.plan import Spec
from dpscale.plan.spec import TrainingProtocol
from dpscale.processes import age_s
from dpscale.train.clock import Clock, make_clock
from dpscale.train.data import Batch, Loader, Task
from dpscale.train.device import Utilisation
from dpscale.train.evaluate import evaluate
from dpscale.train.loop import Epoch, train_epoch
from dpscale.train.measurement import Measurement, StepLog, gather_steps, mean_of_known
from dpscale.train.progress import Meter
from dpscale.train.quiet import Quiet
from dpscale.train.worker import Place, Replica, build_replica, build_spec_loader, usual_sync

FIRST_INDICES = 8  # of a sample order, enough to see that two orders are one
ORDERED_EPOCHS = 2


def measure_trained(spec: "Spec[TrainingProtocol]", task: Task, place: Place) -> Measurement:
    """Trains once a seed; a loss that is not finite ends that seed and makes it `diverged`."""
    asked, log = spec.protocol, StepLog(place.rank)
    rows: dict[str, list[dict[str, Any]]] = {"epochs": [], "replicas": [], "orders": []}
    startup_s: float | None = None
    diverged: list[int] = []
    quiet = Quiet(place, again=0)  # an epoch of a training cannot be had again
    epochs = spec.training.epochs
    meter = Meter(spec.run, "epoch", epochs, parts=len(spec.seeds), shown=place.leads)
    for seed in spec.seeds:
        meter.begin(f"seed {seed}")
        loader = build_spec_loader(spec, task, place, seed=seed, set_epoch=asked.set_epoch)
        replica = build_replica(
            spec,
            task,
            place,
            seed=seed,
            steps_per_epoch=len(loader),
            sync=usual_sync(spec, broadcast_buffers=asked.broadcast_buffers),
        )
        clock, global_batch = make_clock(place.device), loader.batch * place.workers
        for number in range(1, epochs + 1):
            lr = replica.optimizer.param_groups[0]["lr"]
            losses: list[Tensor] = []
            batches = meter.watched(
                loader.batches(number), losses, steps=len(loader), samples=global_batch,
                timed=asked.timed,
            )  # fmt: skip
            place.wait()  # nobody's evaluation counts as somebody else's training
            startup_s = startup_s or age_s()
            timed = partial(_timed_epoch, replica, batches, clock, losses, spec)
            epoch, wall_s, utilisation_frac = quiet.undisturbed(len(quiet.rows), timed)
            log.add(epoch, seed=seed, arm=None, repeat=0, number=number)
            key = {"seed": seed, "epoch": number}
            busy = mean_of_known(place.gather(utilisation_frac))
            row = key | _epoch_row(epoch, wall_s, place) | {"lr": lr, "utilisation_frac": busy}
            if place.agree(not np.isfinite(epoch.losses).all()):
                rows["epochs"].append(row)
                diverged.append(seed)
                break
            rows["epochs"].append(row | _evaluation(replica, spec, place))
            rows["replicas"] += _replica_rows(replica, key, rows["epochs"][-1], place)
            if number <= ORDERED_EPOCHS:
                rows["orders"] += _order_rows(loader, key, place)
            test = rows["epochs"][-1]["test_accuracy_frac"]
            meter.step(
                loss=row["train_loss"], samples_per_s=len(loader) * global_batch / row["epoch_s"],
                note="" if test is None else f"test accuracy {test:.1%}",
            )  # fmt: skip
    return Measurement(
        status="diverged" if diverged else "complete",
        message=f"the loss was not finite for seed {diverged}" if diverged else None,
        steps=gather_steps(log, place),
        fields={**rows, "startup_s": startup_s} | ({"repeats": quiet.rows} if asked.timed else {}),
    )


def _timed_epoch(
    replica: Replica, batches: Iterable[Batch], clock: Clock, losses: list[Tensor], spec: Spec
) -> tuple[Epoch, float, float | None]:
    """An epoch, the seconds that a user waits for it, and the device's utilisation meanwhile."""
    with Utilisation(replica.place.device, spec.hardware.threads_per_worker) as utilisation:
        began_s = time.perf_counter()
        epoch = train_epoch(replica, batches, clock, count_correct=True, losses=losses)
        wall_s = time.perf_counter() - began_s
    return epoch, wall_s, utilisation.frac


def _epoch_row(epoch: Epoch, wall_s: float, place: Place) -> dict[str, Any]:
    """Means over the samples of all workers; only rank 0's row is complete."""
    own = (
        float((epoch.losses * epoch.samples).sum()), int(epoch.samples.sum()),
        *(epoch.correct or (0, 0)), float(epoch.seconds["step_s"].sum()), wall_s,
    )  # fmt: skip
    loss, samples, right, counted, seconds, walls = np.array(place.gather(own) or [own]).T
    total = samples.sum()
    mean_loss = float(loss.sum() / total)
    return {
        "train_loss": mean_loss if np.isfinite(mean_loss) else None,
        "train_accuracy_frac": float(right.sum() / counted.sum()) if counted.sum() else None,
        "epoch_s": float(seconds.max()),
        "wall_s": float(walls.max()),
    }


def _evaluation(replica: Replica, spec: Spec, place: Place) -> dict[str, Any]:
    """Accuracies of this worker's replica; the time is that of the slowest worker."""
    task, began_s = replica.task, time.perf_counter()
    (_, validation_accuracy_frac), (test_loss, test_accuracy_frac) = (
        evaluate(replica.module, split, task, place.device, batch=spec.per_worker_batch or 1)
        for split in (task.validation, task.test)
    )
    own_s = time.perf_counter() - began_s
    return {
        "evaluation_s": max(place.gather(own_s) or [own_s]),
        "validation_accuracy_frac": validation_accuracy_frac,
        "test_loss": test_loss,
        "test_accuracy_frac": test_accuracy_frac,
    }


def _replica_rows(
    replica: Replica, key: dict[str, int], row: dict[str, Any], place: Place
) -> list[dict[str, Any]]:
    if place.workers == 1:
        return []
    own = compare_to_first(replica.module, place)
    # Every worker evaluated with the running statistics that it holds itself.
    own["test_accuracy_frac"] = row["test_accuracy_frac"]
    return [key | other for other in place.gather(own)]


def _order_rows(loader: Loader, key: dict[str, int], place: Place) -> list[dict[str, Any]]:
    order = loader.order(key["epoch"])
    first = " ".join(str(int(i)) for i in order[:FIRST_INDICES])
    own = {"rank": place.rank, "digest": digest(order), "first_indices": first}
    return [key | other for other in place.gather(own)]


def flat_parameters(module: nn.Module) -> Tensor:
    """All parameters as one float32 vector."""
    return torch.cat([p.detach().float().reshape(-1) for p in module.parameters()])


def flat_running_statistics(module: nn.Module) -> Tensor:
    """All floating-point buffers (running means and variances) as one vector; may be empty.

    Entries that are not finite, such as those of a mask, are 0 in it.
    """
    buffers = [b.detach().float().reshape(-1) for b in module.buffers() if b.is_floating_point()]
    together = torch.cat(buffers) if buffers else torch.empty(0)
    return together.nan_to_num(0.0, 0.0, 0.0)


def digest(vector: Tensor) -> str:
    """SHA-256 of a tensor's bytes: equal on two workers where they agree bitwise."""
    return hashlib.sha256(vector.cpu().numpy().tobytes()).hexdigest()


def compare_to_first(module: nn.Module, place: Place) -> dict[str, Any]:
    """This worker's parameters and running statistics against rank 0's.

    Returns the digests, `parameter_difference_max` (largest absolute difference) and
    `buffer_difference_frac` (norm of the difference over the norm of rank 0's, null where that is
    0 and the difference is not).
    """
    parameters, buffers = flat_parameters(module), flat_running_statistics(module)
    first_parameters, first_buffers = _of_rank_0(parameters, place), _of_rank_0(buffers, place)
    apart, norm = (buffers - first_buffers).norm().item(), first_buffers.norm().item()
    return {
        "rank": place.rank,
        "parameter_digest": digest(parameters),
        "parameter_difference_max": (parameters - first_parameters).abs().max().item(),
        "buffer_digest": digest(buffers),
        "buffer_difference_frac": apart / norm
        if norm
        else 0.0
        if len(buffers) and not apart
        else None,
    }


def _of_rank_0(vector: Tensor, place: Place) -> Tensor:
    copy = vector.clone()
    if place.workers > 1 and len(copy):
        dist.broadcast(copy, src=0)
    return copy
