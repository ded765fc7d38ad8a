"""Q4: the largest batch that the device was found to hold, and the rate that goes with it."""

from dpscale.plan.spec import Spec, TrainingProtocol
from dpscale.studies.study import Completion, Earlier

# Q1 finds the largest batch without DDP, which keeps a second copy of the gradients and buffers.
DDP_SHARE = 0.9


def with_largest_batch(spec: "Spec[TrainingProtocol]", earlier: Earlier) -> Spec:
    """Return the spec with the largest batch that fits, and the rate of it.

    With several workers a share of it is left to DDP, and the batch is cut so that an epoch keeps
    `min_updates_per_epoch` updates.
    """
    # With no batch that fits the run itself says why not.
    fits = int(next(iter(earlier.derived["boundary"]["largest_fit_batch"].dropna()), 1))
    if spec.workers > 1:
        fits = max(1, int(fits * DDP_SHARE))
    most = earlier.train_samples // (spec.workers * spec.protocol.min_updates_per_epoch)
    return with_scaled_rate(spec.model_copy(update={"per_worker_batch": max(1, min(fits, most))}))


def with_scaled_rate(spec: "Spec[TrainingProtocol]") -> Spec:
    """Return the spec with its rate scaled from `lr_reference_batch`, where it asks for that.

    By the linear scaling rule (Goyal et al. 2017, section 2.1).
    """
    reference, batch = spec.protocol.lr_reference_batch, spec.per_worker_batch
    if reference is None or batch is None:
        return spec
    lr = spec.training.lr * (batch * spec.workers / reference)
    return spec.model_copy(update={"training": spec.training.model_copy(update={"lr": lr})})


def _of_boundary(spec: Spec, other: Spec) -> bool:
    return other.study in ("sweep", "boundary")


BY_BOUNDARY = Completion(_of_boundary, with_largest_batch)
