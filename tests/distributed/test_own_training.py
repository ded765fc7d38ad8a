"""A user's own training goes through every kind of run as a built-in one does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dpscale.config.sections import ModelConfig
from dpscale.plan.spec import DIRECT_ARMS, Timing, own_file
from dpscale.studies import load_config
from dpscale.studies.choose.config import GoalProtocol
from dpscale.studies.ledger.config import LedgerProtocol
from dpscale.studies.local_sgd.config import LocalArm, LocalProtocol
from dpscale.studies.model_averaging.config import AveragingArm, AveragingProtocol

FILE = Path(__file__).parents[1] / "own_training.py"
STUDIES = ("sweep", "scaling", "large_batch", "replicas", "ledger", "data_parallel")
# Of Pairs(4): embedding and output share 32 x 4, the unused layer has 4 x 3 + 3, and the scale.
PARAMETERS = 32 * 4 + 15 + 1
Launched = Callable[..., Any]


@pytest.fixture(scope="module")
def own() -> dict[str, Any]:
    config = load_config({"name": "own", "own": {"file": str(FILE)}} | dict.fromkeys(STUDIES))
    return {"own": own_file(config), "model": ModelConfig(name="own")}


def test_two_workers_of_8_train_as_one_of_16(launched, own) -> None:
    training = {"training": {"epochs": 3, "lr": 0.01}}
    one = launched("own_one", per_worker_batch=16, **own, **training)
    two = launched("own_two", workers=2, per_worker_batch=8, **own, **training)
    losses = [[row["train_loss"] for row in result.record.curves] for result in (one, two)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    assert losses[0][-1] < losses[0][0]
    assert all(row["test_loss"] > 0 for row in two.record.curves)
    for row in [*one.record.curves, *two.record.curves]:
        assert row["train_accuracy_frac"] is row["test_accuracy_frac"] is None
    assert one.record.task["optimizer"] == "RMSprop"
    assert (one.record.parameters, one.record.payload_bytes) == (PARAMETERS, 4 * PARAMETERS)
    assert len({row["parameter_digest"] for row in two.record.replicas if row["epoch"] == 3}) == 1


@pytest.mark.ledger
def test_a_steady_iteration_sends_four_bytes_a_trainable_parameter(launched, own) -> None:
    fields = {
        "kind": "ledger",
        "workers": 2,
        "per_worker_batch": 8,
        "protocol": LedgerProtocol(steady_steps=2),
    }
    calls = pd.DataFrame(launched("own_ledger", **fields, **own).record.collectives)
    sent = calls[(calls["phase"] == "steady") & (calls["purpose"] == "gradient bucket")]
    assert set(sent.groupby("iteration")["bytes"].sum()) == {4 * PARAMETERS}


def test_all_arms_are_timed(launched, own) -> None:
    arms = ("with_loading", "without_loading", "bf16", *DIRECT_ARMS, "no_broadcast")
    timing = Timing(arms=arms, repeats=2, min_steps=4, warmup_steps=1, direct_steps=2)
    fields = {"kind": "timed", "workers": 2, "per_worker_batch": 8, "timing": timing}
    result = launched("own_timed", **fields, **own)
    assert set(result.steps["arm"]) == set(arms)
    assert sum(row["bytes"] for row in result.record.buckets) == 4 * PARAMETERS
    assert result.record.train_samples == 64


def test_local_sgd_trains_it_stacked_and_with_a_worker_each(launched, own) -> None:
    arms = (LocalArm(name="A2"), LocalArm(name="A5 H=2", local_steps=2, local_from_epoch=1))
    protocol = LocalProtocol(
        expected="",
        learners=2,
        arms=arms,
        rate_factors=(1.0,),
        rate_extensions=0,
        tuning_seeds=(100,),
        label_noise_frac=0.0,
        evaluate_epochs=1,
    )
    fields = {
        "kind": "local",
        "training": {"epochs": 3, "lr": 0.05, "momentum": 0.9},
        "protocol": protocol,
    } | own
    one = launched("own_stacked", workers=1, per_worker_batch=8, **fields)
    two = launched("own_separate", workers=2, per_worker_batch=4, **fields)
    losses = [[row["train_loss"] for row in result.record.curves] for result in (one, two)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)
    assert losses[0][2] < losses[0][0]
    assert {row["status"] for row in two.record.trials} == {"complete"}
    assert {row["test_accuracy_frac"] for row in one.record.curves} == {None}


def test_model_averaging_trains_it(launched, own) -> None:
    arms = tuple(
        AveragingArm(
            name=name, algorithm=name, learners=learners, batch=4, lr=0.05, alpha=0.5, tau=1
        )
        for name, learners in (("sgd", 1), ("sma", 2))
    )
    protocol = AveragingProtocol(
        expected="", arms=arms, evaluations_per_epoch=1, target_accuracy_frac=0.9, median_of=1
    )
    result = launched(
        "own_averaging",
        kind="averaging",
        per_worker_batch=4,
        protocol=protocol,
        training={"epochs": 3, "momentum": 0.9},
        **own,
    )
    for trial in (0, 1):
        losses = [row["train_loss"] for row in result.record.curves if row["trial"] == trial]
        assert losses[-1] < losses[0]


def test_two_workers_train_it_to_the_goal_as_one_does(launched) -> None:
    file = {"file": str(FILE.with_name("own_searched.py")), "arguments": {"width": 16}}
    config = load_config({"name": "own", "own": file} | dict.fromkeys(STUDIES))
    protocol = GoalProtocol(
        goal_error_frac=0.5, evaluation_samples=32, max_steps=200, max_epochs=100, memory_bytes=None
    )
    found = []
    for workers, batch in ((1, 16), (2, 8)):
        result = launched(
            f"own_goal{workers}",
            kind="goal",
            study="choose",
            arm="momentum",
            workers=workers,
            per_worker_batch=batch,
            protocol=protocol,
            seeds=(0, 1),
            own=own_file(config),
            model=ModelConfig(name="own"),
            training={"optimizer": "sgd", "lr": 0.06, "momentum": 0.9, "weight_decay": 0.0},
        )
        found.append(result.record.trials)
    assert {row["status"] for trials in found for row in trials} == {"complete"}
    for one, two in zip(*found, strict=True):
        # The same samples make each step, in other sums: rounding may move the step by a few.
        assert abs(one["steps_to_goal"] - two["steps_to_goal"]) <= 0.2 * one["steps_to_goal"]
        assert two["wall_s"] > 0
