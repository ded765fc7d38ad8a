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
DOWNLOADED = ("cifar10", "cifar100", "mnist", "fashion_mnist")


def train_samples(data: DataConfig) -> int | None:
    """Training samples D after the validation images are set apart, repeats included.

    None where it is unknown before the images are read (image_folder).
    """
    if data.dataset == "synthetic":
        return data.samples * data.repeats if data.samples else None
    images = TRAINING_IMAGES.get(data.dataset)
    if images is None:
        return None
    return (images - math.ceil(images * data.validation_frac)) * data.repeats
