"""Which batches each learner of an arm of S3 sees."""

from collections.abc import Iterator

from dpscale.config.model_averaging import AveragingArm
from dpscale.plan import Spec
from dpscale.train.data import Batch, Dataset, Loader, build_loader
from dpscale.train.stacked import stacked_batches
from dpscale.train.worker import Place


def loaders_of(
    arm: AveragingArm, seed: int, spec: Spec, dataset: Dataset, place: Place
) -> list[Loader]:
    """One loader a learner of this process; a batch of SGD is shared out to the processes."""
    if arm.algorithm == "sma":
        own = arm.learners // place.workers
        places = [(place.rank * own + index, arm.learners) for index in range(own)]
        batch = arm.batch
    else:
        places, batch = [(place.rank, place.workers)], arm.batch // place.workers
    return [
        build_loader(
            dataset.train, dataset, loader="resident", batch=batch, workers=workers, rank=rank,
            seed=seed, augment=spec.data.augment, device=place.device,
        )
        for rank, workers in places
    ]  # fmt: skip


def batches_of(arm: AveragingArm, loaders: list[Loader], epoch: int) -> Iterator[Batch]:
    """The batches of an epoch: of learners [learners, b, ...], of one model [b, ...]."""
    return stacked_batches(loaders, epoch) if arm.algorithm == "sma" else loaders[0].batches(epoch)
