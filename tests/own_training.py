"""A training of one's own that has all that is unusual: for tests."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss
from torch.utils.data import Dataset

SAMPLE = "pair"


class Pairs(nn.Module):
    """Sums what two embeddings say of a dict of two inputs, with the same weights out and in."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(32, width)
        self.frozen = nn.Linear(width, width).requires_grad_(False)
        self.unused = nn.Linear(width, 3)
        self.out = nn.Linear(width, 32, bias=False)
        self.out.weight = self.words.weight
        self.scale = nn.Parameter(torch.ones(()))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        if self.training:
            self.calls += 1
        hidden = self.words(inputs["left"]) + self.words(inputs["right"])
        return {"scores": self.out(self.frozen(hidden)) * self.scale}


class Made(Dataset):
    """Made-up pairs and their targets, a tuple."""

    def __init__(self, count: int) -> None:
        self.left = torch.randint(0, 32, (count,))
        self.right = torch.randint(0, 32, (count,))

    def __len__(self) -> int:
        return len(self.left)

    def __getitem__(self, index: int) -> tuple[dict[str, Tensor], tuple[Tensor, Tensor]]:
        inputs = {"left": self.left[index], "right": self.right[index]}
        return inputs, (self.left[index], torch.ones(32))


def model(width: int = 4) -> nn.Module:
    return Pairs(width)


def dataset(split: str, samples: int = 64) -> Dataset:
    return Made({"train": samples, "validation": 0, "test": 16}[split])


def loss(outputs: dict[str, Tensor], targets: Any) -> Tensor:
    _, ones = targets
    return mse_loss(outputs["scores"], ones)


def optimizer(parameters: list[nn.Parameter], lr: float) -> torch.optim.Optimizer:
    groups = [{"params": parameters[:1]}, {"params": parameters[1:], "lr": lr / 2}]
    return torch.optim.RMSprop(groups, lr=lr)
