"""S1: squared norms of gradients of small and large batches, for the gradient noise scale.

McCandlish, Kaplan, Amodei et al., An Empirical Model of Large-Batch Training (2018,
arXiv:1812.06162), appendix A.1: the expected squared norm of the gradient of a batch falls with
its size by the noise alone, so two sizes tell the noise from the gradient.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils import parameters_to_vector
from torch.optim import SGD

from dpscale.plan import Spec
from dpscale.train.data import Batch, Dataset
from dpscale.train.network import seeded_network
from dpscale.train.studies.search_points import Point
from dpscale.train.studies.search_supply import loader, supply

SMALL_BATCH = 8


def gradient_squares(model: nn.Module, chunks: Iterator[Batch]) -> tuple[float, float, int]:
    """Mean squared gradient norm of the chunks, that of their mean, and their number.

    Chunks of one size. The model keeps its parameters and is left without gradients.
    """
    total: Tensor | None = None
    squares = []
    for images, labels in chunks:
        model.zero_grad()
        cross_entropy(model(images), labels).backward()
        gradient = parameters_to_vector([p.grad for p in model.parameters() if p.grad is not None])
        squares.append(gradient.square().sum())
        total = gradient.clone() if total is None else total.add_(gradient)
    assert total is not None
    model.zero_grad()
    big = (total / len(squares)).square().sum()
    return float(torch.stack(squares).mean()), float(big), len(squares)


def noise_rows(
    spec: Spec, dataset: Dataset, device: torch.device, *, point: Point, seed: int, steps: int
) -> list[dict[str, Any]]:
    """Rows of squared norms along a training of the noise's batch: at its start, and then at
    equally spaced steps to the last of `steps`."""
    assert spec.search is not None
    noise = spec.search.noise
    model = seeded_network(spec, dataset, seed).to(device)
    optimizer = SGD(
        model.parameters(), lr=point.lr, momentum=point.momentum,
        nesterov=spec.search.optimizer == "nesterov" and point.momentum > 0,
        weight_decay=spec.training.weight_decay,
    )  # fmt: skip
    probed = {round(steps * place / noise.points) for place in range(noise.points + 1)}
    batches = supply(dataset, noise.batch, [seed], device)
    rows: list[dict[str, Any]] = []
    for step in range(steps + 1):
        if step in probed:
            rows.append({"step": step} | _probe(model, dataset, noise.samples, seed, device))
        images, labels, _ = next(batches)
        optimizer.zero_grad()
        cross_entropy(model(images), labels).backward()
        optimizer.step()
    return rows


def _probe(
    model: nn.Module, dataset: Dataset, samples: int, seed: int, device: torch.device
) -> dict[str, Any]:
    source = loader(dataset, SMALL_BATCH, seed, device)
    most = min(samples // SMALL_BATCH, len(source))
    chunks = (batch for batch, _ in zip(source.batches(0), range(most), strict=False))
    small, big, count = gradient_squares(model, chunks)
    return {
        "small_batch": SMALL_BATCH,
        "big_batch": SMALL_BATCH * count,
        "small_gradient_square": small,
        "big_gradient_square": big,
    }
