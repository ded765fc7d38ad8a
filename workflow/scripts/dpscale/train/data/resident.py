"""The resident loader: the whole split lives on the device as uint8, batches are made there."""

from collections.abc import Iterator
from typing import Any

import torch

from dpscale.train.data.augmentation import Augmentation, Normalise, augment_batch
from dpscale.train.data.dataset import Split
from dpscale.train.data.loader import Batch, Loader


class ResidentLoader(Loader):
    """Selects, augments and normalises whole batches on the device.

    An epoch costs one copy of its order to the device; images are never copied again.
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
        """`sampling`: batch, workers, rank, seed and set_epoch of Loader."""
        super().__init__(split, **sampling)
        self._images, self._labels = split.images.to(device), split.labels.to(device)
        self._normalise, self._augmentation, self._device = normalise, augmentation, device

    def batches(self, epoch: int) -> Iterator[Batch]:
        """Batches on the device; see Loader."""
        generator = torch.Generator(self._device).manual_seed(self.augmentation_seed(epoch))
        for indices in self.order(epoch).to(self._device).split(self.batch):
            images = self._images.index_select(0, indices)
            if self._augmentation is not None:
                images = augment_batch(images, self._augmentation, generator)
            yield self._normalise(images), self._labels.index_select(0, indices)
