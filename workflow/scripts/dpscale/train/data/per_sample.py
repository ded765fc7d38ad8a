"""The dataloader loader: torch's DataLoader over samples transformed one at a time."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from dpscale.train.data.augmentation import Normalise
from dpscale.train.data.dataset import Split
from dpscale.train.data.loader import Batch, Loader


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
    """A DataLoader with `loader_workers` processes; batches are in (pinned) host memory."""

    def __init__(
        self,
        split: Split,
        *,
        normalise: Normalise,
        transform: Callable | None,
        loader_workers: int,
        pin_memory: bool,
        **sampling: Any,
    ) -> None:
        """`sampling`: batch, workers, rank, seed and set_epoch of Loader."""
        super().__init__(split, **sampling)
        self._draws_here = transform is not None and loader_workers == 0
        # Worker processes seed themselves from this generator: it must differ between ranks,
        # and it keeps the DataLoader from drawing on the generator of the training.
        self._generator = torch.Generator().manual_seed(self.augmentation_seed(0))
        self._loader: DataLoader = DataLoader(
            SplitSamples(split, transform, normalise),
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
