"""S4: trainings of K learners by mini-batch, local and post-local SGD.

Lin et al., Don't Use Large Mini-Batches, Use Local SGD (ICLR 2020, arXiv:1808.07217), algorithms
1 and 2. The first arm of a run chooses the rate on validation data; each arm then trains with
that rate from each seed, so that arms of one seed start alike and see the same batches.
"""

import math
import statistics
import time
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn

from dpscale.config.local_sgd import LocalArm, LocalProtocol
from dpscale.plan import Spec, rate_search
from dpscale.train.data import Dataset, Loader, build_loader
from dpscale.train.device import set_float32_precision, synchronise
from dpscale.train.evaluate import evaluate
from dpscale.train.measurement import Measurement
from dpscale.train.network import seeded_network
from dpscale.train.progress import Meter
from dpscale.train.schedule import learning_rate
from dpscale.train.studies.local_labels import with_wrong_labels
from dpscale.train.studies.local_team import StackedTeam, Team
from dpscale.train.worker import Place


@dataclass
class _Run:
    """What the trainings of a run share, and their rows."""

    spec: Spec
    protocol: LocalProtocol
    dataset: Dataset
    place: Place
    meter: Meter
    trials: list[dict[str, Any]] = field(default_factory=list)
    evaluations: list[dict[str, Any]] = field(default_factory=list)


def measure_local(spec: Spec, dataset: Dataset, place: Place) -> Measurement:
    """The trials of a run: those that choose the rate (role "tuning"), and the results.

    A loss that is not finite ends a trial as "diverged"; the run itself is complete.
    """
    protocol = spec.local
    assert protocol is not None
    set_float32_precision(spec.training)
    tuned = len(protocol.rate_factors) > 1
    trainings = len(protocol.rate_factors) * len(protocol.tuning_seeds) if tuned else 0
    trainings += len(protocol.arms) * len(spec.seeds)
    meter = Meter(spec.run, "epoch", spec.training.epochs, parts=trainings, shown=place.leads)
    run = _Run(spec, protocol, dataset, place, meter)
    factor = _chosen_factor(run) if tuned else protocol.rate_factors[0]
    for arm in protocol.arms:
        for seed in spec.seeds:
            _train(run, arm, seed, factor, role="result")
    return Measurement(fields={"trials": run.trials, "evaluations": run.evaluations})


def _chosen_factor(run: _Run) -> float:
    """The share of the scaled rate of the best mean validation accuracy; see `rate_search`.

    One that diverged with any seed is not chosen, unless all did: then the smallest.
    """
    found = {factor: _accuracy(run, factor) for factor in sorted(run.protocol.rate_factors)}
    for _ in range(run.protocol.rate_extensions):
        if (further := rate_search.beyond(found)) is None:
            break
        run.meter.extend(len(run.protocol.tuning_seeds))
        found[further] = _accuracy(run, further)
    return rate_search.best(found)


def _accuracy(run: _Run, factor: float) -> float:
    """Mean validation accuracy of the first arm with a share of the rate; -inf if one diverged."""
    accuracies = [
        _train(run, run.protocol.arms[0], seed, factor, role="tuning")
        for seed in run.protocol.tuning_seeds
    ]
    known = [value for value in accuracies if value is not None]
    return statistics.fmean(known) if len(known) == len(accuracies) else -math.inf


