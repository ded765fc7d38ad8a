"""Trainings of one and two workers: equal where they must be, apart where they may be."""

from collections.abc import Callable
from typing import Any

import pytest

from dpscale.config.sections import ModelConfig
from dpscale.plan.spec import TrainingProtocol

MLP = {"model": ModelConfig(name="mlp"), "training": {"epochs": 2}}
REPLICAS: dict[str, Any] = {"workers": 2, "per_worker_batch": 16, "training": {"epochs": 2}}

Launched = Callable[..., Any]


def losses(result: Any) -> list[float]:
    return [row["train_loss"] for row in result.record.curves]


def test_two_workers_of_16_train_as_one_of_32_without_batch_norm(launched) -> None:
    one = launched("one", per_worker_batch=32, **MLP)
    two = launched("two", workers=2, per_worker_batch=16, **MLP)
    assert losses(two) == pytest.approx(losses(one), rel=1e-4)
    accuracy = [[r["test_accuracy_frac"] for r in x.record.curves] for x in (one, two)]
    assert accuracy[0] == pytest.approx(accuracy[1], abs=0.01)


def test_a_repeat_with_the_same_seed_is_bitwise_equal(launched) -> None:
    first = launched("one", per_worker_batch=32, **MLP)
    again = launched("one_again", per_worker_batch=32, **MLP)
    assert first.steps["loss"].tolist() == again.steps["loss"].tolist()


def test_another_seed_trains_another_way(launched) -> None:
    first = launched("one", per_worker_batch=32, **MLP)
    other = launched("other_seed", per_worker_batch=32, seeds=(1,), **MLP)
    assert first.steps["loss"].tolist() != other.steps["loss"].tolist()


def test_parameters_stay_identical_with_and_without_buffer_broadcast(launched) -> None:
    for run, broadcast in (("broadcast", True), ("no_broadcast", False)):
        result = launched(run, protocol=TrainingProtocol(broadcast_buffers=broadcast), **REPLICAS)
        for epoch in (1, 2):
            rows = [r for r in result.record.replicas if r["epoch"] == epoch]
            assert len(rows) == 2
            assert len({row["parameter_digest"] for row in rows}) == 1
            assert all(row["parameter_difference_max"] == 0 for row in rows)


def test_running_statistics_drift_apart_only_without_broadcast(launched) -> None:
    def drift(run: str, broadcast: bool) -> float:
        result = launched(run, protocol=TrainingProtocol(broadcast_buffers=broadcast), **REPLICAS)
        return max(row["buffer_difference_frac"] for row in result.record.replicas)

    # With broadcast the ranks differ only by the update of the last forward pass. Without, by
    # those of all passes: 1 / sqrt(m (2 - m)) = 2.3 times as much for independent batches and
    # m = 0.1, and how much for these depends on the rounding of the processor.
    assert drift("no_broadcast", False) > drift("broadcast", True)


def test_training_loss_does_not_depend_on_the_broadcast_of_buffers(launched) -> None:
    on = launched("broadcast", protocol=TrainingProtocol(), **REPLICAS)
    off = launched("no_broadcast", protocol=TrainingProtocol(broadcast_buffers=False), **REPLICAS)
    assert on.steps["loss"].tolist() == off.steps["loss"].tolist()


def test_without_set_epoch_every_epoch_has_one_order(launched) -> None:
    def orders(run: str, told: bool) -> dict[int, str]:
        result = launched(run, protocol=TrainingProtocol(set_epoch=told), **REPLICAS)
        return {row["epoch"]: row["digest"] for row in result.record.orders if row["rank"] == 0}

    told, untold = orders("broadcast", True), orders("untold", False)
    assert told[1] != told[2]
    assert untold[1] == untold[2]


def test_a_loss_that_is_not_finite_is_an_outcome(launched) -> None:
    wild = MLP | {"training": {"epochs": 3, "lr": 1e30}}
    result = launched("wild", workers=2, per_worker_batch=16, **wild)
    assert result.record.status == "diverged"
    assert result.record.curves[-1]["train_loss"] is None
    assert "seed 0" in (result.record.message or "")


def test_every_step_of_every_rank_is_a_row(launched) -> None:
    steps = launched("two", workers=2, per_worker_batch=16, **MLP).steps
    # 1,293 images over 2 workers: 646 each, 40 full batches of 16, in each of 2 epochs.
    assert steps.groupby(["rank", "epoch"]).size().tolist() == [40] * 4
    phases = ["load_s", "copy_s", "forward_s", "backward_s", "update_s"]
    assert (steps[phases].sum(axis=1) - steps["step_s"]).abs().max() < 1e-9


def test_four_workers_on_one_node_and_on_two_train_the_same(launcher) -> None:
    fields = REPLICAS | {"workers": 4}
    one = launcher.run(launcher.spec(run="one_by_four", **fields))
    spec = launcher.spec(run="two_by_two", **fields)
    ended = launcher.start_agents(spec, per_node=2)
    assert [one.status for one in ended] == [0, 0], ended
    two = launcher.result(spec)
    assert (one.record.nodes, two.record.nodes) == (1, 2)
    assert two.steps["loss"].tolist() == one.steps["loss"].tolist()
    digests = [{row["parameter_digest"] for row in x.record.replicas} for x in (one, two)]
    assert digests[0] == digests[1]
