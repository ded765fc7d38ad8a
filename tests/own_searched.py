"""The training of own_training.py with an answer to count, and no optimiser of its own."""

from typing import Any

from own_training import Made, Pairs
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import Dataset


class Twice(Made):
    """The same word left and right, so that it can be told."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.right = self.left


def model(width: int) -> nn.Module:
    return Pairs(width)


def dataset(split: str) -> Dataset:
    return Twice({"train": 256, "validation": 24, "test": 16}[split])


def loss(outputs: dict[str, Tensor], targets: Any) -> Tensor:
    left, _ = targets
    return cross_entropy(outputs["scores"], left)


def correct(outputs: dict[str, Tensor], targets: Any) -> tuple[Tensor, Tensor]:
    """The left words, of those that are asked for."""
    left, _ = targets
    asked = left % 4 > 0
    return (asked & (outputs["scores"].argmax(-1) == left)).sum(), asked.sum()
