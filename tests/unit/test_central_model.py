"""Synchronous model averaging, by hand on one parameter, and in a stack of networks.

Two learners minimise (w - t)^2 / 2 with t = 0 and 2 from w = z = 2; γ = 0.5, α = 0.25, μ = 0.5.
"""

import pytest
import torch
from torch.optim import SGD

from dpscale.config.sections import DataConfig, ScheduleConfig, TrainingConfig
from dpscale.derive.formulas import averaged_drift_ratio, momentum_drift_ratio
from dpscale.studies.model_averaging.config import AveragingArm
from dpscale.studies.model_averaging.measure.trainees import CentralModel, ModelAveraging
from dpscale.train.data import load_dataset
from dpscale.train.models import build_model
from dpscale.train.worker import Place

TARGETS = torch.tensor([[0.0], [2.0]])
CPU = torch.device("cpu")


class Quadratic:
    def __init__(self, targets=TARGETS, *, alpha=0.25, momentum=0.5, tau=1):
        self.targets = targets
        self.w = torch.full_like(targets, 2.0).requires_grad_()
        self.optimizer = SGD([self.w], lr=0.5)
        self.central = CentralModel([self.w], alpha=alpha, momentum=momentum, tau=tau)

    def step(self):
        self.w.grad = (self.w - self.targets).detach()
        self.central.step(self.optimizer)
        return self.w.flatten().tolist(), self.central.values[0].item()


def test_three_iterations_by_hand():
    averaged = Quadratic()
    assert averaged.step() == ([1.0, 2.0], 2.0)  # no correction yet: all stand at z
    assert averaged.step() == ([0.75, 2.0], 1.75)  # c = (-0.25, 0), from w and z as they were
    # c = (-0.25, 0.0625); z = 1.75 - 0.1875 + 0.5 (1.75 - 2)
    assert averaged.step() == ([0.625, 1.9375], 1.4375)
    assert averaged.central.rounds == 3


def test_between_averagings_learners_take_plain_steps():
    averaged = Quadratic(tau=2)
    assert averaged.step() == ([1.0, 2.0], 2.0)
    assert averaged.step() == ([0.75, 2.0], 1.75)
    assert averaged.step() == ([0.375, 2.0], 1.75)
    assert averaged.central.rounds == 1


def test_one_learner_with_weight_one_is_followed_one_step_behind():
    averaged = Quadratic(torch.zeros(1, 1), alpha=1.0, momentum=0.0)
    assert averaged.step() == ([1.0], 2.0)
    assert averaged.step() == ([1.5], 1.0)  # z - γ w of before


def test_a_restart_brings_all_to_z_and_forgets_the_momentum():
    averaged = Quadratic()
    for _ in range(3):
        averaged.step()
    averaged.central.restart()
    assert averaged.w.flatten().tolist() == [1.4375, 1.4375]
    assert averaged.step()[1] == 1.4375


@pytest.mark.parametrize(("learners", "alpha", "momentum"), [(8, 1 / 8, 0.9), (4, 0.1, 0.5)])
def test_along_a_constant_gradient_z_moves_as_the_formula_says(learners, alpha, momentum):
    w = torch.zeros(learners, 1, dtype=torch.float64, requires_grad=True)
    optimizer = SGD([w], lr=0.5)
    central = CentralModel([w], alpha=alpha, momentum=momentum)
    places = []
    for _ in range(2000):
        w.grad = torch.ones_like(w)
        central.step(optimizer)
        places.append(central.values[0].item())
    ratio = (places[-2] - places[-1]) / 0.5
    assert ratio == pytest.approx(averaged_drift_ratio(learners, momentum), rel=1e-6)


def test_the_drift_ratios_by_hand():
    assert momentum_drift_ratio(0.9) == pytest.approx(10.0)
    assert averaged_drift_ratio(4, 0.5) == pytest.approx(8 / 9)  # 1 / (1 + 0.5 / 4)


def averaging(model: str, decay_epochs: tuple[int, ...] = ()) -> ModelAveraging:
    torch.manual_seed(0)
    network = build_model(model, in_channels=1, classes=10, image_size=8, zero_gamma=False)
    arm = AveragingArm(name="sma", algorithm="sma", learners=3, batch=8, lr=0.1, alpha=0.3, tau=1)
    schedule = ScheduleConfig(decay="step" if decay_epochs else "none", decay_epochs=decay_epochs)
    training = TrainingConfig(epochs=4, schedule=schedule)
    task = load_dataset(DataConfig())
    return ModelAveraging(network, task, arm, training, Place(0, 1, 1, CPU), 1)


def batch(seed: int):
    torch.manual_seed(seed)
    return torch.randn(3, 8, 1, 8, 8), torch.randint(10, (3, 8))


def test_learners_go_back_to_z_when_the_rate_drops():
    trained = averaging("mlp", (2,))
    trained.learn(batch(0))
    weight = trained._stack.parameters["layers.1.weight"]
    assert not torch.equal(weight[0], weight[1])
    trained.learn(batch(1))  # the last step before the drop
    assert trained.lr == pytest.approx(0.01)
    z = dict(trained.network().named_parameters())["layers.1.weight"]
    assert all(torch.equal(weight[index], z) for index in range(3))


def test_z_is_evaluated_with_the_mean_of_the_learners_running_statistics():
    trained = averaging("resnet_8x8")
    trained.learn(batch(0))
    buffers = dict(trained.network().named_buffers())
    means = [name for name in buffers if name.endswith("running_mean")]
    assert means
    for name in means:
        own = trained._stack.buffers[name]
        assert not torch.equal(own[0], own[1])
        torch.testing.assert_close(buffers[name], own.mean(0))
    assert {int(value) for name, value in buffers.items() if "num_batches" in name} == {1}
