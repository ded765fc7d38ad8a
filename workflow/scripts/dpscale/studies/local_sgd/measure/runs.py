"""S4: trainings of K learners by mini-batch, local and post-local SGD.

Lin et al., Don't Use Large Mini-Batches, Use Local SGD (ICLR 2020, arXiv:1808.07217), algorithms
1 and 2. The first arm of a run chooses the rate on validation data; each arm then trains with
that rate from each seed, so that arms of one seed start alike and see the same batches.
"""

import math
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn

from dpscale.plan import Spec
from dpscale.studies.local_sgd.config import LocalArm, LocalProtocol
from dpscale.studies.local_sgd.measure.team import StackedTeam, Team
from dpscale.train.data import Dataset, Loader, Split, Task, build_loader, on_device
from dpscale.train.device import set_backends, synchronise
from dpscale.train.evaluate import evaluate
from dpscale.train.measurement import Measurement
from dpscale.train.network import seeded_network
from dpscale.train.optim import learning_rate
from dpscale.train.progress import Meter
from dpscale.train.worker import Place


@dataclass
class _Run:
    """What the trainings of a run share, and their rows."""

    spec: Spec
    protocol: LocalProtocol
    task: Task
    place: Place
    meter: Meter
    trials: list[dict[str, Any]] = field(default_factory=list)
    evaluations: list[dict[str, Any]] = field(default_factory=list)


def measure_local(spec: "Spec[LocalProtocol]", task: Task, place: Place) -> Measurement:
    """The trials of a run: those that choose the rate (role "tuning"), and the results.

    A loss that is not finite ends a trial as "diverged"; the run itself is complete.
    """
    protocol = spec.protocol
    set_backends(spec.training)
    tuned = len(protocol.rate_factors) > 1
    if tuned:
        task.require_a_score("local_sgd.rate_factors")
    trainings = len(protocol.rate_factors) * len(protocol.tuning_seeds) if tuned else 0
    trainings += len(protocol.arms) * len(spec.seeds)
    meter = Meter(spec.run, "epoch", spec.training.epochs, parts=trainings, shown=place.leads)
    run = _Run(spec, protocol, task, place, meter)
    factor = _chosen_factor(run) if tuned else protocol.rate_factors[0]
    for arm in protocol.arms:
        for seed in spec.seeds:
            _train(run, arm, seed, factor, role="result")
    return Measurement(fields={"trials": run.trials, "evaluations": run.evaluations})


def _chosen_factor(run: _Run) -> float:
    """The share of the scaled rate of the best mean validation accuracy.

    One that diverged with any seed is not chosen, unless all did: then the smallest.
    """
    found = {factor: _accuracy(run, factor) for factor in sorted(run.protocol.rate_factors)}
    for _ in range(run.protocol.rate_extensions):
        if (further := share_beyond(found)) is None:
            break
        run.meter.extend(len(run.protocol.tuning_seeds))
        found[further] = _accuracy(run, further)
    return best_share(found)


def best_share(scores: Mapping[float, float]) -> float:
    """The share of the highest score, the smallest of equals; -inf is one not to be chosen."""
    return max(sorted(scores), key=lambda share: scores[share])


def share_beyond(scores: Mapping[float, float]) -> float | None:
    """The share to try next, None where the best one lies inside or fewer than two were tried.

    It lies beyond the end at which the best one is, by the ratio of the two shares there; where
    none can be chosen, below the smallest.
    """
    shares = sorted(scores)
    if len(shares) < 2:
        return None
    if best_share(scores) == shares[0]:
        return shares[0] ** 2 / shares[1]
    return shares[-1] ** 2 / shares[-2] if best_share(scores) == shares[-1] else None


def _accuracy(run: _Run, factor: float) -> float:
    """Mean validation accuracy of the first arm with a share of the rate; -inf if one diverged."""
    arm, seeds = run.protocol.arms[0], run.protocol.tuning_seeds
    return statistics.fmean(_train(run, arm, seed, factor, role="tuning") for seed in seeds)


