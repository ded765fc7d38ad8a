"""Accuracy and loss of a model on a split it does not train on."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from dpscale.train.data import Dataset, Split, evaluation_batches

EVALUATION_BATCH = 512


@torch.no_grad()
def evaluate(
    model: nn.Module, split: Split, dataset: Dataset, device: torch.device
) -> tuple[float, float] | tuple[None, None]:
    """(mean loss, accuracy as a fraction) over all samples of a split; None each of an empty one.

    The model is in evaluation mode meanwhile: batch norm uses its running statistics.
    """
    if len(split) == 0:
        return None, None
    was_training = model.training
    model.eval()
    loss, correct = 0.0, 0
    for images, labels in evaluation_batches(split, dataset, EVALUATION_BATCH, device):
        logits = model(images)
        loss += cross_entropy(logits, labels, reduction="sum").item()
        correct += int((logits.argmax(1) == labels).sum())
    model.train(was_training)
    return loss / len(split), correct / len(split)
