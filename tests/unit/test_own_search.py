"""S1 and E2 of a user's own training: a search of it in stacks finds what trials alone find."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_leaves, tree_map

from dpscale.config import ConfigError
from dpscale.plan import Spec
from dpscale.studies import load_config, planned_runs
from dpscale.studies.steps_to_goal.measure.groups import LoopGroup, Point, StackedGroup
from dpscale.studies.steps_to_goal.measure.noise import AT_ONCE, gradient_squares
from dpscale.studies.steps_to_goal.measure.search import measure_search
from dpscale.studies.steps_to_goal.measure.supply import SeedBatches, loader
from dpscale.studies.steps_to_goal.measure.validation import CountedAnswers
from dpscale.train.data import DatasetError
from dpscale.train.data.own import OwnTask
from dpscale.train.evaluate import evaluate
from dpscale.train.network import seeded_network
from dpscale.train.tries import stacked
from dpscale.train.worker import Place

FILE = Path(__file__).parents[1] / "own_searched.py"
STUDIES = ("sweep", "large_batch", "replicas", "data_parallel", "scaling", "ledger")
CPU = torch.device("cpu")
PLACE = Place(0, 1, 1, CPU)
GOAL: dict[str, Any] = {"goal_error_frac": 0.5}
POINTS = [Point(0.3, 0.0), Point(0.3, 0.5), Point(0.05, 0.9)]
SEARCH: dict[str, Any] = {
    "models": [GOAL | {"optimizers": ["momentum"]}],
    "batch_sizes": [16],
    "trials": 10,
    "finalists": 2,
    "selection_seeds": [9, 8],
    "seeds": [0, 1, 2],
    "space": {"effective_lr_low": 0.1, "effective_lr_high": 3.0, "momentum_rest_low": 0.1},
    "budget": {"max_steps": 120},
    "noise": {"batch": 16, "points": 2, "samples": 32},
}
CHOOSE: dict[str, Any] = {"workers": [1, 2], "per_worker_batches": [8, 16]}


def raw(file: Path = FILE, **sections: Any) -> dict[str, Any]:
    own = {"file": str(file), "arguments": {"width": 16}}
    return {"name": "own", "own": own} | dict.fromkeys(STUDIES) | sections


def spec(**options: Any) -> Spec:
    (only,) = planned_runs(load_config(raw(steps_to_goal=SEARCH | options))).values()
    return only


@pytest.fixture(scope="module")
def task() -> OwnTask:
    own = spec().own
    assert own is not None
    return OwnTask(own).checked()


def test_a_stacked_search_finds_the_same_steps_as_one_at_a_time(task) -> None:
    found = []
    for samples in (4096, 128, 1):  # one stack; two of 5 trials; none
        fields = measure_search(spec(stacked_samples=samples), task, PLACE).fields
        keys = ("trial", "role", "seed", "global_batch", "status", "steps", "steps_to_goal", "lr")
        found.append([tuple(row[key] for key in keys) for row in fields["trials"]])
    assert found[0] == found[1] == found[2]
    ended = {(row[1], row[4]) for row in found[0]}
    assert ended >= {("search", "complete"), ("search", "incomplete"), ("repeat", "complete")}
    tested = [row for row in fields["curves"] if row.get("test_accuracy_frac") is not None]
    assert {row["test_accuracy_frac"] * 16 % 1 for row in tested} != {0.0}  # of those asked for
    probes = fields["gradient_squares"]
    assert {row["big_batch"] for row in probes} == {32}
    assert all(row["small_gradient_square"] > row["big_gradient_square"] for row in probes)


@pytest.mark.parametrize("kind", [StackedGroup, LoopGroup])
def test_wrong_shares_are_those_that_an_evaluation_of_each_network_finds(task, kind) -> None:
    networks = [seeded_network(spec(), task, seed) for seed in range(3)]
    group = kind(networks, POINTS, task, CPU, nesterov=False, weight_decay=0.0)
    batches = SeedBatches(task, 8, [0], CPU).batches(1)
    alone = LoopGroup(networks, POINTS, task, CPU, nesterov=False, weight_decay=0.0)
    for batch, shared in islice(batches, 30):
        torch.testing.assert_close(
            group.step(batch, shared=shared), alone.step(batch, shared=True), rtol=1e-4, atol=1e-5
        )
    found = CountedAnswers(task.validation, task, CPU, 5).wrong_shares(group, [0, 2])
    trained = [network for network, _ in alone._members]
    for share, place in zip(found.tolist(), (0, 2), strict=True):
        accuracy = evaluate(trained[place], task.validation, task, CPU, batch=24).accuracy_frac
        assert accuracy is not None
        assert share == 1 - accuracy < 0.95


def test_a_network_of_which_nothing_is_counted_gets_all_wrong(task, monkeypatch) -> None:
    monkeypatch.setattr(task, "correct", lambda outputs, targets: (0, 0))
    group = LoopGroup([task.network()], POINTS[:1], task, CPU, nesterov=False, weight_decay=0.0)
    shares = CountedAnswers(task.validation, task, CPU, 8).wrong_shares(group, [0])
    assert shares.tolist() == [1.0]


def test_trials_get_what_the_loaders_of_their_seeds_give(task) -> None:
    (together, shared), *_ = SeedBatches(task, 4, [5, 7, 5], CPU).batches(1)
    assert not shared
    for place, seed in enumerate((5, 7, 5)):
        own = next(iter(loader(task, 4, seed, CPU).batches(1)))
        for found, expected in zip(tree_leaves(together), tree_leaves(own), strict=True):
            assert torch.equal(found[place], expected)
    (alone, shared), *_ = SeedBatches(task, 4, [5, 5], CPU).batches(1)
    assert shared
    assert [leaf.shape[0] for leaf in tree_leaves(alone)] == [4] * 4


def test_squared_norms_are_of_each_chunk_and_of_their_mean(task) -> None:
    network = seeded_network(spec(), task, 0)
    chunks = list(islice(loader(task, 1, 0, CPU).batches(1), AT_ONCE + 3))
    small, big = gradient_squares(network, chunks, task, CPU)

    def square(inputs: Any, targets: Any) -> float:
        network.zero_grad()
        task.loss(network(inputs), targets).backward()
        gradients = [one.grad for one in network.parameters() if one.grad is not None]
        return sum(float(one.square().sum()) for one in gradients)

    assert small == pytest.approx(sum(square(*one) for one in chunks) / len(chunks), rel=1e-4)
    whole = tree_map(lambda *parts: torch.cat(parts), *chunks)
    assert big == pytest.approx(square(*whole), rel=1e-4)


@pytest.mark.parametrize(
    ("old", "new", "lacking"),
    [
        ("def correct", "def counted", "no function correct"),
        ('"validation": 24', '"validation": 0', "no samples of 'validation'"),
    ],
)
def test_a_file_without_a_score_cannot_be_searched(tmp_path, old, new, lacking) -> None:
    file = tmp_path / "mine.py"
    file.write_text(FILE.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    plan = planned_runs(load_config(raw(file, steps_to_goal=SEARCH)))
    own = plan["steps_to_goal-own-momentum"].own
    assert own is not None
    made = OwnTask(own).checked()
    stacked(made)
    with pytest.raises(DatasetError) as caught:
        measure_search(spec(), made, PLACE)
    assert str(caught.value) == (
        f"mine.py: there is {lacking} to choose by, for steps_to_goal; give one, or nothing to "
        "choose"
    )


@pytest.mark.parametrize(
    ("sections", "line"),
    [
        (
            {"steps_to_goal": {"models": [GOAL | {"name": "mlp"}]}},
            'steps_to_goal.models.0.name = "mlp": own.file takes the place of mlp; set it to null',
        ),
        (
            {"steps_to_goal": {"models": [GOAL, GOAL | {"name": "own"}]}},
            "steps_to_goal.models: names a network twice; give each all its optimisers at once",
        ),
        (
            {"steps_to_goal": SEARCH, "choose": CHOOSE | {"model": "mlp"}},
            'choose.model = "mlp": is not in steps_to_goal.models; there is own',
        ),
        (
            {"steps_to_goal": SEARCH, "choose": CHOOSE | {"optimizer": "sgd"}},
            'choose.optimizer = "sgd": is not searched for own; there is momentum',
        ),
    ],
)
def test_only_the_network_of_the_file_is_searched(sections, line) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(raw(**sections))
    assert str(caught.value) == f"config: {line}"


def test_runs_of_a_network_that_has_no_name_are_named_after_the_configurations() -> None:
    plan = planned_runs(load_config(raw(steps_to_goal=SEARCH, choose=CHOOSE)))
    assert "steps_to_goal-own-momentum" in plan
    assert {one.model.name for one in plan.values()} == {"own"}
    assert {one.data.loader for one in plan.values() if one.study == "choose"} == {"dataloader"}
    built_in = {"name": "x", "model": {"name": "mlp"}, "steps_to_goal": SEARCH}
    plan = planned_runs(load_config(built_in | dict.fromkeys(STUDIES)))
    assert list(plan) == ["steps_to_goal-mlp-momentum"]
    assert plan["steps_to_goal-mlp-momentum"].protocol.batch_sizes == (16,)
