"""Searches (S1): stacked trials equal trials one at a time, and how they end."""

import math
from pathlib import Path

import pytest
import torch
import yaml
from torch.nn.functional import cross_entropy

from dpscale.plan import Spec
from dpscale.studies import config_model, load_config, planned_runs
from dpscale.studies.steps_to_goal.config import (
    Budget,
    NoiseScale,
    SearchedModel,
    StepsToGoalConfig,
)
from dpscale.studies.steps_to_goal.measure.groups import (
    LoopGroup,
    Point,
    SideBySide,
    StackedGroup,
    build_group,
)
from dpscale.studies.steps_to_goal.measure.noise import AT_ONCE, gradient_squares
from dpscale.studies.steps_to_goal.measure.search import choose, draw_points, measure_search
from dpscale.studies.steps_to_goal.measure.supply import SeedBatches
from dpscale.studies.steps_to_goal.measure.validation import LabelledImages
from dpscale.train.data import Dataset, load_dataset
from dpscale.train.network import seeded_network
from dpscale.train.training import Trial
from dpscale.train.worker import Place

CPU = torch.device("cpu")
POINTS = [Point(0.05, 0.0), Point(0.3, 0.0), Point(0.02, 0.9), Point(0.1, 0.5)]


def spec(optimizer: str = "nesterov", **options) -> Spec:
    study = StepsToGoalConfig(
        models=(SearchedModel(name="mlp", goal_error_frac=0.3, optimizers=(optimizer,)),),
        **{
            "batch_sizes": (16, 64),
            "trials": 6,
            "finalists": 2,
            "selection_seeds": (9, 8),
            "seeds": (0, 1, 2),
            "noise": NoiseScale(batch=16, points=2, samples=64),
            "budget": Budget(max_steps=60),
            **options,
        },
    )
    every = planned_runs(config_model()(name="t", steps_to_goal=study)).values()
    return next(one for one in every if one.kind == "search")


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load_dataset(spec().data)


def stacks_of_two(networks, points, task, device, **options):
    groups = [
        StackedGroup(
            networks[first : first + 2], points[first : first + 2], task, device, **options
        )
        for first in (0, 2)
    ]
    return SideBySide(groups, [2, 2])


KINDS = (StackedGroup, LoopGroup, stacks_of_two)


def group(kind, own: Spec, dataset: Dataset, seeds: list[int], *, nesterov: bool, decay: float):
    networks = [seeded_network(own, dataset, seed) for seed in seeds]
    return kind(networks, POINTS, dataset, CPU, nesterov=nesterov, weight_decay=decay)


def test_stacks_are_of_equal_size_and_none_are_made_of_a_few(dataset):
    networks = [seeded_network(spec(), dataset, 0)] * 20
    options = {"nesterov": False, "weight_decay": 0.0}
    made = {
        most: build_group(networks, POINTS * 5, dataset, CPU, at_once=most, **options)
        for most in (7, 8, 19, 20)
    }
    assert [type(one) for one in made.values()] == [LoopGroup, SideBySide, SideBySide, StackedGroup]
    assert (made[8].sizes, made[19].sizes) == ([7, 7, 6], [10, 10])


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("seeds", [[3, 3, 3, 3], [0, 1, 2, 3]])
def test_the_stacked_update_equals_torch_sgd_one_at_a_time(dataset, nesterov, seeds):
    own, losses = spec(), []
    for kind in KINDS:
        made = group(kind, own, dataset, seeds, nesterov=nesterov, decay=1e-3)
        batches = SeedBatches(dataset, 16, seeds, CPU).batches(1)
        steps = [next(batches) for _ in range(12)]
        losses.append(torch.stack([made.step(batch, shared=shared) for batch, shared in steps]))
    for own_losses in losses[1:]:
        torch.testing.assert_close(losses[0], own_losses, rtol=1e-4, atol=1e-5)


def test_a_group_goes_on_with_those_kept_alone(dataset):
    own, seeds = spec(), [3, 3, 3, 3]
    for kind in KINDS:
        made, kept = (group(kind, own, dataset, seeds, nesterov=True, decay=0.0) for _ in "ab")
        batches = SeedBatches(dataset, 16, seeds, CPU).batches(1)
        left = [0, 1, 2, 3]
        for number, (batch, _) in zip(range(8), batches, strict=False):
            whole = made.step(batch, shared=True)
            if number in (2, 4):
                kept.keep([0, 2, 3] if number == 2 else [0, 2])
                left = [0, 2, 3] if number == 2 else [0, 3]
            part = kept.step(batch, shared=True)
            torch.testing.assert_close(part, whole[left], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_an_evaluation_that_may_stop_is_exact_up_to_the_goal_and_beyond_it_above(dataset, kind):
    own = spec()
    made = group(kind, own, dataset, [0, 1, 2, 3], nesterov=True, decay=0.0)
    batches = SeedBatches(dataset, 16, [0, 1, 2, 3], CPU).batches(1)
    for batch, shared in [next(batches) for _ in range(30)]:
        made.step(batch, shared=shared)
    validation = LabelledImages(dataset.validation, dataset, CPU)
    every = range(len(POINTS))
    whole = validation.wrong_shares(made, every)
    assert torch.equal(validation.wrong_shares(made, [1, 3]), whole[[1, 3]])
    goal = float(whole.median())
    stopped = validation.wrong_shares(made, every, beyond=goal)
    within = whole <= goal
    assert 0 < int(within.sum()) < len(POINTS)
    assert torch.equal(stopped[within], whole[within])
    assert bool((stopped[~within] > goal).all())


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "nesterov"])
def test_a_stacked_search_finds_the_same_steps_as_one_at_a_time(dataset, optimizer):
    found = []
    for samples in (4096, 512, 1):  # one stack; two at the larger batch; none
        own = spec(optimizer, stacked_samples=samples, trials=12)
        rows = measure_search(own, dataset, Place(0, 1, 1, CPU)).fields["trials"]
        keys = ("trial", "role", "seed", "global_batch", "status", "steps", "steps_to_goal", "lr")
        found.append([tuple(row[key] for key in keys) for row in rows])
    assert found[0] == found[1] == found[2]
    assert {row[4] for row in found[0]} >= {"complete", "incomplete"}


