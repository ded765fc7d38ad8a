"""S3: synchronous model averaging with several learners a device.

Each seed is a run of all arms, trained in turn, so that whatever else the machine does falls on
all of them; the rates tried on validation data are a run of their own.
"""

from collections.abc import Iterator, Sequence

from dpscale.config.root import Config
from dpscale.config.sections import ScheduleConfig
from dpscale.plan.spec import Spec, build_spec, launches, network_of
from dpscale.studies.model_averaging import AVERAGING, LEARNERS
from dpscale.studies.model_averaging.config import (
    AveragingArm,
    AveragingProtocol,
    LearnersCell,
    LearnersProtocol,
    ModelAveragingConfig,
)

STUDY = "model_averaging"


def runs(config: Config, study: ModelAveragingConfig) -> Iterator[Spec]:
    """The runs of the study."""
    for seed in study.seeds:
        yield _training(config, study, f"seed{seed}", arms(study), (seed,), study.epochs)
    if tried := rate_arms(study):
        yield _training(config, study, "rates", tried, study.rate_seeds, study.rate_epochs)
    for cell in study.cells:
        yield from launches(config, _learners(config, study, cell), study.launches)


def arms(study: ModelAveragingConfig) -> list[AveragingArm]:
    """The arms that are compared: the rate of SGD with the small batch, scaled or not.

    Model averaging has that rate as the paper has it, and in further arms one of its own.
    """
    k, b = study.learners, study.per_learner_batch
    sgd = [
        ("sgd_small", b, study.lr),
        ("sgd_large", k * b, study.lr),
        ("sgd_large_linear", k * b, k * study.lr),
    ]
    averaged = [("sma", study.lr)]
    averaged += [("sma_tuned", study.averaging_lr)] if study.averaging_lr != study.lr else []
    return [
        AveragingArm(name=name, algorithm="sgd", learners=1, batch=batch, lr=lr)
        for name, batch, lr in sgd
    ] + [
        _averaged(study, f"{name} α = {alpha}", alpha, lr)
        for name, lr in averaged
        for alpha in study.alphas
    ]


def rate_arms(study: ModelAveragingConfig) -> list[AveragingArm]:
    """The trainings that try rates: SGD with the small batch, and model averaging."""
    small, first = arms(study)[0], study.alphas[0]
    tried = [small.model_copy(update={"lr": lr}) for lr in study.rates]
    tried += [_averaged(study, "sma", first, lr) for lr in study.averaging_rates]
    return [arm.model_copy(update={"role": "rate"}) for arm in tried]


def _averaged(
    study: ModelAveragingConfig, name: str, alpha: str | float, lr: float
) -> AveragingArm:
    k = study.learners
    return AveragingArm(
        name=name,
        algorithm="sma",
        learners=k,
        batch=study.per_learner_batch,
        lr=lr,
        alpha=1 / k if isinstance(alpha, str) else alpha,
        tau=study.tau,
    )


def _training(
    config: Config,
    study: ModelAveragingConfig,
    name: str,
    arms: Sequence[AveragingArm],
    seeds: tuple[int, ...],
    epochs: int,
) -> Spec:
    schedule = ScheduleConfig(
        decay="step" if study.decay_epochs else "none",
        decay_epochs=study.decay_epochs,
        decay_factor=study.decay_factor,
    )
    training = {
        "optimizer": "sgd",
        "lr": study.lr,
        "momentum": study.momentum,
        "nesterov": False,
        "weight_decay": study.weight_decay,
        "epochs": epochs,
        "schedule": schedule,
    }
    return build_spec(
        config,
        AVERAGING,
        run=f"{STUDY}-{name}",
        study=STUDY,
        workers=study.workers,
        per_worker_batch=study.per_learner_batch,
        seeds=seeds,
        data=config.data.model_copy(update={"loader": "resident", "loader_workers": 0}),
        model=network_of(config, study.model),
        training=config.training.model_copy(update=training),
        protocol=AveragingProtocol(
            expected=study.expected,
            arms=tuple(arms),
            median_of=study.median_of,
            evaluations_per_epoch=study.evaluations_per_epoch,
            target_accuracy_frac=study.target_accuracy_frac,
        ),
    )


def _learners(config: Config, study: ModelAveragingConfig, cell: LearnersCell) -> Spec:
    resident = {"loader": "resident", "loader_workers": 0, "augment": False}
    return build_spec(
        config,
        LEARNERS,
        run=f"{STUDY}-learners-{cell.model or config.model.name}-b{cell.batch}",
        study=STUDY,
        workers=1,
        per_worker_batch=cell.batch,
        data=config.data.model_copy(update=resident),
        model=network_of(config, cell.model),
        protocol=LearnersProtocol(
            max_learners=study.max_learners,
            threshold_frac=study.threshold_frac,
            repeats=study.repeats,
            repeat_s=study.repeat_s,
        ),
    )


PLANS = {"model_averaging": runs}
