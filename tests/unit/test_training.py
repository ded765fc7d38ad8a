"""The one training: its stops, how trials end, what is evaluated when, and its rows."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dpscale.config.sections import DataConfig
from dpscale.records.columns import TableRow
from dpscale.train.data import Task, load_dataset
from dpscale.train.training import (
    Goal,
    Stepper,
    Supply,
    Training,
    Trial,
    divergence,
    epoch_stops,
    goal_stops,
    tables,
)
from dpscale.train.worker import Place

PLACE = Place(0, 1, 1, torch.device("cpu"))
SETTINGS = {"arm": "a", "global_batch": 1}


class Numbers:
    """A loader of four batches an epoch, each its epoch and its place."""

    def __len__(self) -> int:
        return 4

    def batches(self, epoch: int) -> Iterator[tuple[int, int]]:
        return iter([(epoch, place) for place in range(4)])


class Scripted(Stepper):
    """Trials of which each is at the goal after a step that is written down; below 0: diverged."""

    lr = 0.1

    def __init__(self, task: Task, goals: Sequence[float]) -> None:
        super().__init__(task, PLACE)
        self.goals, self.done, self.seen = list(goals), 0, list[Any]()

    def step(self, batch: Any) -> Tensor:
        self.done += 1
        self.seen.append(batch)
        return torch.tensor([math.nan if goal < 0 else 1.0 for goal in self.goals])

    def network(self) -> nn.Module:
        raise NotImplementedError

    def evaluated(
        self, splits: Sequence[str], places: Sequence[int], *, beyond: float, here: bool
    ) -> list[TableRow]:
        return [
            {f"{split}_accuracy_frac": float(self.done >= self.goals[place]) for split in splits}
            for place in places
        ]

    def keep(self, places: Sequence[int]) -> None:
        self.goals = [self.goals[place] for place in places]


@pytest.fixture(scope="module")
def task() -> Task:
    return load_dataset(DataConfig())


def trained(
    task: Task,
    goals: Sequence[float],
    goal: Goal | None,
    *,
    max_steps: int,
    interval: int = 1,
    **options: Any,
) -> list[Trial]:
    stops = goal_stops(interval) if goal else epoch_stops(4, max_steps // 4)
    trials = [Trial(seed, dict(SETTINGS)) for seed in range(len(goals))]
    return Training(
        trials,
        Scripted(task, goals),
        Supply(Numbers()),
        stops,
        max_steps=max_steps,
        goal=goal,
        splits=["validation"],
        **options,
    ).run()


def ends(trials: Sequence[Trial]) -> list[tuple[str, int, int | None]]:
    return [(one.status, one.steps, one.steps_to_goal) for one in trials]


def test_trials_end_at_the_goal_with_their_steps_or_when_their_loss_is_not_finite(task):
    made = trained(task, [5, 12, 40, -1], Goal(0.1), max_steps=20)
    assert ends(made) == [
        ("complete", 5, 5),
        ("complete", 12, 12),
        ("incomplete", 20, None),
        ("diverged", 1, None),
    ]
    assert divergence(made) == "the loss was not finite: a with seed 3"


def test_patience_counts_from_the_first_trial_at_the_goal(task):
    made = trained(task, [5, 10, 11], Goal(0.1, patience=2.0), max_steps=100)
    assert ends(made) == [("complete", 5, 5), ("complete", 10, 10), ("incomplete", 10, None)]


def test_trials_end_where_enough_are_at_the_goal(task):
    made = trained(task, [5, 9, 10], Goal(0.1, patience=9.0, enough=2), max_steps=100)
    assert ends(made)[2] == ("incomplete", 9, None)


def test_steps_to_a_goal_are_known_to_the_interval(task):
    assert ends(trained(task, [17], Goal(0.1), max_steps=100, interval=8)) == [("complete", 24, 24)]


def test_of_a_goal_powers_of_two_and_the_end_are_kept_and_the_test_set_seen_at_the_goal(task):
    (one,) = trained(task, [11], Goal(0.1), max_steps=20, at_end=["test"])
    assert [row["step"] for row in one.curve] == [1, 2, 4, 8, 11]
    assert [row.get("test_accuracy_frac") for row in one.curve] == [None] * 4 + [1.0]


def test_without_a_goal_each_epoch_is_kept_and_the_test_set_seen_at_the_end(task):
    (one,) = trained(task, [0], None, max_steps=12, at_end=["test"])
    assert (one.status, one.steps) == ("complete", 12)
    assert [(row["step"], row["epoch"]) for row in one.curve] == [(4, 1.0), (8, 2.0), (12, 3.0)]
    assert [row.get("test_accuracy_frac") for row in one.curve] == [None, None, 1.0]
    rows = tables([one])
    assert [row["trial"] for row in rows["curves"]] == [0, 0, 0]
    assert rows["trials"][0]["wall_s"] == pytest.approx(sum(row["wall_s"] for row in one.curve))


def test_a_trial_that_diverged_ends_with_a_row_without_values(task):
    (one,) = trained(task, [-1], None, max_steps=12)
    assert (one.status, one.steps, len(one.curve)) == ("diverged", 4, 1)
    assert one.curve[0]["train_loss"] is None
    assert "validation_accuracy_frac" not in one.curve[0]


def test_the_batches_of_a_training_are_those_of_its_epochs_in_their_order(task):
    stepper = Scripted(task, [9])
    Training(
        [Trial(0, dict(SETTINGS))],
        stepper,
        Supply(Numbers()),
        goal_stops(3),
        max_steps=9,
        goal=Goal(0.1),
        splits=["validation"],
    ).run()
    assert stepper.seen == [(1, 0), (1, 1), (1, 2), (1, 3), (2, 0), (2, 1), (2, 2), (2, 3), (3, 0)]


@pytest.mark.parametrize(
    ("steps", "epochs", "options", "stops"),
    [
        (10, 1, {"parts": 2}, [5, 10]),
        (10, 1, {"parts": 4}, [2, 5, 8, 10]),
        (1, 2, {"parts": 4}, [1, 2]),
        (10, 5, {"every": 2}, [20, 40, 50]),
    ],
)
def test_stops_by_epochs(steps, epochs, options, stops):
    next_stop, found = epoch_stops(steps, epochs, **options), [0]
    while found[-1] < steps * epochs:
        found.append(next_stop(found[-1]))
    assert found[1:] == stops
