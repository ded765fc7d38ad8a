"""S4: local and post-local SGD."""

import math
from collections.abc import Iterator, Sequence

from dpscale.config.root import Config
from dpscale.config.sections import ScheduleConfig
from dpscale.plan.spec import Spec, build_spec, network_of
from dpscale.studies.local_sgd import LOCAL
from dpscale.studies.local_sgd.config import LocalArm, LocalProtocol, LocalSgdConfig


def runs(config: Config, study: LocalSgdConfig) -> Iterator[Spec]:
    """The five arms in every regime: a run each, but for A2 and A5, which share one.

    A1: mini-batch SGD of few learners; A2: of all; A3: of all with a batch `huge_factor` times as
    large; A4: local SGD; A5: mini-batch SGD up to the first fall of the rate, then local SGD (Lin
    et al., ICLR 2020, section 3). Rates are scaled linearly with the global batch, by gradual
    warm-up from that of one learner (Goyal et al. 2017, section 2).
    """

    def local(name: str, every: int, from_epoch: int) -> LocalArm:
        """An arm with local steps."""
        return LocalArm(name=f"{name} H={every}", local_steps=every, local_from_epoch=from_epoch)

    post_local = [local("A5", every, study.decay_epochs[0]) for every in study.post_local_steps]
    batch, huge = study.per_worker_batch, study.per_worker_batch * study.huge_factor
    for noise_frac in study.label_noise_fracs:
        for name, learners, own_batch, arms in (
            ("a1", study.small_workers, batch, [LocalArm(name="A1")]),
            ("a2-a5", study.workers, batch, [LocalArm(name="A2"), *post_local]),
            ("a3", study.workers, huge, [LocalArm(name="A3")]),
            ("a4", study.workers, batch, [local("A4", study.local_steps, 0)]),
        ):
            run = f"local_sgd-noise{100 * noise_frac:.12g}-{name}"
            yield _spec(config, study, run, learners, own_batch, arms, noise_frac)


def _spec(
    config: Config,
    study: LocalSgdConfig,
    run: str,
    learners: int,
    batch: int,
    arms: Sequence[LocalArm],
    noise_frac: float,
) -> Spec:
    processes = math.gcd(study.processes, learners)
    scale = learners * batch / study.per_worker_batch  # of the global batch, over one learner's
    data = {"loader": "resident", "loader_workers": 0, "augment": study.augment}
    protocol = LocalProtocol(
        expected=study.expected,
        learners=learners,
        arms=tuple(arms),
        rate_factors=study.rate_factors,
        rate_extensions=study.rate_extensions,
        tuning_seeds=study.tuning_seeds,
        label_noise_frac=noise_frac,
        evaluate_epochs=study.evaluate_epochs,
        stacked_samples=study.stacked_samples,
    )
    return build_spec(
        config,
        LOCAL,
        run=run,
        study="local_sgd",
        arm="+".join(arm.name for arm in arms),
        workers=processes,
        per_worker_batch=batch * learners // processes,
        seeds=study.seeds,
        data=config.data.model_copy(update=data),
        model=network_of(config, study.model),
        training=config.training.model_copy(update=_training(study, scale)),
        protocol=protocol,
    )


def _training(study: LocalSgdConfig, scale: float) -> dict[str, object]:
    """What is its own of the training with a global batch that is `scale` times one learner's."""
    schedule = ScheduleConfig(
        warmup="gradual" if study.warmup_epochs and scale > 1 else "none",
        warmup_epochs=study.warmup_epochs,
        warmup_start_factor=1 / scale,
        decay="step",
        decay_epochs=study.decay_epochs,
        decay_factor=study.decay_factor,
    )
    return {
        "optimizer": "sgd",
        "lr": study.base_lr * scale,
        "momentum": study.momentum,
        "nesterov": study.nesterov,
        "weight_decay": study.weight_decay,
        "epochs": study.epochs,
        "schedule": schedule,
    }


PLANS = {"local_sgd": runs}
