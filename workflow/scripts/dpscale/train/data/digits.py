"""The 8x8 handwritten digits that come with scikit-learn: 1,797 images, no download."""

import torch

from dpscale.train.data.dataset import Split
from dpscale.train.data.splitting import set_apart

TEST_FRAC = 0.2
# The test images are the same in every run, whatever the seed of the validation split.
TEST_SEED = 0
_LEVELS = 16


def read_digits() -> tuple[Split, Split, int]:
    """Training images (1,437, validation included), test images (360) and the 10 classes.

    scikit-learn counts ink in 0..16; here it is uint8 0..255, each level v being
    round(255 v / 16). Images are [n, 1, 8, 8].
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    levels = torch.from_numpy(digits.images).to(torch.float64)
    images = (levels * 255 / _LEVELS).round().to(torch.uint8).unsqueeze(1)
    everything = Split(images, torch.from_numpy(digits.target).to(torch.int64))
    train, test = set_apart(everything, TEST_FRAC, seed=TEST_SEED)
    return train, test, len(digits.target_names)
