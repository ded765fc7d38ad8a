"""What a run trains, apart from how: samples, network, loss, and what counts as a right answer."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sized
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.optim import Optimizer
from torch.utils._pytree import tree_leaves, tree_map_only

from dpscale.config.sections import ModelConfig

Batch = tuple[Any, Any]
"""Inputs and targets, each a tensor or a nest of them; the first dimension counts samples."""
Counted = tuple[Tensor | float, Tensor | float]
EVALUATION_BATCH = 512


class DatasetError(RuntimeError):
    """Samples that are missing, corrupt or unusable; the message says what to do."""


def samples_of(batch: Batch) -> int:
    """Samples of a batch."""
    inputs, _ = batch
    first: Tensor = inputs if isinstance(inputs, Tensor) else tree_leaves(inputs)[0]
    return first.size(0)


def on_device(batch: Batch, device: torch.device) -> Batch:
    """The batch with its tensors on a device; those that are there already stay as they are."""
    return cast(Batch, map_tensors(lambda one: one.to(device, non_blocking=True), batch))


def map_tensors(function: Callable[[Tensor], Tensor], nest: Any) -> Any:
    """The nest with the function's value in the place of each tensor."""
    if isinstance(nest, Tensor):
        return function(nest)
    if type(nest) is tuple:  # of most batches: torch's own way takes longer than small steps have
        return tuple(map_tensors(function, one) for one in nest)
    return tree_map_only(Tensor, function, nest)


def entries(nest: Any, which: Any) -> Any:
    """The nest with these entries of each tensor's first dimension."""
    return map_tensors(lambda one: one[which], nest)


def cross_entropies(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy [k] of each of k networks, of logits [k, b, classes] and labels [k, b]."""
    apart = cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
    return apart.view(labels.shape).mean(1)


class Task(ABC):
    """A training, built in or a user's own.

    `train`, `validation` and `test` are its samples; the last two may be empty.
    """

    name: str
    sample = "image"  # what the report calls one
    train: Sized
    validation: Sized
    test: Sized
    counts_correct = True  # else accuracy has no meaning
    find_unused_parameters = False  # some parameters get no gradient in a step
    evaluation_batch: int | None = (
        EVALUATION_BATCH  # samples at a time; None: as many as a worker trains on
    )
    paper = "meta"  # torch device of a network of which nothing but shapes and sizes is wanted

    @abstractmethod
    def network(self, model: ModelConfig) -> nn.Module:
        """The network, with initial values from torch's global generator."""

    def loss(self, outputs: Any, targets: Any) -> Tensor:
        """Mean loss of a batch, without dimensions; cross-entropy of logits [n, classes, ...]."""
        return cross_entropy(outputs, targets)

    def losses(self, outputs: Any, targets: Any) -> Tensor:
        """Mean losses [k] of k networks, from outputs and targets with a first dimension of k."""
        return cross_entropies(outputs, targets)

    def correct(self, outputs: Any, targets: Any) -> Counted:
        """Right answers, and how many were counted: labels whose logit is the largest."""
        return (outputs.argmax(1) == targets).sum(), targets.numel()

    def right(self, outputs: Any, targets: Any) -> Tensor | None:
        """Which samples are answered right; None where a sample has several answers."""
        return outputs.argmax(1) == targets if targets.ndim == 1 else None

    def optimizer(self, parameters: list[nn.Parameter], lr: float) -> Optimizer | None:
        """An optimiser of its own; None for the configuration's."""
        return None

    def require_a_score(self, key: str) -> None:
        """Raises DatasetError where no validation accuracy can choose what `key` offers."""
        if not (len(self.validation) and self.counts_correct):
            lacking = "no samples of 'validation'" if self.counts_correct else "no function correct"
            raise DatasetError(
                f"{self.name}: there is {lacking} to choose by, for {key}; give "
                "one, or nothing to choose"
            )

    def described(self, network: nn.Module) -> dict[str, str]:
        """What a record says of it, in place of what the configuration says."""
        return {}
