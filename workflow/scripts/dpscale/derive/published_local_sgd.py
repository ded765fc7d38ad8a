"""Published results of S4, as printed: nothing here was measured by this project.

Lin, Stich, Patel and Jaggi, Don't Use Large Mini-Batches, Use Local SGD (ICLR 2020,
arXiv:1808.07217): ResNet-20, K = 16 workers of b = 128, post-local SGD from the first fall of the
rate on; mean test accuracy over seeds and its deviation, as fractions.
"""

from typing import NamedTuple


class Accuracy(NamedTuple):
    """A mean over seeds and its standard deviation; None where none is given."""

    mean_frac: float
    deviation_frac: float | None


# dataset: {what was trained: accuracy}
PUBLISHED: dict[str, dict[str, Accuracy]] = {
    "CIFAR-10": {
        "small": Accuracy(0.9263, 0.0026),
        "large": Accuracy(0.9248, 0.0017),
        "post-local H=16": Accuracy(0.9280, 0.0016),
        "post-local H=32": Accuracy(0.9302, 0.0024),
    },
    "CIFAR-100": {
        "small": Accuracy(0.6884, None),
        "large": Accuracy(0.6817, None),
        "post-local H=16": Accuracy(0.6924, None),
        "post-local H=32": Accuracy(0.6938, None),
    },
}