def _train(run: _Run, arm: LocalArm, seed: int, factor: float, *, role: str) -> float | None:
    """One training; returns its validation accuracy at the end, None where there is none."""
    spec, place, protocol = run.spec, run.place, run.protocol
    tried = f", trying {factor:g} times the rate" if role == "tuning" else ""
    run.meter.begin(f"{arm.name}, seed {seed}{tried}")
    own = len(run.trials)
    labels_seed = 1000 + seed  # its own, so that labels and batches are drawn apart
    noisy = with_wrong_labels(
        run.dataset.train, protocol.label_noise_frac, run.dataset.classes, seed=labels_seed
    )
    dataset = replace(run.dataset, train=noisy)
    loader = _loader(spec, dataset, place, seed)
    team = build_team(spec, dataset, place, arm, seed=seed, steps_per_epoch=len(loader))
    status, row, wall_s = "complete", {}, 0.0
    for epoch in range(1, spec.training.epochs + 1):
        start = time.perf_counter()
        losses = _epoch(team, loader, spec, epoch, factor)
        if epoch == spec.training.epochs:
            team.finish()
        synchronise(place.device)
        wall_s += time.perf_counter() - start
        loss = torch.stack(losses).mean().item()
        if place.agree(not math.isfinite(loss)):
            status = "diverged"
            break
        if epoch % protocol.evaluate_epochs == 0 or epoch == spec.training.epochs:
            row = _evaluation(team.mean_network(), dataset, place)
            key = {"trial": own, "step": team.steps, "epoch": epoch, "wall_s": wall_s}
            run.evaluations.append(key | row | {"lr": team.lr})
        run.meter.step(loss=loss)
    run.trials.append(
        {
            "trial": own, "seed": seed, "role": role, "arm": arm.name, "model": spec.model.name,
            "optimizer": "nesterov" if spec.training.nesterov else "momentum", "status": status,
            "learners": protocol.learners, "per_learner_batch": learner_batch(spec),
            "global_batch": learner_batch(spec) * protocol.learners,
            "local_steps": arm.local_steps, "lr": spec.training.lr * factor,
            "momentum": spec.training.momentum, "steps": team.steps, "rounds": team.rounds,
            "wall_s": wall_s, "label_noise_frac": protocol.label_noise_frac,
            "rate_factor": factor, "local_from_step": _first_local_step(arm, len(loader)),
        }
    )  # fmt: skip
    return row.get("validation_accuracy_frac") if status == "complete" else None


def learner_batch(spec: Spec) -> int:
    """The batch of one learner: the spec's batch is that of all learners of a worker."""
    assert spec.local is not None
    assert spec.per_worker_batch is not None
    return spec.per_worker_batch * spec.workers // spec.local.learners


def _loader(spec: Spec, dataset: Dataset, place: Place, seed: int) -> Loader:
    """Batches of all learners of this worker at once; `Team.step` deals them out."""
    assert spec.per_worker_batch is not None
    return build_loader(
        dataset.train, dataset, loader=spec.data.loader, batch=spec.per_worker_batch,
        workers=spec.workers, rank=place.rank, seed=seed, augment=spec.data.augment,
        device=place.device, loader_workers=spec.data.loader_workers,
    )  # fmt: skip


def _first_local_step(arm: LocalArm, steps_per_epoch: int) -> int | None:
    if arm.local_from_epoch is None:
        return None
    return arm.local_from_epoch * steps_per_epoch


def build_team(
    spec: Spec, dataset: Dataset, place: Place, arm: LocalArm, *, seed: int, steps_per_epoch: int
) -> Team:
    """The learners of an arm, all with the same initial parameters.

    Where every learner has a worker of its own torch's own classes train them, else each worker
    stacks its share.
    """
    assert spec.local is not None
    network = seeded_network(spec, dataset, seed)
    options: dict[str, Any] = {
        "local_steps": arm.local_steps, "local_from": _first_local_step(arm, steps_per_epoch)
    }  # fmt: skip
    if place.workers == spec.local.learners > 1:
        # Here, since torch's averagers import sympy, for which every run would wait half a second.
        from dpscale.train.studies.local_processes import SeparateTeam

        return SeparateTeam(network, place, spec.training, **options)
    here = spec.local.learners // place.workers
    return StackedTeam(network, place, spec.training, learners=here, **options)


def _epoch(team: Team, loader: Loader, spec: Spec, epoch: int, factor: float) -> list[torch.Tensor]:
    losses = []
    for images, labels in loader.batches(epoch):
        team.lr = learning_rate(
            team.steps, base_lr=spec.training.lr * factor, schedule=spec.training.schedule,
            steps_per_epoch=len(loader), epochs=spec.training.epochs,
        )  # fmt: skip
        losses.append(team.step(images.to(team.device), labels.to(team.device)))
    return losses


def _evaluation(network: nn.Module, dataset: Dataset, place: Place) -> dict[str, Any]:
    """Loss and accuracies of the mean of the learners; of training on the labels it learns from,
    without augmentation."""
    splits = {name: getattr(dataset, name) for name in ("train", "validation", "test")}
    found = {name: evaluate(network, split, dataset, place.device)
             for name, split in splits.items()}  # fmt: skip
    row: dict[str, Any] = {
        f"{name}_accuracy_frac": result[1] if result else None for name, result in found.items()
    }
    for name in ("train", "validation"):
        result = found[name]
        row[f"{name}_loss"] = result[0] if result else None
    return row
