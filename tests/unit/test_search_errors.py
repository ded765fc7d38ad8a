"""Evaluations of S1 that end as soon as they are decided."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from dpscale.studies.steps_to_goal.measure.race import LOOKS, Validation
from dpscale.train.data import Dataset, Split
from dpscale.train.data.task import EVALUATION_BATCH

CPU = torch.device("cpu")


class Networks:
    """Each gets the samples of some labels wrong; notes how many samples each was asked for."""

    def __init__(self, wrong: Sequence[range]) -> None:
        self.wrong, self.asked = wrong, [0] * len(wrong)

    def right(self, images: Tensor, labels: Tensor, places: Sequence[int]) -> Tensor:
        for place in places:
            self.asked[place] += len(labels)
        rows = [[label not in self.wrong[place] for label in labels.tolist()] for place in places]
        return torch.tensor(rows)


def validation(samples: int) -> Validation:
    """A split in which each sample has a label of its own."""
    one = Split(torch.zeros(samples, 1, 1, 1, dtype=torch.uint8), torch.arange(samples))
    dataset = Dataset("numbers", one, one, one, samples, (0.0,), (1.0,))
    return Validation(one, dataset, CPU)


@pytest.mark.parametrize("samples", [1, LOOKS[0], 400, 2 * EVALUATION_BATCH + 100])
def test_every_sample_counts_once_for_the_networks_in_question(samples):
    given = validation(samples)
    networks = Networks([range(0), range(samples), range(samples // 2), range(3, 5)])
    for _ in "ab":  # again in another order
        shares = given.wrong_shares(networks.right, [2, 0, 1])
        assert shares.tolist() == [samples // 2 / samples, 0.0, 1.0]
    assert networks.asked == [2 * samples, 2 * samples, 2 * samples, 0]


def test_a_share_up_to_the_one_in_question_is_exact_and_one_beyond_it_is_beyond():
    networks = Networks([range(19), range(20), range(21), range(300, 400)])
    shares = validation(400).wrong_shares(networks.right, range(4), beyond=20 / 400)
    assert shares[:2].tolist() == [19 / 400, 20 / 400]
    assert bool((shares[2:] > 20 / 400).all())


def test_the_samples_that_most_networks_got_wrong_come_first():
    given = validation(400)
    networks = Networks([range(360, 400), range(368, 400), range(0)])
    given.wrong_shares(networks.right, range(3), beyond=0.05)
    assert networks.asked == [400, 400, 400]  # the mistakes stand at the end
    given.wrong_shares(networks.right, range(3))
    networks.asked = [0, 0, 0]
    given.wrong_shares(networks.right, range(3), beyond=0.05)
    assert networks.asked == [LOOKS[0], LOOKS[0], 400]
