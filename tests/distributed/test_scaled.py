"""Groups of batch norm in one process train as the same groups spread over workers."""

from typing import Any

import pytest

from dpscale.config.sections import ScheduleConfig
from dpscale.studies.lr_scaling.config import RateProtocol

PROTOCOL = RateProtocol(
    role="arm",
    rule="linear",
    optimizer="sgd",
    trust_coefficient=0.001,
    group_batch=16,
    groups=4,
    reference_groups=2,
    base_lr=0.02,
    margin_frac=0.01,
)
SCHEDULE = ScheduleConfig(warmup="gradual", warmup_epochs=1.0, warmup_start_factor=0.5)
FIELDS: dict[str, Any] = {
    "kind": "scaled",
    "arm": "linear",
    "training": {"epochs": 2, "lr": 0.04, "schedule": SCHEDULE},
}


def spec(launcher: Any, workers: int, **changed: Any) -> Any:
    given = FIELDS | changed
    return launcher.spec(
        run=f"scaled_{workers}_{given['arm']}",
        workers=workers,
        per_worker_batch=64 // workers,
        protocol=PROTOCOL,
        **given,
    )


def test_four_groups_on_one_worker_and_on_two_train_alike(launcher) -> None:
    one, two = (launcher.run(spec(launcher, workers)).record for workers in (1, 2))
    for epoch, closeness in ((0, 2e-3), (1, 5e-2)):  # rounding grows from step to step
        for name in ("train_loss", "validation_loss"):
            losses = [record.curves[epoch][name] for record in (one, two)]
            assert losses[0] == pytest.approx(losses[1], rel=closeness)
    assert [row["step"] for row in one.curves] == [20, 40]  # 1,293 images in steps of 64
    # From half of 0.04, in a line over the 20 steps of the first epoch.
    assert [row["lr"] for row in one.curves] == pytest.approx([0.02, 0.04])
    assert [row.get("test_accuracy_frac") is None for row in one.curves] == [True, False]


def test_a_loss_that_is_not_finite_ends_its_trial_as_diverged(launcher) -> None:
    wild = {"epochs": 3, "lr": 1e30, "schedule": ScheduleConfig()}
    record = launcher.run(spec(launcher, 1, arm="wild", training=wild)).record
    assert record.status == "diverged"
    assert [trial["status"] for trial in record.trials] == ["diverged"]
    assert record.curves[-1]["train_loss"] is None
