"""Q4: trainings with a small batch, a large one, and remedies."""

from collections.abc import Iterator

from dpscale.config import Config
from dpscale.plan.spec import TRAINING, Spec, TrainingProtocol, build_spec
from dpscale.studies.large_batch.config import LargeBatchConfig
from dpscale.studies.large_batch.largest import with_scaled_rate
from dpscale.studies.large_batch.remedies import REMEDIES, Fields, with_remedy

BY_BOUNDARY = "dpscale.studies.large_batch.largest:BY_BOUNDARY"


def runs(config: Config, study: LargeBatchConfig) -> Iterator[Spec]:
    """Q4: the small batch, the large one, and the large one with each remedy."""
    large: Fields = {
        "training": config.training.model_copy(update={"epochs": study.epochs}),
        "model": config.model,
        "protocol": TrainingProtocol(min_updates_per_epoch=study.min_updates_per_epoch),
        "per_worker_batch": study.large_per_worker_batch,
    }
    small = large | {"per_worker_batch": study.small_per_worker_batch}
    arms = {"small": small, "large": large}
    arms |= {name: with_remedy(name, large, study) for name in study.remedies}
    for arm in ("small", "large", *(name for name in REMEDIES if name in arms)):
        spec = build_spec(
            config,
            TRAINING,
            run=f"large_batch-{arm}-n{study.workers}",
            study="large_batch",
            arm=arm,
            workers=study.workers,
            seeds=study.seeds,
            **arms[arm],
        )
        if spec.per_worker_batch is None:
            yield spec.model_copy(update={"completed_by": BY_BOUNDARY})
        else:
            yield with_scaled_rate(spec)


PLANS = {"large_batch": runs}
