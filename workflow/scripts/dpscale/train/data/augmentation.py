"""Normalisation, and random crops and flips, one image at a time or a batch at once.

Both ways crop at an offset drawn uniformly from the (2 pad + 1)^2 offsets of the zero-padded
image, then flip with probability 1/2: the augmentation of He et al., Deep Residual Learning for
Image Recognition (CVPR 2016), section 4.2.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad as pad_images


@dataclass(frozen=True)
class Augmentation:
    """Zero padding of the random crop in pixels, and whether images are flipped sideways."""

    pad: int
    flip: bool


# Mirrored digits are other signs, or none; 8x8 images bear a shift of one pixel.
AUGMENTATIONS = {
    "digits": Augmentation(pad=1, flip=False),
    "mnist": Augmentation(pad=4, flip=False),
    "fashion_mnist": Augmentation(pad=4, flip=True),
    "cifar10": Augmentation(pad=4, flip=True),
    "cifar100": Augmentation(pad=4, flip=True),
    "image_folder": Augmentation(pad=4, flip=True),
    "synthetic": Augmentation(pad=4, flip=True),
}


class Normalise:
    """Turns uint8 images [..., channels, height, width] into normalised float32 ones."""

    def __init__(
        self, mean: tuple[float, ...], std: tuple[float, ...], device: torch.device
    ) -> None:
        """`mean` and `std` per channel in units of 0..1; images must be on `device`."""
        self._mean = torch.tensor(mean, device=device).mul_(255).view(-1, 1, 1)
        self._std = torch.tensor(std, device=device).mul_(255).view(-1, 1, 1)

    def __call__(self, images: Tensor) -> Tensor:
        return images.to(torch.float32).sub_(self._mean).div_(self._std)


def sample_transform(augmentation: Augmentation, image_size: tuple[int, int]) -> Callable:
    """torchvision's crop and flip of one uint8 image [channels, height, width]."""
    # torchvision takes seconds to import, and runs without augmentation do not need it.
    from torchvision.transforms import v2

    steps: list[Callable] = [v2.RandomCrop(image_size, padding=augmentation.pad)]
    if augmentation.flip:
        steps.append(v2.RandomHorizontalFlip())
    return v2.Compose(steps)


def augment_batch(images: Tensor, augmentation: Augmentation, generator: torch.Generator) -> Tensor:
    """Crops and flips a batch [n, channels, height, width] on its own device, each image apart.

    `generator` lives on the same device.
    """
    samples, channels, height, width = images.shape
    pad, device = augmentation.pad, images.device

    def drawn(choices: int) -> Tensor:
        """A random choice for each image, as a column."""
        return torch.randint(choices, (samples, 1), device=device, generator=generator)

    rows = drawn(2 * pad + 1) + torch.arange(height, device=device)
    columns = drawn(2 * pad + 1) + torch.arange(width, device=device)
    if augmentation.flip:
        columns = torch.where(drawn(2).bool(), columns.flip(1), columns)
    padded = pad_images(images, (pad, pad, pad, pad))
    sample = torch.arange(samples, device=device).view(-1, 1, 1, 1)
    channel = torch.arange(channels, device=device).view(1, -1, 1, 1)
    return padded[sample, channel, rows[:, None, :, None], columns[:, None, None, :]]
