"""What is known of a dataset before it is read: its training samples and its shape."""

import math

from dpscale.config.sections import DataConfig

# Images outside the official (or, for digits, our fixed) test split.
TRAINING_IMAGES = {
    "digits": 1437,  # 1,797 less the 20% kept for testing
    "cifar10": 50_000,
    "cifar100": 50_000,
    "mnist": 60_000,
    "fashion_mnist": 60_000,
}
# Values of one image: channels, height and width multiplied.
IMAGE_VALUES = {
    "digits": 8 * 8,
    "cifar10": 3 * 32 * 32,
    "cifar100": 3 * 32 * 32,
    "mnist": 28 * 28,
    "fashion_mnist": 28 * 28,
}
DOWNLOADED = ("cifar10", "cifar100", "mnist", "fashion_mnist")
MANY_CLASSES = {"cifar100": 100}  # the others have ten
MOST_BYTES = 10**12  # of all images: no machine's memory holds more


def train_samples(data: DataConfig) -> int | None:
    """Training samples D after the validation images are set apart, repeats included.

    None where it is unknown before the images are read (image_folder), or before a look at a
    user's own file.
    """
    if data.dataset in ("synthetic", "own"):
        return data.samples * data.repeats if data.samples else None
    images = TRAINING_IMAGES.get(data.dataset)
    if images is None:
        return None
    return (images - math.ceil(images * data.validation_frac)) * data.repeats


def sample_values(data: DataConfig) -> int | None:
    """Values of one sample, an image; None for samples of a user's own."""
    if data.image_size is not None and data.dataset in ("image_folder", "synthetic"):
        return (data.channels or 3) * data.image_size**2
    return IMAGE_VALUES.get(data.dataset)


def split_problem(data: DataConfig) -> str | None:
    """Return what is wrong with the share for validation; None where each class has its images."""
    images, classes = TRAINING_IMAGES.get(data.dataset), MANY_CLASSES.get(data.dataset, 10)
    samples = train_samples(data.model_copy(update={"repeats": 1}))
    if images is None or samples is None:
        return None
    if samples < classes:
        return f"leaves fewer training images than the {classes} classes; set it lower"
    if 0 < images - samples < classes:
        return (
            f"sets fewer images apart than the {classes} classes; the least valid is "
            f"{math.ceil(1e6 * classes / images) / 1e6:g}"
        )
    return None


def size_problem(data: DataConfig, repeats: int = 1) -> str | None:
    """Return that no memory holds the training images, so many times; None if one may."""
    image, samples = sample_values(data), train_samples(data)  # a byte a value
    if image is None or samples is None or image * samples * repeats <= MOST_BYTES:
        return None
    return f"too many images of {image:,} bytes; the most are {MOST_BYTES // image // repeats:,}"