def _train(run: _Run, arm: LocalArm, seed: int, factor: float, *, role: str) -> float:
    """One training; returns its validation accuracy at the end, -inf where there is none."""
    spec, place, protocol = run.spec, run.place, run.protocol
    assert spec.per_worker_batch is not None
    tried = f", trying {factor:g} times the rate" if role == "tuning" else ""
    run.meter.begin(f"{arm.name}, seed {seed}{tried}")
    # A seed of its own, so that labels and batches are drawn apart.
    task = with_wrong_labels(run.task, protocol.label_noise_frac, seed=1000 + seed)
    # Batches of all learners of this worker at once: `Team.step` deals them out.
    loader = build_loader(
        task.train, task, loader=spec.data.loader, batch=spec.per_worker_batch,
        workers=spec.workers, rank=place.rank, seed=seed, augment=spec.data.augment,
        device=place.device, loader_workers=spec.data.loader_workers,
    )  # fmt: skip
    first, global_batch = arm.local_from_epoch, spec.per_worker_batch * spec.workers
    local_from = None if first is None else first * len(loader)
    team = _team_of(task, place.workers, protocol.learners)(
        seeded_network(spec, task, seed), task, place, spec.training, local_steps=arm.local_steps,
        local_from=local_from, learners=protocol.learners // place.workers,
    )  # fmt: skip
    status, accuracy, wall_s = _learn(run, team, loader, task, spec.training.lr * factor)
    run.trials.append({
        "trial": len(run.trials), "seed": seed, "role": role, "arm": arm.name,
        "model": spec.model.name, "status": status,
        "optimizer": "nesterov" if spec.training.nesterov else "momentum",
        "learners": protocol.learners, "per_learner_batch": global_batch // protocol.learners,
        "global_batch": global_batch, "local_steps": arm.local_steps,
        "lr": spec.training.lr * factor, "momentum": spec.training.momentum, "steps": team.steps,
        "rounds": team.rounds, "wall_s": wall_s, "label_noise_frac": protocol.label_noise_frac,
        "rate_factor": factor, "local_from_step": local_from,
    })  # fmt: skip
    return -math.inf if accuracy is None else accuracy


def _learn(
    run: _Run, team: Team, loader: Loader, task: Task, lr: float
) -> tuple[str, float | None, float]:
    """All epochs; returns status, validation accuracy at the end, and seconds of training."""
    training, row, wall_s = run.spec.training, {}, 0.0
    for epoch in range(1, training.epochs + 1):
        start, losses, ends = time.perf_counter(), [], epoch == training.epochs
        for batch in loader.batches(epoch):
            team.lr = learning_rate(
                team.steps, base_lr=lr, schedule=training.schedule, steps_per_epoch=len(loader),
                epochs=training.epochs,
            )  # fmt: skip
            losses.append(team.step(on_device(batch, team.device)))
        if ends:
            team.finish()
        synchronise(team.device)
        wall_s += time.perf_counter() - start
        loss = torch.stack(losses).mean().item()
        if run.place.agree(not math.isfinite(loss)):
            return "diverged", None, wall_s
        if ends or epoch % run.protocol.evaluate_epochs == 0:
            row = _evaluation(team.mean_network(), task, run)
            key = {"trial": len(run.trials), "step": team.steps, "epoch": epoch, "wall_s": wall_s}
            run.evaluations.append(key | row | {"lr": team.lr})
        run.meter.step(loss=loss)
    return "complete", row["validation_accuracy_frac"], wall_s


def with_wrong_labels(task: Task, frac: float, *, seed: int) -> Task:
    """The task with a share `frac` of its training labels (rounded) replaced by another class.

    Samples and classes are drawn uniformly; the choice depends on `seed` alone. Zhang et al.,
    Understanding Deep Learning Requires Rethinking Generalization (ICLR 2017), section 2.1, draw
    from all classes; here the right one is left out, so that the share is exact.
    """
    wrong = round(frac * len(task.train))
    if wrong == 0:
        return task
    assert isinstance(task, Dataset)  # no configuration asks for it of a user's own
    split = task.train
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.randperm(len(split), generator=generator)[:wrong]
    shift = torch.randint(1, task.classes, (wrong,), generator=generator)
    labels = split.labels.clone()
    labels[chosen] = (labels[chosen] + shift) % task.classes
    return replace(task, train=Split(split.images, labels))


def _team_of(task: Task, workers: int, learners: int) -> type[Team]:
    """What trains them: torch's own classes where each has a worker of its own, else stacks.

    DDP that looks for parameters without a gradient sends what it found in local steps too.
    """
    if workers == learners > 1 and not task.find_unused_parameters:
        # Here, since torch's averagers import sympy, for which every run would wait half a second.
        from dpscale.studies.local_sgd.measure.processes import SeparateTeam

        return SeparateTeam
    return StackedTeam


def _evaluation(network: nn.Module, task: Task, run: _Run) -> dict[str, Any]:
    """Loss and accuracies of the mean of the learners; of training on the labels it learns from,
    without augmentation."""
    batch = run.spec.per_worker_batch or 1
    found = {
        name: evaluate(network, getattr(task, name), task, run.place.device, batch=batch)
        for name in ("train", "validation", "test")
    }
    accuracies = {f"{name}_accuracy_frac": accuracy for name, (_, accuracy) in found.items()}
    return accuracies | {f"{name}_loss": found[name][0] for name in ("train", "validation")}
