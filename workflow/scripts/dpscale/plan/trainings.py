"""Q4, Q5, Q7: trainings whose loss and accuracy are compared."""

from collections.abc import Iterator

from dpscale.config.root import Config
from dpscale.plan.spec import Spec, build_spec


def large_batch(config: Config) -> Iterator[Spec]:
    """Q4: the small batch, the large one, and the large one with each remedy."""
    study = config.large_batch
    if study is None:
        return
    training = config.training.model_copy(update={"epochs": study.epochs})
    warm = training.model_copy(
        update={
            "schedule": training.schedule.model_copy(
                update={"warmup": "gradual", "warmup_epochs": study.warmup_epochs}
            )
        }
    )
    small_batch = study.small_per_worker_batch
    reference = small_batch * study.workers
    zero_gamma = config.model.model_copy(update={"zero_gamma": True})
    longer = training.model_copy(update={"epochs": study.more_epochs})
    arms: dict[str, dict[str, object]] = {
        "small": {"training": training, "per_worker_batch": small_batch},
        "large": {"training": training},
        "linear_scaling": {"training": training, "lr_reference_batch": reference},
        "warmup": {"training": warm, "lr_reference_batch": reference},
        "zero_gamma": {"training": warm, "lr_reference_batch": reference, "model": zero_gamma},
        "more_epochs": {"training": longer},
    }
    for arm, fields in arms.items():
        if arm in ("small", "large", *study.remedies):
            yield build_spec(
                config,
                "training",
                **{
                    "run": f"large_batch-{arm}-n{study.workers}",
                    "study": "large_batch",
                    "arm": arm,
                    "workers": study.workers,
                    "per_worker_batch": study.large_per_worker_batch,
                    "min_updates_per_epoch": study.min_updates_per_epoch,
                    "seeds": study.seeds,
                    **fields,
                },
            )


def replicas(config: Config) -> Iterator[Spec]:
    """Q5 and Q7: the usual training, one without set_epoch, one without buffer broadcast."""
    study = config.replicas
    if study is None:
        return
    arms: dict[str, dict[str, bool]] = {
        "baseline": {},
        "without_set_epoch": {"set_epoch": False},
        "no_broadcast": {"broadcast_buffers": False},
    }
    for arm, fields in arms.items():
        yield build_spec(
            config,
            "training",
            run=f"replicas-{arm}-n{study.workers}-b{study.per_worker_batch}",
            study="replicas",
            arm=arm,
            workers=study.workers,
            per_worker_batch=study.per_worker_batch,
            seeds=study.seeds,
            training=config.training.model_copy(update={"epochs": study.epochs}),
            **fields,
        )
