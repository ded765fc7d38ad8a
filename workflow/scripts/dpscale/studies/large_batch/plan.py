"""Q4: trainings with a small batch, a large one, and remedies."""

from collections.abc import Iterator

from dpscale.config import Config
from dpscale.plan.spec import TRAINING, Spec, build_spec
from dpscale.studies.large_batch.config import LargeBatchConfig


def runs(config: Config, study: LargeBatchConfig) -> Iterator[Spec]:
    """Q4: the small batch, the large one, and the large one with each remedy."""
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
                TRAINING,
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


PLANS = {"large_batch": runs}
