"""Evaluations of S1 that end as soon as they are decided."""

from collections.abc import Iterator, Sequence

import pytest
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from dpscale.studies.steps_to_goal.measure.validation import LOOKS, LabelledImages
from dpscale.train.data import Dataset, Split
from dpscale.train.data.task import EVALUATION_BATCH

CPU = torch.device("cpu")
ANSWERS = 2 * EVALUATION_BATCH + 101  # more than the labels of any split here


class Networks:
    """Each gets the samples of some labels wrong; notes how many samples each was asked for."""

    def __init__(self, wrong: Sequence[range]) -> None:
        self.wrong, self.asked = wrong, [0] * len(wrong)

    def outputs(self, inputs: Tensor, places: Sequence[int]) -> Iterator[Tensor]:
        labels = (inputs[:, 0] * 255 + inputs[:, 1] * 255 * 256).round().long().flatten()
        for place in places:
            self.asked[place] += len(labels)
            said = [label + (label in self.wrong[place]) for label in labels.tolist()]
            yield one_hot(torch.tensor([said]), ANSWERS).float()


def validation(samples: int) -> LabelledImages:
    """A split in which each sample has a label of its own, which its two channels spell."""
    labels = torch.arange(samples)
    images = torch.stack([labels % 256, labels // 256], 1).to(torch.uint8)[..., None, None]
    one = Split(images, labels)
    dataset = Dataset("numbers", one, one, one, samples, (0.0, 0.0), (1.0, 1.0))
    return LabelledImages(one, dataset, CPU)


@pytest.mark.parametrize("samples", [1, LOOKS[0], 400, 2 * EVALUATION_BATCH + 100])
def test_every_sample_counts_once_for_the_networks_in_question(samples):
    given = validation(samples)
    networks = Networks([range(0), range(samples), range(samples // 2), range(3, 5)])
    for _ in "ab":  # again in another order
        shares = given.wrong_shares(networks, [2, 0, 1])
        assert shares.tolist() == [samples // 2 / samples, 0.0, 1.0]
    assert networks.asked == [2 * samples, 2 * samples, 2 * samples, 0]


def test_a_share_up_to_the_one_in_question_is_exact_and_one_beyond_it_is_beyond():
    networks = Networks([range(19), range(20), range(21), range(300, 400)])
    shares = validation(400).wrong_shares(networks, range(4), beyond=20 / 400)
    assert shares[:2].tolist() == [19 / 400, 20 / 400]
    assert bool((shares[2:] > 20 / 400).all())


def test_the_samples_that_most_networks_got_wrong_come_first():
    given = validation(400)
    networks = Networks([range(360, 400), range(368, 400), range(0)])
    given.wrong_shares(networks, range(3), beyond=0.05)
    assert networks.asked == [400, 400, 400]  # the mistakes stand at the end
    given.wrong_shares(networks, range(3))
    networks.asked = [0, 0, 0]
    given.wrong_shares(networks, range(3), beyond=0.05)
    assert networks.asked == [LOOKS[0], LOOKS[0], 400]
