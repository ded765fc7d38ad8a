"""Which samples a worker sees, in which order, and the two loaders that make batches of them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sized
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only
from torch.utils.data import DataLoader, DistributedSampler

from dpscale.train.data.augmentation import (
    AUGMENTATIONS,
    Augmentation,
    Normalise,
    augment_batch,
    sample_transform,
)
from dpscale.train.data.dataset import Dataset, DatasetError, Split
from dpscale.train.data.task import Batch, Task


class BatchExceedsDatasetError(ValueError):
    """A batch larger than the samples of a worker: no full batch, and nothing to measure."""


class Loader(ABC):
    """Full batches of one worker's share of a split, in the order of a DistributedSampler.

    The sampler shuffles the whole split by `seed` plus the epoch and deals it out to the
    workers; samples left over by the workers or by the batch are dropped, never padded. With
    `set_epoch` False the sampler is never told the epoch, so that every epoch has one order.
    """

    def __init__(
        self, split: Sized, *, batch: int, workers: int, rank: int, seed: int, set_epoch: bool
    ) -> None:
        self.batch = batch
        self._rank, self._seed, self._set_epoch = rank, seed, set_epoch
        # torch deals out by length alone.
        self.sampler: DistributedSampler = DistributedSampler(
            range(len(split)),  # type: ignore[arg-type]
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
        """Inputs and targets; of images normalised float32 [batch, channels, height, width] and
        int64 [batch]."""

    def tell_epoch(self, epoch: int) -> None:
        """Passes the epoch on to the sampler, unless this loader is one that never does."""
        if self._set_epoch:
            self.sampler.set_epoch(epoch)

    def augmentation_seed(self, epoch: int) -> int:
        """Seed of the random crops and flips: its own for each seed, epoch and worker."""
        return int(np.random.SeedSequence([self._seed, epoch, self._rank]).generate_state(1)[0])


class SplitSamples(torch.utils.data.Dataset):
    """The samples of a split as torch's datasets give them: one image and its label."""

    def __init__(self, split: Split, transform: Callable | None, normalise: Normalise) -> None:
        self._images, self._labels = split.images, split.labels.tolist()
        self._transform, self._normalise = transform, normalise

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = self._images[index]
        if self._transform is not None:
            image = self._transform(image)
        return self._normalise(image), self._labels[index]


class PerSampleLoader(Loader):
    """torch's DataLoader over samples made one at a time; batches in (pinned) host memory.

    draws: making a sample may take random numbers; loader_workers: its processes; sampling: batch,
    workers, rank, seed, set_epoch of Loader.
    """

    def __init__(
        self,
        samples: torch.utils.data.Dataset,
        *,
        draws: bool,
        loader_workers: int,
        pin_memory: bool,
        **sampling: Any,
    ) -> None:
        super().__init__(samples, **sampling)  # type: ignore[arg-type]
        self._draws_here = draws and loader_workers == 0
        # Worker processes seed themselves from this generator: it must differ between ranks,
        # and it keeps the DataLoader from drawing on the generator of the training.
        self._generator = torch.Generator().manual_seed(self.augmentation_seed(0))
        self._loader: DataLoader = DataLoader(
            samples,
            batch_size=self.batch,
            sampler=self.sampler,
            num_workers=loader_workers,
            persistent_workers=loader_workers > 0,
            pin_memory=pin_memory,
            drop_last=True,
            generator=self._generator,
        )

    def batches(self, epoch: int) -> Iterator[Batch]:
        """Batches in host memory; see Loader."""
        self.tell_epoch(epoch)
        if self._draws_here:
            return _with_own_randomness(self._loader, self.augmentation_seed(epoch))
        return iter(self._loader)


