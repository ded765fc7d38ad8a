"""S1: the batches of trials, which trials of one seed share."""

from collections.abc import Iterator, Sequence
from typing import cast

import torch
from torch import Tensor
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
        task.train,
        task,
        loader="resident",
        batch=batch,
        workers=1,
        rank=0,
        seed=seed,
        augment=False,
        device=device,
        loader_workers=loader_workers,
    )


class SeedBatches:
    """Batches for trials of some seeds, as a loader has them: of an epoch, [k, b, ...] each.

    They are [b, ...] for trials of a single seed: see Drawn. The samples that fill no whole batch
    are left out of an epoch.
    """

    def __init__(
        self,
        task: Task,
        batch: int,
        seeds: Sequence[int],
        device: torch.device,
        loader_workers: int = 0,
    ) -> None:
        distinct = list(dict.fromkeys(seeds))
        self._loaders = [loader(task, batch, seed, device, loader_workers) for seed in distinct]
        self._device, self._shared = device, len(distinct) == 1
        # Of each trial the place of its batches, unless they are in the trials' order.
        places = torch.tensor([distinct.index(seed) for seed in seeds], device=device)
        self._places = None if distinct == list(seeds) else places
        self._split: tuple[Tensor, Tensor] | None = None
        if isinstance(task, Dataset):
            self._split = task.train.images.to(device), task.train.labels.to(device)
            self._normalise = Normalise(task.mean, task.std, device)

    def __len__(self) -> int:
        """Batches in an epoch."""
        return len(self._loaders[0])

    def batches(self, epoch: int) -> Iterator[Drawn]:
        """Yield the batches of an epoch, counted from 1, in its own order for each seed."""
        for one in self._selected(epoch) if self._split else self._collected(epoch):
            if self._shared:
                yield entries(one, 0), True
            else:
                yield (one if self._places is None else entries(one, self._places)), False

    def _selected(self, epoch: int) -> Iterator[Batch]:
        """What each loader of images would yield, by one selection for all of them."""
        assert self._split is not None
        images, labels = self._split
        orders = torch.stack([one.order(epoch) for one in self._loaders]).to(self._device)
        for indices in orders.split(self._loaders[0].batch, dim=-1):
            yield self._normalise(images[indices]), labels[indices]

    def _collected(self, epoch: int) -> Iterator[Batch]:
        """What each loader yields, stacked tensor by tensor."""
        for batches in zip(*(one.batches(epoch) for one in self._loaders), strict=True):
            yield stacked(batches, self._device)


def stacked(batches: Sequence[Batch], device: torch.device) -> Batch:
    """Batches as one, [k, b, ...], on the device."""
    apart = [on_device(one, device) for one in batches]
    return cast(Batch, tree_map(lambda *parts: torch.stack(parts), *apart))
