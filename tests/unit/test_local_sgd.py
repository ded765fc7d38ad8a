"""Local SGD of stacked learners: what it equals, what it counts, and when it averages."""

from dataclasses import replace
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from dpscale.config.sections import DataConfig, TrainingConfig
from dpscale.studies import load_config, planned_runs
from dpscale.studies.local_sgd.measure import runs
from dpscale.studies.local_sgd.measure.runs import measure_local, with_wrong_labels
from dpscale.studies.local_sgd.measure.team import StackedTeam, averages_after
from dpscale.train import progress
from dpscale.train.data import Dataset, Split, load_dataset
from dpscale.train.models import build_model
from dpscale.train.trained import flat_parameters
from dpscale.train.worker import Place

TASK = load_dataset(DataConfig())
PLACE = Place(0, 1, 1, torch.device("cpu"))
TRAINING = TrainingConfig(lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3)
LEARNERS, EACH, STEPS = 4, 6, 7
STUDIES = (
    "sweep",
    "scaling",
    "communication",
    "large_batch",
    "replicas",
    "ledger",
    "data_parallel",
)


def network(name: str = "mlp", seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return build_model(name, in_channels=1, classes=10, image_size=8, zero_gamma=False)


@pytest.fixture(scope="module")
def batches() -> list[tuple[torch.Tensor, torch.Tensor]]:
    torch.manual_seed(1)
    size = LEARNERS * EACH
    return [(torch.randn(size, 1, 8, 8), torch.randint(10, (size,))) for _ in range(STEPS)]


def trained(
    batches: Any,
    *,
    name: str = "mlp",
    learners: int = LEARNERS,
    local_steps: int = 1,
    local_from: int | None = None,
) -> StackedTeam:
    team = StackedTeam(
        [network(name)],
        [TASK],
        PLACE,
        TRAINING,
        learners=learners,
        local_steps=local_steps,
        local_from=local_from,
    )
    for batch in batches:
        team.step(of_seeds(batch))
    team.finish()
    return team


def of_seeds(*batches: tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    images, labels = zip(*batches, strict=True)
    return torch.stack(images), torch.stack(labels)


def mean(team: StackedTeam) -> nn.Module:
    (one,) = team.networks()
    return one


def state(team: StackedTeam) -> dict[str, torch.Tensor]:
    return dict(mean(team).state_dict())


def assert_equal(one: StackedTeam, other: StackedTeam) -> None:
    for name, value in state(one).items():
        torch.testing.assert_close(value, state(other)[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["mlp", "resnet_8x8"])
@pytest.mark.parametrize("local_from", [0, 3])
def test_local_sgd_with_one_step_equals_synchronous_sgd(batches, name, local_from):
    assert_equal(trained(batches, name=name), trained(batches, name=name, local_from=local_from))


def test_mini_batch_sgd_of_several_learners_is_that_of_one_on_all_their_images(batches):
    one = network()
    optimizer = torch.optim.SGD(
        one.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3
    )
    for images, labels in batches:
        optimizer.zero_grad()
        cross_entropy(one(images), labels).backward()
        optimizer.step()
    found = flat_parameters(mean(trained(batches)))
    torch.testing.assert_close(found, flat_parameters(one), rtol=1e-4, atol=1e-5)


def test_three_local_steps_equal_learners_apart_that_are_averaged_by_hand(batches):
    apart = [network() for _ in range(LEARNERS)]
    optimizers = [
        torch.optim.SGD(one.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3)
        for one in apart
    ]

    def average() -> None:
        middle = torch.stack([flat_parameters(one) for one in apart]).mean(0)
        for one in apart:
            nn.utils.vector_to_parameters(middle.clone(), one.parameters())

    for step, (images, labels) in enumerate(batches):
        for index, (one, optimizer) in enumerate(zip(apart, optimizers, strict=True)):
            optimizer.zero_grad()
            cross_entropy(one(images[index::LEARNERS]), labels[index::LEARNERS]).backward()
            optimizer.step()
        if step in (2, 5):
            average()
    average()
    found = flat_parameters(mean(trained(batches, local_steps=3, local_from=0)))
    torch.testing.assert_close(found, flat_parameters(apart[0]), rtol=1e-4, atol=1e-5)


def test_more_local_steps_lead_elsewhere(batches):
    one, three = (trained(batches, local_steps=every, local_from=0) for every in (1, 3))
    assert not torch.allclose(flat_parameters(mean(one)), flat_parameters(mean(three)), atol=1e-4)


@pytest.mark.parametrize(
    ("options", "rounds"),
    [
        ({}, 7),  # each of 7 steps
        ({"local_from": 0}, 7),
        ({"local_from": 0, "local_steps": 3}, 3),  # after steps 3 and 6, and at the end
        ({"local_from": 0, "local_steps": 7}, 1),  # the average after the last step is the final
        ({"local_from": 3, "local_steps": 2}, 5),  # 3 gradients, 2 averages
        ({"local_from": 0, "local_steps": 100}, 1),
        ({"learners": 1}, 0),  # nobody to talk to
    ],
)
def test_rounds_of_communication_are_counted(batches, options, rounds):
    assert trained(batches, **options).rounds == rounds


def test_the_first_average_comes_after_the_first_h_local_steps():
    assert [step for step in range(12) if averages_after(step, 4, 3)] == [6, 9]
    assert not any(averages_after(step, None, 1) for step in range(5))


@pytest.mark.parametrize("local_from", [0, 2])
def test_all_learners_are_equal_after_the_final_average(batches, local_from):
    team = trained(batches, name="resnet_8x8", local_steps=4, local_from=local_from)
    for value in [*team._stack.parameters.values(), *team._stack.buffers.values()]:
        assert (value == value[:1]).all()


def test_an_evaluation_between_averages_changes_nothing(batches):
    teams = [
        StackedTeam(
            [network("resnet_8x8")],
            [TASK],
            PLACE,
            TRAINING,
            learners=2,
            local_steps=4,
            local_from=0,
        )
        for _ in range(2)
    ]
    for batch in batches[:3]:
        for team in teams:
            team.step(of_seeds(batch))
        teams[0].networks()
    assert_equal(*teams)


SEEDS = 3


@pytest.fixture(scope="module")
def drawn() -> list[list[tuple[torch.Tensor, torch.Tensor]]]:
    """Batches of each seed, step by step."""
    torch.manual_seed(2)
    size = LEARNERS * EACH
    return [
        [(torch.randn(size, 1, 8, 8), torch.randint(10, (size,))) for _ in range(SEEDS)]
        for _ in range(STEPS)
    ]


def beside(drawn: Any, name: str, seeds: list[int], left: list[int], **how: Any) -> list[nn.Module]:
    """The networks of some seeds that train side by side, of which a few are left after 4 steps."""
    team = StackedTeam(
        [network(name, seed) for seed in seeds],
        [TASK] * len(seeds),
        PLACE,
        TRAINING,
        learners=LEARNERS,
        **how,
    )
    for step, batches in enumerate(drawn):
        if step == 4 and len(left) < len(seeds):
            team.keep([seeds.index(seed) for seed in left])
        team.step(of_seeds(*(batches[seed] for seed in seeds)))
    team.finish()
    return team.networks()


@pytest.mark.parametrize("name", ["mlp", "resnet_8x8"])
@pytest.mark.parametrize(("local_from", "local_steps"), [(None, 1), (0, 3), (3, 2)])
def test_seeds_train_side_by_side_as_each_does_alone(drawn, name, local_from, local_steps):
    how = {"local_from": local_from, "local_steps": local_steps}
    together = beside(drawn, name, [0, 1, 2], [0, 1, 2], **how)
    without_one = beside(drawn, name, [0, 1, 2], [0, 2], **how)
    for seed in range(SEEDS):
        (alone,) = beside(drawn, name, [seed], [seed], **how)
        others = [together[seed]] + ([without_one[seed // 2]] if seed != 1 else [])
        for other in others:
            for key, value in other.state_dict().items():
                torch.testing.assert_close(value, alone.state_dict()[key], rtol=1e-4, atol=1e-5)


def test_a_seed_that_diverges_leaves_the_others_as_they_are(monkeypatch):
    study = {
        "workers": 4,
        "small_workers": 2,
        "per_worker_batch": 16,
        "epochs": 3,
        "decay_epochs": [2],
        "evaluate_epochs": 1,
        "label_noise_fracs": [0.2],
        "post_local_steps": [2],
    }
    config = load_config({"name": "x", "local_sgd": study, **dict.fromkeys(STUDIES)})
    spec = planned_runs(config)["local_sgd-noise20-a2-a5"]

    def ends(broken: int | None) -> dict[tuple[str, int], Any]:
        real = runs.seeded_network

        def fresh(spec: Any, task: Any, seed: int) -> nn.Module:
            made = real(spec, task, seed)
            if seed == broken:
                for value in made.parameters():
                    value.data.fill_(float("nan"))
            return made

        monkeypatch.setattr(runs, "seeded_network", fresh)
        trials = runs.measure_local(spec, TASK, PLACE).fields
        monkeypatch.setattr(runs, "seeded_network", real)
        last = {row["trial"]: row.get("test_loss") for row in trials["curves"]}
        return {
            (row["arm"], row["seed"]): (row["status"], last[row["trial"]])
            for row in trials["trials"]
        }

    whole, broken = ends(None), ends(1)
    for (name, seed), (status, loss) in broken.items():
        if seed == 1:
            assert (status, loss) == ("diverged", None)
        else:
            assert (status, loss) == ("complete", pytest.approx(whole[name, seed][1], rel=1e-4))


def test_seeds_have_stacks_of_as_many_samples_as_there_is_room_for():
    def stacks(most: int) -> list[list[int]]:
        study = {"workers": 4, "per_worker_batch": 16, "seeds": [3, 4, 5], "stacked_samples": most}
        config = load_config({"name": "x", "local_sgd": study, **dict.fromkeys(STUDIES)})
        spec = planned_runs(config)["local_sgd-noise20-a2-a5"]
        run = runs._Run(spec, spec.protocol, TASK, PLACE, None)
        return [list(one) for one in run.stacks(spec.seeds)]

    assert stacks(1) == stacks(127) == [[3], [4], [5]]
    assert stacks(128) == [[3, 4], [5]]
    assert stacks(8192) == [[3, 4, 5]]


def task_of(samples: int) -> Dataset:
    labels = torch.arange(samples) % 10
    return replace(TASK, train=Split(torch.zeros(samples, 1, 2, 2, dtype=torch.uint8), labels))


def test_exactly_the_share_of_labels_is_wrong_and_the_seed_decides_which():
    clean = task_of(1000)
    noisy, again, other = (
        with_wrong_labels(clean, 0.2, seed=seed).train.labels for seed in (1, 1, 2)
    )
    assert int((noisy != clean.train.labels).sum()) == 200
    assert noisy.min() == 0
    assert noisy.max() == 9
    assert torch.equal(noisy, again)
    assert not torch.equal(noisy, other)
    assert torch.equal(clean.train.labels, task_of(1000).train.labels)  # it is left alone


def test_without_noise_no_label_changes():
    clean = task_of(50)
    assert with_wrong_labels(clean, 0.0, seed=1) is clean


def test_a_search_of_the_rate_that_goes_on_still_estimates_what_is_left(monkeypatch, capsys):
    study = {
        "workers": 2,
        "small_workers": 1,
        "per_worker_batch": 64,
        "epochs": 2,
        "decay_epochs": [1],
        "warmup_epochs": 0.0,
        "label_noise_fracs": [0.0],
        "evaluate_epochs": 2,
        "seeds": [0],
        "rate_factors": [0.01, 0.1],
        "rate_extensions": 2,
        "tuning_seeds": [100],
    }
    config = load_config({"name": "x", "local_sgd": study, **dict.fromkeys(STUDIES)})
    seconds = count(step=10.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(perf_counter=lambda: next(seconds)))
    spec = planned_runs(config)["local_sgd-noise0-a1"]
    trials = measure_local(spec, load_dataset(DataConfig()), PLACE).fields["trials"]
    # In so few steps the larger rate is better, so that two more are tried.
    assert [row["rate_factor"] for row in trials[:4]] == pytest.approx([0.01, 0.1, 1.0, 10.0])
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 5  # trainings, each evaluated once
    assert [number for number, line in enumerate(lines) if line.endswith(" 0 s left")] == [4]