def _with_own_randomness(loader: DataLoader, seed: int) -> Iterator[Batch]:
    """The loader's batches, with the crops and flips drawn apart from the training's randomness.

    torchvision draws from torch's one global generator, which dropout uses too.
    """
    iterator = iter(loader)
    own_state = torch.Generator().manual_seed(seed).get_state()
    while True:
        training_state = torch.get_rng_state()
        torch.set_rng_state(own_state)
        try:
            batch = next(iterator, None)
            own_state = torch.get_rng_state()
        finally:
            torch.set_rng_state(training_state)
        if batch is None:
            return
        yield batch


class ResidentLoader(Loader):
    """The split lives on the device as uint8; batches are selected, augmented, normalised there.

    An epoch costs one copy of its order to the device; images are never copied again. `sampling`:
    batch, workers, rank, seed and set_epoch of Loader.
    """

    def __init__(
        self,
        split: Split,
        *,
        normalise: Normalise,
        augmentation: Augmentation | None,
        device: torch.device,
        **sampling: Any,
    ) -> None:
        super().__init__(split, **sampling)
        self._split = split.on(device)
        self._normalise, self._augmentation, self._device = normalise, augmentation, device

    def batches(self, epoch: int) -> Iterator[Batch]:
        """Batches on the device; see Loader."""
        generator = torch.Generator(self._device).manual_seed(self.augmentation_seed(epoch))
        for indices in self.order(epoch).to(self._device).split(self.batch):
            part = self._split.select(indices)
            images = part.images
            if self._augmentation is not None:
                images = augment_batch(images, self._augmentation, generator)
            yield self._normalise(images), part.labels


def build_loader(
    split: Any,
    task: Task,
    *,
    loader: str,
    batch: int,
    workers: int,
    rank: int,
    seed: int,
    augment: bool,
    device: torch.device,
    loader_workers: int = 0,
    set_epoch: bool = True,
) -> Loader:
    """The loader of worker `rank` of `workers` over a split of a task, with `batch` samples each.

    `loader` is "dataloader" (torch's DataLoader, one sample at a time, in host memory) or
    "resident" (whole batches on `device`). Both give the same samples in the same order, and
    crops and flips of the same distribution. Samples of a user's own are always made by a
    DataLoader, as their dataset makes them. Raises BatchExceedsDatasetError when a worker has no
    full batch, DatasetError when `loader` has no such name.
    """
    sampling: dict[str, Any] = {
        "batch": batch,
        "workers": workers,
        "rank": rank,
        "seed": seed,
        "set_epoch": set_epoch,
    }
    by_sample = {"loader_workers": loader_workers, "pin_memory": device.type == "cuda"} | sampling
    if not isinstance(task, Dataset):
        return PerSampleLoader(split, draws=True, **by_sample)
    augmentation = AUGMENTATIONS[task.name] if augment else None
    if loader == "resident":
        normalise = Normalise(task.mean, task.std, device)
        return ResidentLoader(
            split, normalise=normalise, augmentation=augmentation, device=device, **sampling
        )
    if loader == "dataloader":
        size = task.image_shape[1:]
        transform = sample_transform(augmentation, size) if augmentation else None
        normalise = Normalise(task.mean, task.std, torch.device("cpu"))
        samples = SplitSamples(split, transform, normalise)
        return PerSampleLoader(samples, draws=transform is not None, **by_sample)
    raise DatasetError(f"data.loader: {loader!r} is not one of dataloader, resident")


def evaluation_batches(split: Any, task: Task, batch: int, device: torch.device) -> Iterator[Batch]:
    """Every sample of `split` once, in order, as batches on `device`; the last may be smaller.

    Images are normalised by the train split's statistics and never augmented.
    """
    if not isinstance(task, Dataset):
        # Its own generator, for it draws from one even where it shuffles nothing.
        for one in DataLoader(split, batch_size=batch, generator=torch.Generator()):
            yield tree_map_only(Tensor, lambda value: value.to(device), one)
        return
    normalise = Normalise(task.mean, task.std, device)
    for start in range(0, len(split), batch):
        images, labels = split.images[start : start + batch], split.labels[start : start + batch]
        yield normalise(images.to(device)), labels.to(device)
