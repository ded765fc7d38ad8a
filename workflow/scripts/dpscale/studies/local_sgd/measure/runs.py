"""S4: trainings of K learners by mini-batch, local and post-local SGD.

Lin et al., Don't Use Large Mini-Batches, Use Local SGD (ICLR 2020, arXiv:1808.07217), algorithms
1 and 2. The first arm of a run chooses the rate on validation data; each arm then trains with
that rate from each seed, so that arms of one seed start alike and see the same batches.
"""

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import torch

from dpscale.plan import Spec
from dpscale.studies.local_sgd.config import LocalArm, LocalProtocol
from dpscale.studies.local_sgd.measure.team import StackedTeam, Team
from dpscale.train.data import Dataset, Split, Task
from dpscale.train.machine.device import set_backends
from dpscale.train.measurement import Measurement
from dpscale.train.network import seeded_network
from dpscale.train.optim import learning_rate
from dpscale.train.progress import Meter
from dpscale.train.training import Supply, Training, Trial, epoch_stops, settings, tables
from dpscale.train.worker import Place, build_spec_loader

SPLITS = ("train", "validation", "test")  # of the first without augmentation


@dataclass
class _Run:
    """What the trainings of a run share, and their trials."""

    spec: Spec
    protocol: LocalProtocol
    task: Task
    place: Place
    meter: Meter
    trials: list[Trial] = field(default_factory=list)


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
    evaluations = math.ceil(spec.training.epochs / protocol.evaluate_epochs)
    meter = Meter(spec.run, "evaluation", evaluations, parts=trainings, shown=place.leads)
    run = _Run(spec, protocol, task, place, meter)
    factor = _chosen_factor(run) if tuned else protocol.rate_factors[0]
    for arm in protocol.arms:
        for seed in spec.seeds:
            _train(run, arm, seed, factor, role="result")
    return Measurement(fields=tables(run.trials))


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
    trials = [_train(run, arm, seed, factor, role="tuning") for seed in seeds]
    seen = [trial.curve[-1].get("validation_accuracy_frac") for trial in trials]
    known = [accuracy for accuracy in seen if accuracy is not None]
    mean = statistics.fmean(known) if len(known) == len(seen) else -math.inf
    return float(run.place.share(mean)[0])  # rank 0 evaluates


def _train(run: _Run, arm: LocalArm, seed: int, factor: float, *, role: str) -> Trial:
    """One training; returns its trial."""
    spec, place, protocol, training = run.spec, run.place, run.protocol, run.spec.training
    assert spec.per_worker_batch is not None
    tried = f", trying {factor:g} times the rate" if role == "tuning" else ""
    run.meter.begin(f"{arm.name}, seed {seed}{tried}")
    # A seed of its own, so that labels and batches are drawn apart.
    task = with_wrong_labels(run.task, protocol.label_noise_frac, seed=1000 + seed)
    # Batches of all learners of this worker at once: `Team.step` deals them out.
    loader = build_spec_loader(spec, task, place, seed=seed)
    first, lr = arm.local_from_epoch, training.lr * factor
    local_from = None if first is None else first * len(loader)
    team = _team(run, task, arm, seed, lr=lr, local_from=local_from, steps_per_epoch=len(loader))
    trial = Trial(
        seed,
        settings(
            spec,
            role=role,
            arm=arm.name,
            lr=lr,
            learners=protocol.learners,
            optimizer="nesterov" if training.nesterov else "momentum",
            per_learner_batch=spec.per_worker_batch * spec.workers // protocol.learners,
            local_steps=arm.local_steps,
            label_noise_frac=protocol.label_noise_frac,
            rate_factor=factor,
            local_from_step=local_from,
        ),
    )
    run.trials.append(trial)
    stops = epoch_stops(len(loader), training.epochs, every=protocol.evaluate_epochs)
    Training(
        [trial],
        team,
        Supply(loader),
        stops,
        max_steps=training.epochs * len(loader),
        splits=SPLITS,
        meter=run.meter,
    ).run()
    return trial


def _team(
    run: _Run,
    task: Task,
    arm: LocalArm,
    seed: int,
    *,
    lr: float,
    local_from: int | None,
    steps_per_epoch: int,
) -> Team:
    """The learners of a training; local_from: number of their first local step."""
    spec, training, learners = run.spec, run.spec.training, run.protocol.learners
    team = _team_of(task, run.place.workers, learners)(
        seeded_network(spec, task, seed),
        task,
        run.place,
        training,
        local_steps=arm.local_steps,
        local_from=local_from,
        learners=learners // run.place.workers,
        rate=partial(
            learning_rate,
            base_lr=lr,
            schedule=training.schedule,
            steps_per_epoch=steps_per_epoch,
            epochs=training.epochs,
        ),
    )
    team.evaluation_batch = spec.per_worker_batch or 1
    return team


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
