"""Accuracy and loss of a model on a split it does not train on."""

from collections.abc import Sized
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dpscale.records.bits import packed
from dpscale.train.data import Task, evaluation_batches, samples_of


class Evaluation(NamedTuple):
    """Mean loss and accuracy as a fraction over a split, and which of its samples are right.

    right: as bits; None, as the accuracy, where it is not known.
    """

    loss: float | None = None
    accuracy_frac: float | None = None
    right: str | None = None


@torch.no_grad()
def evaluate(
    model: nn.Module, split: Sized, task: Task, device: torch.device, *, batch: int = 1
) -> Evaluation:
    """Evaluate over all samples of a split; nothing is known of an empty one.

    batch: samples at a time of a task that does not say how many. The model is in evaluation mode
    meanwhile: batch norm uses its running statistics.
    """
    if len(split) == 0:
        return Evaluation()
    was_training = model.training
    model.eval()
    loss, right, counted, answers = 0.0, 0.0, 0.0, list[Tensor]()
    for inputs, targets in evaluation_batches(split, task, task.evaluation_batch or batch, device):
        outputs = model(inputs)
        loss += task.loss(outputs, targets).item() * samples_of((inputs, targets))
        if task.counts_correct:
            found, of = task.correct(outputs, targets)
            right, counted = right + float(found), counted + float(of)
            if (single := task.right(outputs, targets)) is not None:
                answers.append(single)
    model.train(was_training)
    return Evaluation(
        loss / len(split),
        right / counted if counted else None,
        packed(torch.cat(answers).cpu().numpy()) if answers else None,
    )
