"""E2: rows of the grid are whole, and a training takes the time of its steps to the goal."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from dpscale.config.sections import ModelConfig
from dpscale.studies.choose.config import GoalProtocol, GridProtocol

Launched = Callable[..., Any]
SHARED = {"study": "choose", "arm": "momentum", "model": ModelConfig(name="mlp")}
SGD = {"optimizer": "sgd", "lr": 0.1, "momentum": 0.9}
BATCHES = (4, 16)


def goal(error_frac: float = 0.2, *, max_steps: int = 500) -> GoalProtocol:
    return GoalProtocol(
        goal_error_frac=error_frac,
        evaluation_samples=32,
        max_steps=max_steps,
        max_epochs=100,
        memory_bytes=None,
    )


def trained(launched: Launched, name: str, protocol: GoalProtocol, **fields: Any) -> pd.DataFrame:
    found = launched(
        name, kind="goal", protocol=protocol, training=SGD, seeds=(0, 1), **SHARED, **fields
    )
    return pd.DataFrame(found.record.trials)


@pytest.fixture(scope="module")
def grid(launched: Launched) -> Any:
    protocol = GridProtocol(per_worker_batches=BATCHES, repeats=2, repeat_s=0.005)
    return launched(
        "grid", kind="grid", workers=2, per_worker_batch=16, protocol=protocol, **SHARED
    ).record


def test_every_batch_arm_repeat_and_worker_has_a_row(grid) -> None:
    rows = pd.DataFrame(grid.grid)
    places = rows.groupby(["per_worker_batch", "timed_arm", "repeat", "rank"]).size()
    assert len(places) == len(BATCHES) * 2 * 2 * 2
    assert (places == 1).all()
    assert (rows["step_s"] > rows["backward_s"]).all()


def test_buckets_hold_the_whole_gradient_at_each_batch(grid) -> None:
    buckets = pd.DataFrame(grid.grid_buckets)
    assert buckets.groupby("per_worker_batch")["bytes"].sum().tolist() == [grid.payload_bytes] * 2


def test_each_worker_tells_its_memory(grid) -> None:
    memory = pd.DataFrame(grid.grid_memory)
    assert memory.groupby("per_worker_batch")["rank"].apply(list).tolist() == [[0, 1]] * 2


def test_two_workers_need_the_steps_of_one_with_the_same_global_batch(launched) -> None:
    one = trained(launched, "one", goal(), workers=1, per_worker_batch=32)
    two = trained(launched, "two", goal(), workers=2, per_worker_batch=16)
    assert one["status"].tolist() == ["complete", "complete"]
    assert two["status"].tolist() == ["complete", "complete"]
    assert (two["global_batch"] == 32).all()
    # The same samples make each step, in other sums: rounding may move the step by a few.
    gap = (one["steps_to_goal"] - two["steps_to_goal"]).abs() / one["steps_to_goal"]
    assert (gap <= 0.2).all()
    assert (two["wall_s"] > 0).all()


def test_a_goal_out_of_reach_has_no_time(launched) -> None:
    found = trained(launched, "far", goal(0.0001, max_steps=6), workers=1, per_worker_batch=32)
    assert found["status"].tolist() == ["incomplete", "incomplete"]
    assert found["steps"].tolist() == [6, 6]
    assert found["wall_s"].isna().all()


def test_what_nothing_advises_is_recorded_as_unavailable(launched) -> None:
    found = launched(
        "none",
        kind="goal",
        workers=1,
        per_worker_batch=1,
        protocol=goal(),
        withheld="no batch has a time to the goal",
        **SHARED,
    )
    assert found.record.status == "unavailable"
    assert found.record.message == "no batch has a time to the goal"
