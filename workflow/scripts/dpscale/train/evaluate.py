"""Accuracy and loss of a model on a split it does not train on."""

from collections.abc import Sized

import torch
from torch import nn

from dpscale.train.data import Task, evaluation_batches, samples_of


@torch.no_grad()
def evaluate(
    model: nn.Module, split: Sized, task: Task, device: torch.device, *, batch: int = 1
) -> tuple[float | None, float | None]:
    """(mean loss, accuracy as a fraction) over all samples of a split; None each of an empty one.

    The accuracy of a task without right answers is None too. batch: samples at a time of a task
    that does not say how many. The model is in evaluation mode meanwhile: batch norm uses its
    running statistics.
    """
    if len(split) == 0:
        return None, None
    was_training = model.training
    model.eval()
    loss, right, counted = 0.0, 0.0, 0.0
    for inputs, targets in evaluation_batches(split, task, task.evaluation_batch or batch, device):
        outputs = model(inputs)
        loss += task.loss(outputs, targets).item() * samples_of((inputs, targets))
        if task.counts_correct:
            found, of = task.correct(outputs, targets)
            right, counted = right + float(found), counted + float(of)
    model.train(was_training)
    return loss / len(split), right / counted if counted else None