def test_a_search_repeats_bit_by_bit(dataset):
    first, second = (measure_search(spec(), dataset, Place(0, 1, 1, CPU)).fields for _ in "ab")
    timed = {"wall_s", "evaluation_s"}
    for name, rows in first.items():
        kept, again = (
            [{k: v for k, v in row.items() if k not in timed} for row in table]
            for table in (rows, second[name])
        )
        assert kept == again, name


def test_the_record_holds_trials_finals_repeats_with_test_errors_and_noise(dataset):
    fields = measure_search(spec(), dataset, Place(0, 1, 1, CPU)).fields
    roles = [(row["role"], row["global_batch"]) for row in fields["trials"]]
    assert roles.count(("search", 16)) == 6
    assert roles.count(("repeat", 64)) == 3
    repeats = [row["trial"] for row in fields["trials"] if row["role"] == "repeat"]
    tested = [row for row in fields["curves"] if row.get("test_accuracy_frac") is not None]
    assert [row["trial"] for row in tested] == repeats
    probes = fields["gradient_squares"]
    assert [row["big_batch"] for row in probes] == [64] * 9
    assert fields["searches"][0]["goal_error_frac"] == 0.3


def test_points_fill_the_space_evenly_and_differ_between_batch_sizes():
    search = spec(trials=64).protocol
    points = draw_points(search, 16)
    effective = [math.log(point.lr / (1 - point.momentum)) for point in points]
    low, high = math.log(0.01), math.log(100.0)
    halves = sum(value < (low + high) / 2 for value in effective)
    assert all(low <= value <= high for value in effective)
    assert 30 <= halves <= 34
    assert all(0 <= point.momentum <= 0.99 for point in points)
    assert points == draw_points(search, 16) != draw_points(search, 64)
    assert {point.momentum for point in draw_points(spec("sgd").protocol, 16)} == {0.0}


def test_the_study_at_its_published_size_loads_and_plans_a_run_a_search():
    path = Path(__file__).parents[2] / "config" / "steps_to_goal.yaml"
    plan = planned_runs(load_config(yaml.safe_load(path.read_text(encoding="utf-8"))))
    assert list(plan) == [
        f"steps_to_goal-{name}"
        for name in (
            "resnet_8x8-sgd",
            "resnet_8x8-momentum",
            "resnet_8x8-nesterov",
            "resnet20-sgd",
            "resnet20-momentum",
        )
    ]
    assert {one.protocol.noise.batch for one in plan.values()} == {512}


def test_the_winner_has_the_lowest_median_and_a_missed_goal_counts_as_slowest():
    lucky, steady = Point(1.0, 0.0), Point(0.1, 0.0)

    def ended(point: Point, steps: int | None) -> Trial:
        given = {"lr": point.lr, "momentum": point.momentum}
        return Trial(0, given, steps=steps or 99, steps_to_goal=steps)

    found = [ended(lucky, 5), ended(steady, 8)]
    finals = [ended(lucky, None), ended(lucky, None), ended(steady, 9), ended(steady, 10)]
    assert choose(found, finals) == steady
    assert choose(found, []) is None


def test_squared_norms_are_of_each_chunk_and_of_their_mean(dataset):
    model = seeded_network(spec(), dataset, 0)
    chunks = [
        next(SeedBatches(dataset, 8, [seed], CPU).batches(1))[0] for seed in range(AT_ONCE + 3)
    ]
    small, big = gradient_squares(model, chunks, dataset, CPU)
    assert all(parameter.grad is None for parameter in model.parameters())

    def square(images, labels) -> float:
        model.zero_grad()
        cross_entropy(model(images), labels).backward()
        return sum(float(p.grad.square().sum()) for p in model.parameters())

    apart = [square(*chunk) for chunk in chunks]
    assert small == pytest.approx(sum(apart) / len(chunks), rel=1e-4)
    whole = [torch.cat(parts) for parts in zip(*chunks, strict=True)]
    assert big == pytest.approx(square(*whole), rel=1e-4)
    assert small > big
