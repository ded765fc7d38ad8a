"""A small transformer that predicts the next byte of this repository's own documents."""

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import Dataset

SAMPLE = "sequence"
BYTES = 256
DOCUMENTS = Path(__file__).parents[2]
TABLES = ("benchmarks.md", "configuration.md")  # more numbers than text
SHARES = {"train": (0.0, 0.8), "validation": (0.8, 0.9), "test": (0.9, 1.0)}


class Transformer(nn.Module):
    """A decoder: every position sees itself and those before it."""

    def __init__(self, width: int, layers: int, length: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(BYTES, width)
        self.position = nn.Parameter(torch.zeros(length, width))
        layer = nn.TransformerEncoderLayer(
            width,
            nhead=4,
            dim_feedforward=4 * width,
            dropout=0.0,
            batch_first=True,
            norm_first=True,
        )
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, BYTES, bias=False)
        self.head.weight = self.embedding.weight  # tied: counted and sent once
        nn.init.normal_(self.embedding.weight, std=0.02)
        future = torch.full((length, length), float("-inf")).triu(1)
        self.register_buffer("future", future, persistent=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """[n, length] to logits [n, length, 256]."""
        hidden = self.embedding(tokens) + self.position
        return self.head(self.norm(self.layers(hidden, mask=self.future, is_causal=True)))


class Sequences(Dataset):
    """Pieces of a text, and the same pieces one byte on."""

    def __init__(self, text: Tensor, length: int) -> None:
        self.text, self.length = text, length

    def __len__(self) -> int:
        return (len(self.text) - 1) // self.length

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        start = index * self.length
        piece = self.text[start : start + self.length + 1]
        return piece[:-1], piece[1:]


def model(width: int, layers: int, length: int) -> nn.Module:
    """The network, not trained yet."""
    return Transformer(width, layers, length)


def dataset(split: str, length: int) -> Dataset:
    """The share of the documents that is of a split."""
    paths = [*sorted(DOCUMENTS.glob("*.md")), *sorted(DOCUMENTS.glob("docs/*.md"))]
    read = [path.read_bytes() for path in paths if path.name not in TABLES]
    text = torch.tensor(list(b"".join(read)))
    begin, end = (round(share * len(text)) for share in SHARES[split])
    return Sequences(text[begin:end], length)


def loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy of all positions, in nats."""
    return cross_entropy(outputs.flatten(0, 1), targets.flatten())


def correct(outputs: Tensor, targets: Tensor) -> tuple[Tensor, int]:
    """Positions whose most likely byte is the right one, of all."""
    return (outputs.argmax(-1) == targets).sum(), targets.numel()


def optimizer(parameters: list[nn.Parameter], lr: float) -> torch.optim.Optimizer:
    """AdamW; weights decay, gains and biases do not."""
    groups = [
        {"params": [one for one in parameters if one.ndim >= 2], "weight_decay": 0.1},
        {"params": [one for one in parameters if one.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=lr)
