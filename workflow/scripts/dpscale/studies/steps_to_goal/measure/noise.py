"""S1: squared norms of gradients of small and large batches, for the gradient noise scale.

McCandlish, Kaplan, Amodei et al., An Empirical Model of Large-Batch Training (2018,
arXiv:1812.06162), appendix A.1: the expected squared norm of the gradient of a batch falls with
its size by the noise alone, so two sizes tell the noise from the gradient.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Any

import torch
from torch import nn

from dpscale.plan import Spec
from dpscale.studies.steps_to_goal.config import Search
from dpscale.studies.steps_to_goal.measure.groups import Point
from dpscale.studies.steps_to_goal.measure.supply import SeedBatches, loader, stacked
from dpscale.train.data import Batch, Task
from dpscale.train.network import seeded_network
from dpscale.train.stacked import Stack
from dpscale.train.training import Supply

SMALL_BATCH = 8
AT_ONCE = 32  # gradients that are computed together, as of so many learners


def gradient_squares(
    model: nn.Module, chunks: Sequence[Batch], task: Task, device: torch.device
) -> tuple[float, float]:
    """Mean squared gradient norm of the chunks, and that of their mean. Leaves the model as it is.

    Chunks of one size, at least one.
    """
    total, squares = torch.zeros(()), []
    for first in range(0, len(chunks), AT_ONCE):
        some = chunks[first : first + AT_ONCE]
        stack = Stack([model] * len(some), device, task)
        stack.backward(*stacked(some, device))
        parts = [value.grad for value in stack.parameters.values() if value.grad is not None]
        gradients = torch.cat([part.reshape(len(some), -1) for part in parts], dim=1)
        squares.append(gradients.square().sum(1))
        total = total.to(gradients.device) + gradients.sum(0)
    return float(torch.cat(squares).mean()), float((total / len(chunks)).square().sum())


def noise_rows(
    spec: "Spec[Search]", task: Task, device: torch.device, *, point: Point, seed: int, steps: int
) -> list[dict[str, Any]]:
    """Rows of squared norms along a training of the noise's batch: at its start, and then at
    equally spaced steps to the last of `steps`."""
    noise = spec.protocol.noise
    model = seeded_network(spec, task, seed).to(device)
    optimizer = point.sgd(
        model, nesterov=spec.training.nesterov, weight_decay=spec.training.weight_decay
    )
    probed = {round(steps * place / noise.points) for place in range(noise.points + 1)}
    source = loader(task, SMALL_BATCH, seed, device)
    chunks = list(islice(source.batches(0), min(noise.samples // SMALL_BATCH, len(source))))
    drawn = SeedBatches(task, noise.batch, [seed], device, spec.data.loader_workers)
    batches = Supply(drawn).take(steps + 1)
    rows: list[dict[str, Any]] = []
    for step in range(steps + 1):
        if step in probed:
            small, big = gradient_squares(model, chunks, task, device)
            rows.append(
                {
                    "step": step,
                    "small_batch": SMALL_BATCH,
                    "big_batch": SMALL_BATCH * len(chunks),
                    "small_gradient_square": small,
                    "big_gradient_square": big,
                }
            )
        (inputs, targets), _ = next(batches)
        optimizer.zero_grad()
        task.loss(model(inputs), targets).backward()
        optimizer.step()
    return rows
