"""Learners spread over processes: the same training, however they are dealt out."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from dpscale.studies.model_averaging.config import AveragingArm, AveragingProtocol

Launched = Callable[..., Any]


def protocol(*arms: AveragingArm) -> AveragingProtocol:
    return AveragingProtocol(
        expected="", arms=arms, evaluations_per_epoch=2, target_accuracy_frac=0.9, median_of=1
    )


SMA = AveragingArm(name="sma", algorithm="sma", learners=4, batch=32, lr=0.05, alpha=0.25, tau=1)
SGD = AveragingArm(name="sgd", algorithm="sgd", learners=1, batch=64, lr=0.05)


def curve(launched: Launched, model: str, workers: int, arm: AveragingArm) -> pd.DataFrame:
    from dpscale.config.sections import ModelConfig

    record = launched(
        f"{arm.name}-{model}-{workers}",
        kind="averaging",
        workers=workers,
        per_worker_batch=32,
        model=ModelConfig(name=model),
        protocol=protocol(arm),
        training={"epochs": 1},
    ).record
    assert record.trials[0]["sent_bytes"] == (
        0 if workers == 1 else record.payload_bytes * record.trials[0]["rounds"]
    )
    return pd.DataFrame(record.curves)[["train_loss", "validation_loss"]]


@pytest.mark.parametrize("workers", [2, 4])
# Batch norm makes much of the rounding of other convolutions: one learner is not a group of them.
@pytest.mark.parametrize(("model", "rtol"), [("mlp", 1e-5), ("resnet_8x8", 1e-3)])
def test_learners_on_one_process_on_two_and_on_four_agree(launched, model, rtol, workers) -> None:
    one = curve(launched, model, 1, SMA)
    assert one.iloc[-1]["train_loss"] < one.iloc[0]["train_loss"]
    spread = curve(launched, model, workers, SMA)
    pd.testing.assert_frame_equal(spread, one, rtol=rtol)


def test_a_batch_shared_by_two_processes_is_the_batch_of_one(launched) -> None:
    # Without batch norm; which samples make a batch is the same, their order in it is not.
    one, two = (curve(launched, "mlp", workers, SGD) for workers in (1, 2))
    pd.testing.assert_frame_equal(two, one, rtol=1e-4)
