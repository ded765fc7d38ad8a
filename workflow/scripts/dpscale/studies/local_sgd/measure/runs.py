"""S4: trainings of K learners by mini-batch, local and post-local SGD.

Lin et al., Don't Use Large Mini-Batches, Use Local SGD (ICLR 2020, arXiv:1808.07217), algorithms
1 and 2. The first arm of a run chooses the rate on validation data; each arm then trains with
that rate from each seed, so that arms of one seed start alike and see the same batches. Seeds train
side by side, as many as `stacked_samples` allows.
"""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

import torch
from torch.utils._pytree import tree_map

from dpscale.plan import Spec
from dpscale.studies.local_sgd.config import LocalArm, LocalProtocol
from dpscale.studies.local_sgd.measure.team import StackedTeam, Team
from dpscale.train.data import Batch, Dataset, Loader, Split, Task
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

    @property
    def kind(self) -> type[Team]:
        """What trains the learners."""
        return _team_of(self.task, self.place.workers, self.protocol.learners)

    def stacks(self, seeds: Sequence[int]) -> list[Sequence[int]]:
        """The seeds in stacks of those that train side by side."""
        assert self.spec.per_worker_batch is not None
        most = self.protocol.stacked_samples // self.spec.per_worker_batch
        size = max(1, most) if self.kind is StackedTeam else 1
        return [seeds[first : first + size] for first in range(0, len(seeds), size)]


def measure_local(spec: "Spec[LocalProtocol]", task: Task, place: Place) -> Measurement:
    """The trials of a run: those that choose the rate (role "tuning"), and the results.

    A loss that is not finite ends a trial as "diverged"; the run itself is complete.
    """
    protocol = spec.protocol
    set_backends(spec.training)
    tuned = len(protocol.rate_factors) > 1
    if tuned:
        task.require_a_score("local_sgd.rate_factors")
    evaluations = math.ceil(spec.training.epochs / protocol.evaluate_epochs)
    meter = Meter(spec.run, "evaluation", evaluations, parts=0, shown=place.leads)
    run = _Run(spec, protocol, task, place, meter)
    meter.extend(len(protocol.arms) * len(run.stacks(spec.seeds)))
    if tuned:
        meter.extend(len(protocol.rate_factors) * len(run.stacks(protocol.tuning_seeds)))
    factor = _chosen_factor(run) if tuned else protocol.rate_factors[0]
    for arm in protocol.arms:
        _train(run, arm, spec.seeds, factor, role="result")
    return Measurement(fields=tables(run.trials))


def _chosen_factor(run: _Run) -> float:
    """The share of the scaled rate of the best mean validation accuracy.

    One that diverged with any seed is not chosen, unless all did: then the smallest.
    """
    found = {factor: _accuracy(run, factor) for factor in sorted(run.protocol.rate_factors)}
    for _ in range(run.protocol.rate_extensions):
        if (further := share_beyond(found)) is None:
            break
        run.meter.extend(len(run.stacks(run.protocol.tuning_seeds)))
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
    trials = _train(run, arm, seeds, factor, role="tuning")
    seen = [trial.curve[-1].get("validation_accuracy_frac") for trial in trials]
    known = [accuracy for accuracy in seen if accuracy is not None]
    mean = statistics.fmean(known) if len(known) == len(seen) else -math.inf
    return float(run.place.share(mean)[0])  # rank 0 evaluates


def _train(
    run: _Run, arm: LocalArm, seeds: Sequence[int], factor: float, *, role: str
) -> list[Trial]:
    """A training of each seed, in stacks; returns the trials."""
    trials = []
    for stack in run.stacks(seeds):
        words = f"{arm.name}, seed {' '.join(map(str, stack))}"
        run.meter.begin(words + (f", trying {factor:g} times the rate" if role == "tuning" else ""))
        trials += _train_stack(run, arm, stack, factor, role=role)
    run.trials += trials
    return trials


def _train_stack(
    run: _Run, arm: LocalArm, seeds: Sequence[int], factor: float, *, role: str
) -> list[Trial]:
    """A training of each seed, side by side; returns the trials."""
    spec, protocol, training = run.spec, run.protocol, run.spec.training
    # A seed of its own, so that labels and batches are drawn apart.
    noise_frac = protocol.label_noise_frac
    tasks = [with_wrong_labels(run.task, noise_frac, seed=1000 + seed) for seed in seeds]
    # Batches of all learners of this worker at once: `Team.step` deals them out.
    seeded = list(zip(tasks, seeds, strict=True))
    batches = _SideBySide(
        [build_spec_loader(spec, task, run.place, seed=seed) for task, seed in seeded]
    )
    first, lr, steps = arm.local_from_epoch, training.lr * factor, len(batches)
    local_from = None if first is None else first * steps
    given = settings(
        spec,
        role=role,
        arm=arm.name,
        lr=lr,
        learners=protocol.learners,
        optimizer="nesterov" if training.nesterov else "momentum",
        per_learner_batch=(spec.per_worker_batch or 0) * spec.workers // protocol.learners,
        local_steps=arm.local_steps,
        label_noise_frac=noise_frac,
        rate_factor=factor,
        local_from_step=local_from,
    )
    epochs, schedule = training.epochs, training.schedule
    at_step = partial(learning_rate, schedule=schedule, steps_per_epoch=steps, epochs=epochs)
    team = run.kind(
        [seeded_network(spec, task, seed) for task, seed in seeded],
        tasks,
        run.place,
        training,
        local_steps=arm.local_steps,
        local_from=local_from,
        learners=protocol.learners // run.place.workers,
        rate=partial(at_step, base_lr=lr),
    )
    team.evaluation_batch = spec.per_worker_batch or 1
    return Training(
        [Trial(seed, dict(given)) for seed in seeds],
        team,
        Supply(batches),
        epoch_stops(steps, epochs, every=protocol.evaluate_epochs),
        max_steps=epochs * steps,
        splits=SPLITS,
        meter=run.meter,
    ).run()


class _SideBySide:
    """Batches of some seeds, [seeds, b, ...] each, every seed in the order of its loader."""

    def __init__(self, loaders: Sequence[Loader]) -> None:
        self._loaders = loaders

    def __len__(self) -> int:
        """Batches in an epoch."""
        return len(self._loaders[0])

    def batches(self, epoch: int) -> Iterator[Batch]:
        """Yield the batches of an epoch, counted from 1."""
        for batches in zip(*(one.batches(epoch) for one in self._loaders), strict=True):
            yield cast(Batch, tree_map(lambda *parts: torch.stack(parts), *batches))


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
