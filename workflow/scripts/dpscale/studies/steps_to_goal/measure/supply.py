"""S1: the batches of trials, which trials of one seed share."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import cast

import torch
from torch.utils._pytree import tree_map

from dpscale.train.data import Batch, Dataset, Loader, Task, build_loader, entries, on_device
from dpscale.train.data.augmentation import Normalise

Drawn = tuple[Batch, bool]  # a batch, and whether all trials share it


def loader(
    task: Task, batch: int, seed: int, device: torch.device, loader_workers: int = 0
) -> Loader:
    """Batches of the whole training split in the order of a seed; images are made on the device.

    loader_workers: of samples of a user's own.
    """
    return build_loader(
        task.train, task, loader="resident", batch=batch, workers=1, rank=0, seed=seed,
        augment=False, device=device, loader_workers=loader_workers,
    )  # fmt: skip


def supply(
    task: Task, batch: int, seeds: Sequence[int], device: torch.device, loader_workers: int = 0
) -> Iterator[Drawn]:
    """Batches without end for trials of these seeds: [k, b, ...], or [b, ...] of a single seed.

    An epoch is a new order; the samples that fill no whole batch are left out of it.
    """
    distinct = list(dict.fromkeys(seeds))
    loaders = [loader(task, batch, seed, device, loader_workers) for seed in distinct]
    made = (
        _selected(task, loaders, device)
        if isinstance(task, Dataset)
        else _collected(loaders, device)
    )
    places = torch.tensor([distinct.index(seed) for seed in seeds], device=device)
    for one in made:
        if len(distinct) == 1:
            yield entries(one, 0), True
        else:
            yield (one if distinct == list(seeds) else entries(one, places)), False


def _selected(dataset: Dataset, loaders: Sequence[Loader], device: torch.device) -> Iterator[Batch]:
    """What each loader of images would yield, by one selection for all of them."""
    images, labels = dataset.train.images.to(device), dataset.train.labels.to(device)
    normalise = Normalise(dataset.mean, dataset.std, device)
    for epoch in count(1):
        orders = torch.stack([one.order(epoch) for one in loaders]).to(device)
        for indices in orders.split(loaders[0].batch, dim=-1):
            yield normalise(images[indices]), labels[indices]


def _collected(loaders: Sequence[Loader], device: torch.device) -> Iterator[Batch]:
    """What each loader yields, stacked tensor by tensor."""
    for epoch in count(1):
        for batches in zip(*(one.batches(epoch) for one in loaders), strict=True):
            yield stacked(batches, device)


def stacked(batches: Sequence[Batch], device: torch.device) -> Batch:
    """Batches as one, [k, b, ...], on the device."""
    apart = [on_device(one, device) for one in batches]
    return cast(Batch, tree_map(lambda *parts: torch.stack(parts), *apart))
