"""Random images of any shape: for timing only, there is nothing to learn in them."""

import torch

from dpscale.train.data.dataset import Split
from dpscale.train.data.splitting import held_out_samples

_TEST_FRAC = 0.2
_SEED = 0


def make_synthetic(
    *, samples: int, channels: int, image_size: int, classes: int, validation_frac: float
) -> tuple[Split, Split, Split]:
    """Train, validation and test split of uniformly random uint8 images and labels.

    The train split holds exactly `samples`; validation and test images come on top. The same
    arguments give the same images.
    """
    generator = torch.Generator().manual_seed(_SEED)

    def random_split(size: int) -> Split:
        """So many random images with labels."""
        shape = (size, channels, image_size, image_size)
        images = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
        return Split(images, torch.randint(0, classes, (size,), generator=generator))

    validation = held_out_samples(samples, validation_frac)
    test = held_out_samples(samples, _TEST_FRAC)
    return random_split(samples), random_split(validation), random_split(test)
