"""A user's own training goes through every kind of run as a built-in one does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dpscale.config.sections import ModelConfig
from dpscale.plan.spec import Timing, own_file
from dpscale.studies import load_config

FILE = Path(__file__).parents[1] / "own_training.py"
STUDIES = ("sweep", "scaling", "large_batch", "replicas", "ledger", "data_parallel")
# Of Pairs(4): embedding and output share 32 x 4, the unused layer has 4 x 3 + 3, and the scale.
PARAMETERS = 32 * 4 + 15 + 1
Launched = Callable[..., Any]


@pytest.fixture(scope="module")
def own() -> dict[str, Any]:
    config = load_config({"name": "own", "own": {"file": str(FILE)}} | dict.fromkeys(STUDIES))
    return {"own": own_file(config), "model": ModelConfig(name="own")}


def test_two_workers_of_8_train_as_one_of_16(launched: Launched, own: dict[str, Any]) -> None:
    training = {"training": {"epochs": 3, "lr": 0.01}}
    one = launched("own_one", per_worker_batch=16, **own, **training)
    two = launched("own_two", workers=2, per_worker_batch=8, **own, **training)
    losses = [[row["train_loss"] for row in result.record.epochs] for result in (one, two)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    assert losses[0][-1] < losses[0][0]
    assert all(row["test_loss"] > 0 for row in two.record.epochs)
    for row in [*one.record.epochs, *two.record.epochs]:
        assert row["train_accuracy_frac"] is row["test_accuracy_frac"] is None
    assert one.record.task["optimizer"] == "RMSprop"
    assert (one.record.parameters, one.record.payload_bytes) == (PARAMETERS, 4 * PARAMETERS)
    assert len({row["parameter_digest"] for row in two.record.replicas if row["epoch"] == 3}) == 1


@pytest.mark.ledger
def test_a_steady_iteration_sends_four_bytes_a_trainable_parameter(
    launched: Launched, own: dict[str, Any]
) -> None:
    fields = {"kind": "ledger", "workers": 2, "per_worker_batch": 8, "steady_steps": 2}
    calls = pd.DataFrame(launched("own_ledger", **fields, **own).record.collectives)
    sent = calls[(calls["phase"] == "steady") & (calls["purpose"] == "gradient bucket")]
    assert set(sent.groupby("iteration")["bytes"].sum()) == {4 * PARAMETERS}


def test_all_arms_are_timed(launched: Launched, own: dict[str, Any]) -> None:
    arms = ("with_loading", "without_loading", "solo", "reference", "noop_hook", "buckets", "bf16")
    timing = Timing(arms=arms, repeats=2, min_steps=4, warmup_steps=1, direct_steps=2)
    fields = {"kind": "timed", "workers": 2, "per_worker_batch": 8, "timing": timing}
    result = launched("own_timed", **fields, **own)
    assert set(result.steps["arm"]) == set(arms)
    assert sum(row["bytes"] for row in result.record.buckets) == 4 * PARAMETERS
    assert result.record.train_samples == 64
