"""S3: trainings of k learners by synchronous model averaging, or by synchronous SGD.

The arms of a run are trained in turn, from one evaluation to the next: what disturbs the machine
disturbs all of them, so that their seconds can be set against each other.
"""

from dpscale.plan import Spec
from dpscale.studies.model_averaging.config import AveragingArm, AveragingProtocol
from dpscale.studies.model_averaging.measure.trainees import build_trainee
from dpscale.train.data import Task, build_loader
from dpscale.train.measurement import Measurement
from dpscale.train.network import seeded_network
from dpscale.train.progress import Meter
from dpscale.train.training import (
    Supply,
    Training,
    Trial,
    divergence,
    epoch_stops,
    seen,
    settings,
    tables,
)
from dpscale.train.worker import Place

WARMUP_STEPS = 3  # of a trainee that is thrown away: the first steps build what later ones reuse


def measure_averaging(spec: "Spec[AveragingProtocol]", task: Task, place: Place) -> Measurement:
    """The trials of a run; a loss that is not finite ends that trial and makes it `diverged`."""
    protocol = spec.protocol
    if any(arm.role == "rate" for arm in protocol.arms):
        task.require_a_score("model_averaging.rates")
    trainings = [
        _training(spec, task, place, arm, seed) for seed in spec.seeds for arm in protocol.arms
    ]
    rounds = spec.training.epochs * protocol.evaluations_per_epoch
    meter = Meter(spec.run, "evaluation", rounds, shown=place.leads)
    while unfinished := [training for training in trainings if not training.ended]:
        for training in unfinished:
            training.advance()
        (trial,) = unfinished[0].trials
        meter.step(note=f"{trial.settings['arm']}: {seen(trial.curve[-1])}")
    trials = [trial for training in trainings for trial in training.trials]
    return Measurement(message=divergence(trials), fields=tables(trials))


def _training(
    spec: "Spec[AveragingProtocol]", task: Task, place: Place, arm: AveragingArm, seed: int
) -> Training:
    """One arm of a seed, ready to train; what its first steps build is built."""
    protocol, epochs = spec.protocol, spec.training.epochs
    # One loader for all that this process trains, so that loading costs every arm alike.
    loader = build_loader(
        task.train,
        task,
        loader="resident",
        workers=place.workers,
        rank=place.rank,
        batch=arm.learners * arm.batch // place.workers,
        seed=seed,
        augment=spec.data.augment,
        device=place.device,
    )
    steps = len(loader)
    warming, trainee = (
        build_trainee(seeded_network(spec, task, seed), task, arm, spec.training, place, steps)
        for _ in range(2)
    )
    for batch, _ in zip(loader.batches(0), range(WARMUP_STEPS), strict=False):
        warming.step(batch)
    trial = Trial(
        seed,
        settings(
            spec,
            role=arm.role,
            arm=arm.name,
            optimizer=arm.algorithm,
            learners=arm.learners,
            per_learner_batch=arm.batch,
            global_batch=arm.learners * arm.batch,
            lr=arm.lr,
            local_steps=arm.tau,
            alpha=arm.alpha,
            median_of=protocol.median_of,
            target_accuracy_frac=protocol.target_accuracy_frac,
        ),
    )
    stops = epoch_stops(steps, epochs, parts=protocol.evaluations_per_epoch)
    return Training([trial], trainee, Supply(loader), stops, max_steps=epochs * steps)
