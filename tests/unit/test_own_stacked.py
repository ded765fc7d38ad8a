"""A user's own networks, stacked: as if each trained alone, whatever is unusual about them."""

import copy
import itertools
from pathlib import Path
from typing import Any

import pytest
import torch

from dpscale.config.sections import TrainingConfig
from dpscale.plan.spec import OwnFile, own_file
from dpscale.studies import load_config
from dpscale.studies.local_sgd.measure.team import StackedTeam
from dpscale.studies.model_averaging.config import AveragingArm
from dpscale.studies.model_averaging.measure.trainees import build_trainee
from dpscale.train.data import Batch, build_loader, map_tensors
from dpscale.train.data.own import OwnTask
from dpscale.train.stacked import Stack, dealt
from dpscale.train.worker import Place

FILE = Path(__file__).parents[1] / "own_training.py"
STUDIES = ("sweep", "large_batch", "replicas", "data_parallel", "scaling", "ledger")
CPU = torch.device("cpu")
PLACE = Place(0, 1, 1, CPU)
LEARNERS, EACH = 3, 4
SGD: dict[str, Any] = {"lr": 0.05, "momentum": 0.9}


@pytest.fixture(scope="module")
def task() -> OwnTask:
    # Inputs a dict, targets a tuple; tied, frozen and unused layers, a buffer of integers.
    own = own_file(load_config({"name": "x", "own": {"file": str(FILE)}} | dict.fromkeys(STUDIES)))
    assert isinstance(own, OwnFile)
    return OwnTask(own)


@pytest.fixture(scope="module")
def batches(task: OwnTask) -> list[Batch]:
    loader = build_loader(
        task.train,
        task,
        loader="resident",
        batch=LEARNERS * EACH,
        workers=1,
        rank=0,
        seed=0,
        augment=False,
        device=CPU,
    )
    return list(itertools.islice(loader.batches(1), 4))


def test_a_stack_trains_as_its_networks_would_alone(task, batches) -> None:
    torch.manual_seed(0)
    apart = [task.network() for _ in range(LEARNERS)]
    stack = Stack([copy.deepcopy(one) for one in apart], CPU, task)
    together = torch.optim.SGD(stack.parameters.values(), **SGD)
    for batch in batches:
        losses = stack.backward(*dealt(batch, LEARNERS))
        together.step()
    for index, network in enumerate(apart):
        optimizer = torch.optim.SGD(network.parameters(), **SGD)
        for batch in batches:
            inputs, targets = dealt(batch, LEARNERS)
            optimizer.zero_grad()
            outputs = network({name: one[index] for name, one in inputs.items()})
            loss = task.loss(outputs, tuple(one[index] for one in targets))
            loss.backward()
            optimizer.step()
        assert losses[index] == pytest.approx(loss.item(), rel=1e-5)
        state = dict(network.named_parameters()) | dict(network.named_buffers())
        for key, value in {**stack.parameters, **stack.buffers}.items():
            torch.testing.assert_close(value[index], state[key], rtol=1e-5, atol=1e-6)
        assert int(stack.buffers["calls"][index]) == len(batches)


def test_a_frozen_layer_of_a_stack_stays_as_it_is(task, batches) -> None:
    stack = Stack([task.network()] * 2, CPU, task)
    before = stack.parameters["frozen.weight"].clone()
    optimizer = torch.optim.SGD(stack.parameters.values(), lr=0.5, weight_decay=0.1)
    stack.backward(*dealt(batches[0], 2))
    optimizer.step()
    assert torch.equal(stack.parameters["frozen.weight"], before)
    stack.keep([1])
    assert not stack.parameters["frozen.weight"].requires_grad


def test_learners_that_average_in_every_step_train_as_one(task, batches) -> None:
    torch.manual_seed(0)
    network = task.network()
    training = TrainingConfig(**SGD, weight_decay=0.0)
    ends = []
    for learners in (1, LEARNERS):
        team = StackedTeam(
            [copy.deepcopy(network)],
            [task],
            PLACE,
            training,
            learners=learners,
            local_steps=1,
            local_from=None,
        )
        for batch in batches:
            team.step(map_tensors(lambda one: one.unsqueeze(0), batch))
        team.finish()
        (network_of_all,) = team.networks()
        ends.append(dict(network_of_all.named_parameters()))
    for name, value in ends[0].items():
        torch.testing.assert_close(ends[1][name], value, rtol=1e-5, atol=1e-6)
    assert not torch.equal(ends[0]["words.weight"], network.words.weight)


@pytest.mark.parametrize("algorithm", ["sgd", "sma"])
def test_model_averaging_trains_it(task, batches, algorithm) -> None:
    torch.manual_seed(0)
    arm = AveragingArm(
        name="one",
        algorithm=algorithm,
        learners=LEARNERS,
        batch=EACH,
        lr=0.05,
        alpha=1 / LEARNERS,
        tau=1,
    )
    training = TrainingConfig(momentum=0.9, weight_decay=0.0)
    trainee = build_trainee(task.network(), task, arm, training, PLACE, len(batches))
    losses = [float(trainee.step(batch)) for _ in range(10) for batch in batches]
    assert losses[-1] < 0.5 * losses[0]
    inputs, targets = batches[0]
    assert float(task.loss(trainee.network()(inputs), targets)) < losses[0]
