"""What an evaluation keeps: losses, accuracy, and which samples are right."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from dpscale.config.sections import DataConfig
from dpscale.records.bits import packed, unpacked
from dpscale.train.data import Split, load_dataset
from dpscale.train.data.task import EVALUATION_BATCH
from dpscale.train.evaluate import evaluate
from dpscale.train.training import evaluation_columns

CPU = torch.device("cpu")


class SaysZero(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        return nn.functional.one_hot(torch.zeros(len(images), dtype=torch.long), 10).float()


def test_flags_come_back_and_a_text_of_another_length_is_refused():
    flags = np.array([True, False, True] * 4)
    assert packed(flags) == "ttA="  # 10110110 1101
    assert unpacked("ttA=", 12).tolist() == flags.tolist()
    with pytest.raises(ValueError, match="2 bytes are not those of 17 flags"):
        unpacked("ttA=", 17)


def test_an_evaluation_keeps_which_test_samples_are_right_in_their_order():
    task = load_dataset(DataConfig())
    images, labels = (torch.cat([one, one]) for one in (task.test.images, task.test.labels))
    assert len(labels) > EVALUATION_BATCH
    seen = evaluation_columns("test", evaluate(SaysZero(), Split(images, labels), task, CPU))
    zeros = labels == 0
    assert unpacked(seen["test_right"], len(labels)).tolist() == zeros.tolist()
    assert seen["test_accuracy_frac"] == pytest.approx(float(zeros.float().mean()))


def test_of_other_splits_and_of_samples_with_several_answers_nothing_is_kept():
    task = load_dataset(DataConfig())
    assert "validation_right" not in evaluation_columns(
        "validation", evaluate(SaysZero(), task.validation, task, CPU)
    )
    assert task.right(torch.zeros(2, 10, 3), torch.zeros(2, 3, dtype=torch.long)) is None
    empty = evaluate(SaysZero(), [], task, CPU)
    assert evaluation_columns("test", empty) == {
        "test_loss": None,
        "test_accuracy_frac": None,
        "test_right": None,
    }
