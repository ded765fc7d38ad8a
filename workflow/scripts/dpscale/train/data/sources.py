"""The datasets that are downloaded, and reading them from a folder through torchvision."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dpscale.train.data.dataset import DatasetError, Split


class UnreadableSourceError(DatasetError):
    """Why the files of a dataset cannot be read."""


@dataclass(frozen=True)
class Source:
    """torchvision's class of a dataset, the folder it lives in under the root, and its sizes."""

    class_name: str
    folder: str
    train_images: int
    test_images: int
    classes: int


SOURCES = {
    "cifar10": Source("CIFAR10", "cifar-10-batches-py", 50_000, 10_000, 10),
    "cifar100": Source("CIFAR100", "cifar-100-python", 50_000, 10_000, 100),
    "mnist": Source("MNIST", "MNIST", 60_000, 10_000, 10),
    "fashion_mnist": Source("FashionMNIST", "FashionMNIST", 60_000, 10_000, 10),
}


def torchvision_class(name: str) -> Any:
    """torchvision's dataset class of a name in SOURCES (importing torchvision takes seconds)."""
    import torchvision.datasets

    return getattr(torchvision.datasets, SOURCES[name].class_name)


def read_source(name: str, root: Path) -> tuple[Split, Split, int]:
    """Official training images, official test images and class count, without a network.

    Raises DatasetError when the files under `root` are missing, corrupt or incomplete; the
    message names the rule and the command that download them.
    """
    try:
        return open_source(name, root)
    except UnreadableSourceError as error:
        raise DatasetError(
            f"{name} cannot be read from {root} ({error}); download it by `snakemake "
            f"{root / name}.json` (rule fetch_dataset) or `python "
            f"workflow/scripts/fetch_dataset.py --dataset {name} --root {root}`"
        ) from error


def open_source(name: str, root: Path) -> tuple[Split, Split, int]:
    """As `read_source`, but raises UnreadableSourceError with the bare reason."""
    source = SOURCES[name]
    train = _open_split(name, root, train=True, expected=source.train_images)
    test = _open_split(name, root, train=False, expected=source.test_images)
    return train, test, source.classes


def _open_split(name: str, root: Path, *, train: bool, expected: int) -> Split:
    try:
        split = _as_split(torchvision_class(name)(root, train=train, download=False))
    # torchvision asserts, or lets numpy and pickle raise, on files cut short.
    except Exception as error:
        raise UnreadableSourceError(f"{type(error).__name__}: {error}") from error
    if not len(split) == len(split.images) == expected:
        part = "training" if train else "test"
        raise UnreadableSourceError(
            f"{len(split.images)} {part} images and {len(split)} labels instead of {expected}"
        )
    return split


def _as_split(raw: Any) -> Split:
    images = torch.as_tensor(raw.data)
    # CIFAR is [n, height, width, channels], MNIST has no axis of channels.
    images = images.permute(0, 3, 1, 2) if images.ndim == 4 else images.unsqueeze(1)
    labels = torch.as_tensor(raw.targets, dtype=torch.int64)
    return Split(images.contiguous(), labels)
