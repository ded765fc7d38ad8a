"""LARS by values worked by hand from equation 6 and Algorithm 1 of You et al. (2017)."""

import pytest
import torch
from torch.nn import Parameter

from dpscale.train.optim import Lars


def weights(*values: float) -> Parameter:
    return Parameter(torch.tensor(values))


def step(optimizer: Lars, of: Parameter, *gradient: float) -> list[float]:
    of.grad = torch.tensor(gradient)
    optimizer.step()
    return of.detach().tolist()


def test_the_first_step_has_the_local_rate_of_equation_6() -> None:
    own = weights(3.0, 4.0)
    optimizer = Lars([own], lr=2.0, momentum=0.9, weight_decay=0.1, trust_coefficient=0.01)
    # |w| = 5, |g| = 2: λ = 0.01 · 5 / (2 + 0.1 · 5) = 0.02; g + β w = (0.3, 2.4).
    assert step(optimizer, own, 0.0, 2.0) == pytest.approx([3 - 2 * 0.006, 4 - 2 * 0.048])


def test_the_velocity_keeps_the_momentum_and_not_the_rate() -> None:
    own = weights(3.0, 4.0)
    optimizer = Lars([own], lr=1.0, momentum=0.5, trust_coefficient=0.1)
    # λ = 0.1 · 5 / 5 = 0.1, v = (0.3, 0.4), w = (2.7, 3.6).
    assert step(optimizer, own, 3.0, 4.0) == pytest.approx([2.7, 3.6])
    optimizer.param_groups[0]["lr"] = 2.0
    # |w| = 4.5: λ = 0.09, v = (0.15 + 0.27, 0.2 + 0.36), twice that is taken off.
    assert step(optimizer, own, 3.0, 4.0) == pytest.approx([2.7 - 0.84, 3.6 - 1.12])


def test_a_gradient_of_another_size_makes_the_same_step_without_weight_decay() -> None:
    moved = []
    for size in (1.0, 1000.0):
        own = weights(3.0, 4.0)
        moved.append(step(Lars([own], lr=1.0), own, 0.6 * size, 0.8 * size))
    assert moved[0] == pytest.approx(moved[1])


@pytest.mark.parametrize(("of", "gradient"), [((0.0, 0.0), (3.0, 4.0)), ((3.0, 4.0), (0.0, 0.0))])
def test_where_a_norm_is_zero_the_local_rate_is_one(of, gradient) -> None:
    own = weights(*of)
    made = step(Lars([own], lr=0.5), own, *gradient)
    assert made == pytest.approx([w - 0.5 * g for w, g in zip(of, gradient, strict=True)])


def test_a_group_that_does_not_adapt_takes_plain_steps() -> None:
    own = weights(3.0, 4.0)
    optimizer = Lars([{"params": [own], "adapt": False}], lr=0.1, trust_coefficient=0.001)
    assert step(optimizer, own, 1.0, 1.0) == pytest.approx([2.9, 3.9])


def test_a_parameter_without_a_gradient_stays() -> None:
    own = weights(1.0)
    Lars([own], lr=0.1).step()
    assert own.item() == 1.0
