"""Where images come from: torchvision's datasets, scikit-learn's digits, folders, random numbers.

Importing torchvision or scikit-learn takes seconds, so that each is imported where it is needed.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dpscale.train.data.dataset import DatasetError, Split, held_out_samples, set_apart

TEST_FRAC = 0.2  # of the digits and of random images
# The test images are the same in every run, whatever the seed of the validation split.
TEST_SEED = 0
_DIGIT_LEVELS = 16
_SYNTHETIC_SEED = 0


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
    """torchvision's dataset class of a name in SOURCES."""
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
    return Split(images.contiguous(), torch.as_tensor(raw.targets, dtype=torch.int64))


def read_digits() -> tuple[Split, Split, int]:
    """Training images (1,437, validation included), test images (360) and the 10 classes.

    scikit-learn counts ink in 0..16; here it is uint8 0..255, each level v being
    round(255 v / 16). Images are [n, 1, 8, 8].
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    levels = torch.from_numpy(digits.images).to(torch.float64)
    images = (levels * 255 / _DIGIT_LEVELS).round().to(torch.uint8).unsqueeze(1)
    everything = Split(images, torch.from_numpy(digits.target).to(torch.int64))
    train, test = set_apart(everything, TEST_FRAC, seed=TEST_SEED)
    return train, test, len(digits.target_names)


def make_synthetic(
    *, samples: int, channels: int, image_size: int, classes: int, validation_frac: float
) -> tuple[Split, Split, Split]:
    """Train, validation and test split of uniformly random images and labels: for timing only.

    The train split holds exactly `samples`; validation and test images come on top. The same
    arguments give the same images.
    """
    generator = torch.Generator().manual_seed(_SYNTHETIC_SEED)

    def random_split(size: int) -> Split:
        """So many random images with labels."""
        shape = (size, channels, image_size, image_size)
        images = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
        return Split(images, torch.randint(0, classes, (size,), generator=generator))

    validation = held_out_samples(samples, validation_frac)
    test = held_out_samples(samples, TEST_FRAC)
    return random_split(samples), random_split(validation), random_split(test)


def read_image_folder(root: Path, *, image_size: int) -> tuple[Split, Split | None, Split, int]:
    """Train split, validation split (None without that folder), test split and class count.

    The files are root/{train,test,validation}/<class>/*. Every image is decoded once, as RGB,
    scaled and cropped about its centre to image_size by image_size. Classes are the folders under
    root/train in alphabetical order. Raises DatasetError naming the folder or the file.
    """
    classes = _class_names(root / "train")
    train = _read_folder(root / "train", classes, image_size=image_size)
    test = _read_folder(root / "test", classes, image_size=image_size)
    validation = None
    if (root / "validation").is_dir():
        validation = _read_folder(root / "validation", classes, image_size=image_size)
    return train, validation, test, len(classes)


def _class_names(folder: Path) -> list[str]:
    if not folder.is_dir():
        raise DatasetError(
            f"image_folder: {folder} is not a folder; data.root must hold train/<class>/ "
            "and test/<class>/ with image files"
        )
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


def _read_folder(folder: Path, classes: list[str], *, image_size: int) -> Split:
    from torchvision.datasets import ImageFolder

    if unknown := sorted(set(_class_names(folder)) - set(classes)):
        raise DatasetError(
            f"image_folder: {folder / unknown[0]} has no class of that name in train"
        )
    try:
        # Only lists the files; a class without any is an error, except outside train.
        listing = ImageFolder(str(folder), allow_empty=folder.name != "train")
    except FileNotFoundError as error:
        raise DatasetError(f"image_folder: {folder}: {error}") from error
    if not listing.samples:
        raise DatasetError(f"image_folder: {folder} holds no image")
    arrays = [_read_image(path, image_size=image_size) for path, _ in listing.samples]
    # ImageFolder numbers the classes of this folder: the numbers must be those of train.
    labels = [classes.index(listing.classes[label]) for _, label in listing.samples]
    images = torch.from_numpy(np.stack(arrays)).permute(0, 3, 1, 2).contiguous()
    return Split(images, torch.tensor(labels, dtype=torch.int64))


def _read_image(path: str, *, image_size: int) -> np.ndarray:
    from PIL import Image, ImageOps

    try:
        with Image.open(path) as image:
            rgb = image.convert("RGB")
    # PIL raises SyntaxError and ValueError for some broken files.
    except (OSError, SyntaxError, ValueError) as error:
        raise DatasetError(f"image_folder: {path} cannot be read as an image: {error}") from error
    fitted = ImageOps.fit(rgb, (image_size, image_size), Image.Resampling.BILINEAR)
    return np.asarray(fitted, dtype=np.uint8)
