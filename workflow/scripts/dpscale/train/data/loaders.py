"""Building the loader that the configuration asks for."""

from collections.abc import Iterator

import torch

from dpscale.train.data.augmentation import AUGMENTATIONS, Normalise, sample_transform
from dpscale.train.data.dataset import Dataset, DatasetError, Split
from dpscale.train.data.loader import Batch, Loader
from dpscale.train.data.per_sample import PerSampleLoader
from dpscale.train.data.resident import ResidentLoader


def build_loader(
    split: Split,
    dataset: Dataset,
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
    """The loader of worker `rank` of `workers` over `split`, with per-worker batch `batch`.

    `loader` is "dataloader" (torch's DataLoader, one sample at a time, in host memory) or
    "resident" (whole batches on `device`). Both give the same samples in the same order, and
    crops and flips of the same distribution. Raises BatchExceedsDatasetError when a worker has
    no full batch, DatasetError when `loader` has no such name.
    """
    augmentation = AUGMENTATIONS[dataset.name] if augment else None
    sampling = {"batch": batch, "workers": workers, "rank": rank, "seed": seed}
    if loader == "resident":
        return ResidentLoader(
            split,
            normalise=Normalise(dataset.mean, dataset.std, device),
            augmentation=augmentation,
            device=device,
            set_epoch=set_epoch,
            **sampling,
        )
    if loader == "dataloader":
        _, height, width = dataset.image_shape
        transform = sample_transform(augmentation, (height, width)) if augmentation else None
        return PerSampleLoader(
            split,
            normalise=Normalise(dataset.mean, dataset.std, torch.device("cpu")),
            transform=transform,
            loader_workers=loader_workers,
            pin_memory=device.type == "cuda",
            set_epoch=set_epoch,
            **sampling,
        )
    raise DatasetError(f"data.loader: {loader!r} is not one of dataloader, resident")


def evaluation_batches(
    split: Split, dataset: Dataset, batch: int, device: torch.device
) -> Iterator[Batch]:
    """Every sample of `split` once, in order, as batches on `device`; the last may be smaller.

    Images are normalised by the train split's statistics and never augmented.
    """
    normalise = Normalise(dataset.mean, dataset.std, device)
    for start in range(0, len(split), batch):
        images, labels = split.images[start : start + batch], split.labels[start : start + batch]
        yield normalise(images.to(device)), labels.to(device)
