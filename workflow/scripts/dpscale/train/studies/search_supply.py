"""S1: what the trials of one batch size train on, batch by batch."""

from collections.abc import Iterator, Sequence
from itertools import count

import torch

from dpscale.train.data import Dataset, Loader, build_loader
from dpscale.train.data.augmentation import Normalise
from dpscale.train.studies.search_race import Drawn


def loader(dataset: Dataset, batch: int, seed: int, device: torch.device) -> Loader:
    """Batches of the whole training split in the order of a seed, made on the device."""
    return build_loader(
        dataset.train, dataset, loader="resident", batch=batch, workers=1, rank=0, seed=seed,
        augment=False, device=device,
    )  # fmt: skip


def supply(
    dataset: Dataset, batch: int, seeds: Sequence[int], device: torch.device
) -> Iterator[Drawn]:
    """Batches without end for trials of these seeds; trials of one seed share theirs.

    An epoch is a new order; the samples that fill no whole batch are left out of it.
    """
    loaders = {seed: loader(dataset, batch, seed, device) for seed in seeds}
    places = torch.tensor([list(loaders).index(seed) for seed in seeds], device=device)
    shared = len(loaders) == 1
    images, labels = dataset.train.images.to(device), dataset.train.labels.to(device)
    normalise = Normalise(dataset.mean, dataset.std, device)
    for epoch in count(1):
        # One selection for all trials: what each loader would yield, without a call for each.
        orders = torch.stack([one.order(epoch) for one in loaders.values()]).to(device)
        for indices in (orders[0] if shared else orders[places]).split(batch, dim=-1):
            yield normalise(images[indices]), labels[indices], shared
