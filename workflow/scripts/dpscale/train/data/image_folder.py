"""A folder of image files: root/train/<class>/*, root/test/<class>/*, root/validation/<class>/*."""

from pathlib import Path

import numpy as np
import torch

from dpscale.train.data.dataset import DatasetError, Split


def read_image_folder(root: Path, *, image_size: int) -> tuple[Split, Split | None, Split, int]:
    """Train split, validation split (None without that folder), test split and class count.

    Every image is decoded once, as RGB, scaled and cropped about its centre to image_size by
    image_size. Classes are the folders under root/train in alphabetical order. Raises
    DatasetError naming the folder or the file.
    """
    classes = _class_names(root / "train")
    train = _read_split(root / "train", classes, image_size=image_size)
    test = _read_split(root / "test", classes, image_size=image_size)
    validation = None
    if (root / "validation").is_dir():
        validation = _read_split(root / "validation", classes, image_size=image_size)
    return train, validation, test, len(classes)


def _class_names(folder: Path) -> list[str]:
    if not folder.is_dir():
        raise DatasetError(
            f"image_folder: {folder} is not a folder; data.root must hold train/<class>/ "
            "and test/<class>/ with image files"
        )
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


def _read_split(folder: Path, classes: list[str], *, image_size: int) -> Split:
    from torchvision.datasets import ImageFolder

    unknown = sorted(set(_class_names(folder)) - set(classes))
    if unknown:
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
