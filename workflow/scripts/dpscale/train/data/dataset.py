"""What a dataset is here: three splits of uint8 images, and the statistics to normalise them."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dpscale.config.sections import ModelConfig
from dpscale.train.data.task import DatasetError, Task
from dpscale.train.models import build_model

_CHUNK_IMAGES = 4096


@dataclass(frozen=True)
class Split:
    """Images as uint8 [n, channels, height, width] and their labels as int64 [n]."""

    images: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def select(self, indices: Tensor) -> "Split":
        """The split that holds the samples of the given indices, in that order."""
        return Split(self.images.index_select(0, indices), self.labels.index_select(0, indices))

    def on(self, device: torch.device) -> "Split":
        """The split on a device; itself where it is there already."""
        if self.images.device == device:
            return self
        return Split(self.images.to(device), self.labels.to(device))

    def repeated(self, repeats: int) -> "Split":
        """The same samples `repeats` times over, one whole copy after another."""
        if repeats == 1:
            return self
        return Split(self.images.repeat(repeats, 1, 1, 1), self.labels.repeat(repeats))


@dataclass(frozen=True)
class Dataset(Task):
    """Images and their classes; mean and std per channel, in units of 0..1, of the train split."""

    name: str
    train: Split
    validation: Split
    test: Split
    classes: int
    mean: tuple[float, ...]
    std: tuple[float, ...]

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of every image."""
        channels, height, width = self.train.images.shape[1:]
        return channels, height, width

    def network(self, model: ModelConfig) -> nn.Module:
        """The network of that name, in the shape that the images ask for."""
        channels, height, _ = self.image_shape
        return build_model(
            model.name,
            in_channels=channels,
            classes=self.classes,
            image_size=height,
            zero_gamma=model.zero_gamma,
        )


def channel_statistics(images: Tensor) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and population standard deviation per channel, in units of 0..1.

    `images` is uint8 [n, channels, height, width]. A channel that never changes gets the
    deviation of one grey level, so that dividing by it stays finite.
    """
    total = torch.zeros(images.shape[1], dtype=torch.float64)
    total_of_squares = torch.zeros_like(total)
    # In parts: all of CIFAR-10 in float64 would be 1.2 GB.
    for part in images.split(_CHUNK_IMAGES):
        values = part.to(torch.float64)
        total += values.sum(dim=(0, 2, 3))
        total_of_squares += values.square().sum(dim=(0, 2, 3))
    pixels = images.numel() // images.shape[1]
    mean = total / pixels
    variance = (total_of_squares / pixels - mean.square()).clamp(min=0)
    std = torch.where(variance > 1e-6, variance.sqrt(), torch.ones_like(variance))
    return tuple((mean / 255).tolist()), tuple((std / 255).tolist())


def held_out_samples(samples: int, frac: float) -> int:
    """Samples set apart from `samples`: their share, rounded up."""
    return math.ceil(samples * frac)


def set_apart(split: Split, frac: float, *, seed: int) -> tuple[Split, Split]:
    """The split without, and the split of, a share of its samples in which each class keeps its.

    The choice depends on `seed` alone; within each part samples keep their first order. Raises
    DatasetError when the share is too small to hold a sample of each class.
    """
    held_out = held_out_samples(len(split), frac)
    everything = torch.arange(len(split))
    if held_out == 0:
        return split, split.select(everything[:0])
    from sklearn.model_selection import train_test_split

    try:
        kept, apart = train_test_split(
            everything.numpy(), test_size=held_out, stratify=split.labels.numpy(), random_state=seed
        )
    except ValueError as error:
        message = f"cannot set {held_out} of {len(split)} training images apart: {error}"
        raise DatasetError(f"{message} (data.validation_frac)") from error
    kept_indices, apart_indices = (torch.from_numpy(part).sort().values for part in (kept, apart))
    return split.select(kept_indices), split.select(apart_indices)
