"""Q4: trainings with a small batch, a large one, found by Q1 or given, remedies and a control."""

from collections.abc import Iterator

from dpscale.config import Config
from dpscale.plan.spec import TRAINING, Spec, TrainingProtocol, build_spec
from dpscale.studies.large_batch.config import LargeBatchConfig
from dpscale.studies.large_batch.remedies import CONTROL, REMEDIES, SCALED, Fields, with_remedy
from dpscale.studies.study import Completion, Earlier

BY_BOUNDARY = "dpscale.studies.large_batch.plan:LARGEST"
# Q1 finds the largest batch without DDP, which keeps a second copy of the gradients and buffers.
DDP_SHARE = 0.9


def runs(config: Config, study: LargeBatchConfig) -> Iterator[Spec]:
    """Q4: the small batch, at the scaled rate too, the large one, and that with each remedy."""
    large: Fields = {
        "training": config.training.model_copy(update={"epochs": study.epochs}),
        "model": config.model,
        "protocol": TrainingProtocol(min_updates_per_epoch=study.min_updates_per_epoch),
        "per_worker_batch": study.large_per_worker_batch,
    }
    small = large | {"per_worker_batch": study.small_per_worker_batch}
    arms = {"small": small}
    if SCALED in study.remedies:
        arms[CONTROL] = with_remedy(SCALED, small, study)
    arms["large"] = large
    arms |= {name: with_remedy(name, large, study) for name in REMEDIES if name in study.remedies}
    for arm, fields in arms.items():
        spec = build_spec(
            config,
            TRAINING,
            run=f"large_batch-{arm}-n{study.workers}",
            study="large_batch",
            arm=arm,
            workers=study.workers,
            seeds=study.seeds,
            **fields,
        )
        if arm == "small":
            yield spec
        elif study.large_per_worker_batch is None:
            yield spec.model_copy(update={"completed_by": BY_BOUNDARY})
        else:
            yield with_large_batch(spec, study.large_per_worker_batch)


def with_largest_batch(spec: "Spec[TrainingProtocol]", earlier: Earlier) -> Spec:
    """Return the spec as the largest batch that fits makes it whole.

    With several workers a share of it is left to DDP, and the batch is cut so that an epoch keeps
    `min_updates_per_epoch` updates.
    """
    # With no batch that fits the run itself says why not.
    fits = int(next(iter(earlier.derived["boundary"]["largest_fit_batch"].dropna()), 1))
    if spec.workers > 1:
        fits = max(1, int(fits * DDP_SHARE))
    most = earlier.train_samples // (spec.workers * spec.protocol.min_updates_per_epoch)
    return with_large_batch(spec, max(1, min(fits, most)))


def with_large_batch(spec: "Spec[TrainingProtocol]", batch: int) -> Spec:
    """Return the spec with the large batch, where it has none, and the rate of it, where it asks.

    From `lr_reference_batch`, by the linear scaling rule (Goyal et al. 2017, section 2.1).
    """
    whole = spec.model_copy(update={"per_worker_batch": spec.per_worker_batch or batch})
    reference = spec.protocol.lr_reference_batch
    if reference is None:
        return whole
    lr = spec.training.lr * (batch * spec.workers / reference)
    return whole.model_copy(update={"training": spec.training.model_copy(update={"lr": lr})})


def _of_boundary(spec: Spec, other: Spec) -> bool:
    return other.study in ("sweep", "boundary")


LARGEST = Completion(_of_boundary, with_largest_batch)
PLANS = {"large_batch": runs}
