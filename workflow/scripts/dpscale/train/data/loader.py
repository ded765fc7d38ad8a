"""What every loader shares: which samples a worker sees, and in which order."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DistributedSampler

from dpscale.train.data.dataset import Split

Batch = tuple[Tensor, Tensor]


class BatchExceedsDatasetError(ValueError):
    """A batch larger than the samples of a worker: no full batch, and nothing to measure."""


class Loader(ABC):
    """Full batches of one worker's share of a split, in the order of a DistributedSampler.

    The sampler shuffles the whole split by `seed` plus the epoch and deals it out to the
    workers; samples left over by the workers or by the batch are dropped, never padded. With
    `set_epoch` False the sampler is never told the epoch, so that every epoch has one order.
    """

    def __init__(
        self, split: Split, *, batch: int, workers: int, rank: int, seed: int, set_epoch: bool
    ) -> None:
        self.batch = batch
        self._rank, self._seed, self._set_epoch = rank, seed, set_epoch
        # torch deals out by length alone; labels have the length of the split.
        self.sampler: DistributedSampler = DistributedSampler(
            split.labels,  # type: ignore[arg-type]
            num_replicas=workers,
            rank=rank,
            shuffle=True,
            seed=seed,
            drop_last=True,
        )
        if len(self) == 0:
            raise BatchExceedsDatasetError(
                f"per-worker batch {batch} exceeds the {len(self.sampler)} samples that each of "
                f"{workers} workers has of {len(split)}"
            )

    def __len__(self) -> int:
        """Full batches of an epoch, the same on every worker."""
        return len(self.sampler) // self.batch

    def order(self, epoch: int) -> Tensor:
        """int64 indices of this worker's samples in `epoch`, as its full batches take them."""
        self.tell_epoch(epoch)
        return torch.tensor(list(self.sampler), dtype=torch.int64)[: len(self) * self.batch]

    @abstractmethod
    def batches(self, epoch: int) -> Iterator[Batch]:
        """Normalised float32 images [batch, channels, height, width] and int64 labels [batch]."""

    def tell_epoch(self, epoch: int) -> None:
        """Passes the epoch on to the sampler, unless this loader is one that never does."""
        if self._set_epoch:
            self.sampler.set_epoch(epoch)

    def augmentation_seed(self, epoch: int) -> int:
        """Seed of the random crops and flips: its own for each seed, epoch and worker."""
        return int(np.random.SeedSequence([self._seed, epoch, self._rank]).generate_state(1)[0])
