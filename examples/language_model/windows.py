"""A smaller network on the text of language_model.py, without an optimiser of its own.

So its learning rate and momentum can be searched.
"""

import torch
from language_model import BYTES, SAMPLE, correct, dataset, loss
from torch import Tensor, nn
from torch.nn.functional import pad

__all__ = ["SAMPLE", "Windows", "correct", "dataset", "loss", "model"]


class Windows(nn.Module):
    """Every position sees itself and the two before it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(BYTES, width)
        self.hidden = nn.Linear(3 * width, 4 * width)
        self.head = nn.Linear(4 * width, BYTES)

    def forward(self, tokens: Tensor) -> Tensor:
        """[n, length] to logits [n, length, 256]."""
        seen = self.embedding(pad(tokens, (2, 0)))
        window = torch.cat([seen[:, :-2], seen[:, 1:-1], seen[:, 2:]], dim=2)
        return self.head(self.hidden(window).relu())


def model(width: int) -> nn.Module:
    """The network, not trained yet."""
    return Windows(width)
