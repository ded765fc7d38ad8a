"""S3: synchronous model averaging with several learners a device.

Each seed is a run of all arms, trained in turn, so that whatever else the machine does falls on
all of them; the rates tried on validation data are a run of their own.
"""

from collections.abc import Iterator, Sequence

from dpscale.config.model_averaging import (
    AveragingArm,
    AveragingProtocol,
    LearnersProtocol,
    ModelAveragingConfig,
)
from dpscale.config.root import Config
from dpscale.config.sections import ScheduleConfig
from dpscale.plan.spec import Spec, build_spec

STUDY = "model_averaging"
SMALL, LARGE, LINEAR = "sgd_small", "sgd_large", "sgd_large_linear"
AVERAGED, TUNED = "sma", "sma_tuned"  # with the weight of the corrections appended


def model_averaging(config: Config) -> Iterator[Spec]:
    """The runs of the study."""
    study = config.model_averaging
    if study is None:
        return
    for seed in study.seeds:
        yield _training(config, study, f"seed{seed}", arms(study), (seed,), study.epochs)
    if tried := rate_arms(study):
        yield _training(config, study, "rates", tried, study.rate_seeds, study.rate_epochs)
    yield from _learners(config, study)


def arms(study: ModelAveragingConfig) -> list[AveragingArm]:
    """The arms that are compared: the rate of SGD with the small batch, scaled or not.

    Model averaging has that rate as the paper has it, and in further arms one of its own.
    """
    k, b = study.learners, study.per_learner_batch
    found = [
        AveragingArm(name=SMALL, algorithm="sgd", learners=1, batch=b, lr=study.lr),
        AveragingArm(name=LARGE, algorithm="sgd", learners=1, batch=k * b, lr=study.lr),
        AveragingArm(name=LINEAR, algorithm="sgd", learners=1, batch=k * b, lr=k * study.lr),
    ]
    rates = {AVERAGED: study.lr} | (
        {TUNED: study.averaging_lr} if study.averaging_lr != study.lr else {}
    )
    for name, lr in rates.items():
        for alpha in study.alphas:
            found.append(_averaged(study, f"{name} α = {alpha}", alpha, lr))
    return found


def rate_arms(study: ModelAveragingConfig) -> list[AveragingArm]:
    """The trainings that try rates: SGD with the small batch, and model averaging."""
    small, first = arms(study)[0], study.alphas[0]
    tried = [small.model_copy(update={"lr": lr}) for lr in study.rates]
    tried += [_averaged(study, AVERAGED, first, lr) for lr in study.averaging_rates]
    return [arm.model_copy(update={"role": "rate"}) for arm in tried]


def _averaged(
    study: ModelAveragingConfig, name: str, alpha: str | float, lr: float
) -> AveragingArm:
    k = study.learners
    return AveragingArm(
        name=name, algorithm="sma", learners=k, batch=study.per_learner_batch, lr=lr,
        alpha=1 / k if isinstance(alpha, str) else alpha, tau=study.tau,
    )  # fmt: skip


def _training(
    config: Config,
    study: ModelAveragingConfig,
    name: str,
    arms: Sequence[AveragingArm],
    seeds: tuple[int, ...],
    epochs: int,
) -> Spec:
    schedule = ScheduleConfig(decay_factor=study.decay_factor)
    if study.decay_epochs:
        schedule = schedule.model_copy(update={"decay": "step", "decay_epochs": study.decay_epochs})
    return build_spec(
        config,
        "averaging",
        run=f"{STUDY}-{name}",
        study=STUDY,
        workers=study.workers,
        per_worker_batch=study.per_learner_batch,
        seeds=seeds,
        data=config.data.model_copy(update={"loader": "resident", "loader_workers": 0}),
        model=config.model.model_copy(update={"name": study.model}),
        training=config.training.model_copy(
            update={
                "optimizer": "sgd",
                "lr": study.lr,
                "momentum": study.momentum,
                "nesterov": False,
                "weight_decay": study.weight_decay,
                "epochs": epochs,
                "schedule": schedule,
            }
        ),
        averaging=AveragingProtocol(
            expected=study.expected,
            arms=tuple(arms),
            evaluations_per_epoch=study.evaluations_per_epoch,
            target_accuracy_frac=study.target_accuracy_frac,
            median_of=study.median_of,
        ),
    )


def _learners(config: Config, study: ModelAveragingConfig) -> Iterator[Spec]:
    for cell in study.cells:
        yield build_spec(
            config,
            "learners",
            run=f"{STUDY}-learners-{cell.model}-b{cell.batch}",
            study=STUDY,
            workers=1,
            per_worker_batch=cell.batch,
            data=config.data.model_copy(
                update={"loader": "resident", "loader_workers": 0, "augment": False}
            ),
            model=config.model.model_copy(update={"name": cell.model, "zero_gamma": False}),
            averaging=LearnersProtocol(
                max_learners=study.max_learners,
                threshold_frac=study.threshold_frac,
                repeats=study.repeats,
                repeat_s=study.repeat_s,
            ),
        )
