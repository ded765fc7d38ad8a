"""Q4: trainings with a small batch, a large one, and remedies."""

from collections.abc import Iterator

from dpscale.config import Config
from dpscale.plan.spec import TRAINING, Spec, TrainingProtocol, build_spec
from dpscale.studies.large_batch.config import LargeBatchConfig
from dpscale.studies.large_batch.largest import with_scaled_rate

BY_BOUNDARY = "dpscale.studies.large_batch.largest:BY_BOUNDARY"


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
    as_it_is = TrainingProtocol(min_updates_per_epoch=study.min_updates_per_epoch)
    scaled = as_it_is.model_copy(update={"lr_reference_batch": reference})
    arms: dict[str, dict[str, object]] = {
        "small": {"training": training, "per_worker_batch": small_batch},
        "large": {"training": training},
        "linear_scaling": {"training": training, "protocol": scaled},
        "warmup": {"training": warm, "protocol": scaled},
        "zero_gamma": {"training": warm, "protocol": scaled, "model": zero_gamma},
        "more_epochs": {"training": longer},
    }
    large_batch = study.large_per_worker_batch
    for arm, fields in arms.items():
        if arm in ("small", "large", *study.remedies):
            spec = build_spec(
                config,
                TRAINING,
                **{
                    "run": f"large_batch-{arm}-n{study.workers}",
                    "study": "large_batch",
                    "arm": arm,
                    "workers": study.workers,
                    "per_worker_batch": large_batch,
                    "protocol": as_it_is,
                    "seeds": study.seeds,
                    **fields,
                },
            )
            unknown = spec.per_worker_batch is None
            yield (
                spec.model_copy(update={"completed_by": BY_BOUNDARY})
                if unknown
                else with_scaled_rate(spec)
            )


PLANS = {"large_batch": runs}
