"""Timed and counted runs: what is repeated, what is sent, and which outcomes are rows."""

from collections import Counter

import pytest

from dpscale.config.sections import HardwareConfig, ModelConfig
from dpscale.plan.spec import TimedProtocol, Timing
from dpscale.records import read_record
from dpscale.studies.ledger.config import LedgerProtocol

TIMING = Timing(arms=("with_loading", "without_loading"), repeats=3, min_steps=30, warmup_steps=10)
LITTLE_MEMORY = TimedProtocol(timing=TIMING, memory_budget_bytes=32 * 2**20)
CIFAR_SHAPE = {
    "dataset": "synthetic",
    "channels": 3,
    "image_size": 32,
    "classes": 10,
    "samples": 64,
}


def test_a_repeat_is_as_many_whole_epochs_as_reach_the_steps(launched) -> None:
    steps = launched("timed", kind="timed", workers=2, per_worker_batch=64, timing=TIMING).steps
    # 646 images a worker: 10 full batches of 64 an epoch, so 3 epochs reach 30 steps.
    sizes = steps.groupby(["arm", "repeat", "rank"]).size()
    assert len(sizes) == 2 * 3 * 2
    assert set(sizes) == {30}
    assert set(steps["samples"]) == {64}
    assert (steps["step_s"] > 0).all()


@pytest.mark.ledger
@pytest.mark.alone  # the interface is everybody's
def test_resnet18_sends_four_bytes_a_parameter(launched) -> None:
    record = launched(
        "resnet18",
        kind="ledger",
        workers=2,
        per_worker_batch=2,
        protocol=LedgerProtocol(steady_steps=2),
        data=CIFAR_SHAPE,
        model=ModelConfig(name="resnet18_cifar"),
    ).record
    assert record.parameters == 11_173_962
    assert record.payload_bytes == 4 * 11_173_962
    for iteration in (0, 1, 2, 3):
        sent = sum(
            row["bytes"]
            for row in record.collectives
            if row["iteration"] == iteration and row["purpose"] == "gradient bucket"
        )
        assert sent == 4 * 11_173_962
    phases = Counter(row["phase"] for row in record.collectives if row["operation"] == "allreduce")
    # One bucket in the first iteration, three once they are rebuilt for overlap.
    assert phases == {"first": 1, "rebuild": 3, "steady": 6}
    steady = sum(row["sent_bytes"] for row in record.wire if row["phase"] == "steady") / 2
    # Both workers' sends: 2(N-1)S for the gradient and (N-1) times the buffers.
    predicted = 2 * record.payload_bytes + record.buffer_bytes
    assert steady == pytest.approx(predicted, rel=0.02)


def test_a_batch_beyond_the_dataset_is_an_outcome(launched) -> None:
    record = launched("beyond", kind="timed", per_worker_batch=2000, timing=TIMING).record
    assert record.status == "exceeds_dataset"
    assert "2000 exceeds the 1293" in (record.message or "")


def test_a_spent_memory_budget_is_an_outcome(launched) -> None:
    result = launched("spent", kind="timed", per_worker_batch=1024, protocol=LITTLE_MEMORY)
    assert result.record.status == "out_of_memory"
    assert "rank 0, batch 1024" in (result.record.message or "")
    assert result.steps.empty


def test_out_of_memory_on_two_workers_is_recorded_and_ends_them(launcher) -> None:
    spec = launcher.spec(
        run="spent_two", kind="timed", workers=2, per_worker_batch=600, protocol=LITTLE_MEMORY
    )
    ended = launcher.start(spec)
    record = read_record(launcher.folder / "spent_two/record.json")
    assert record.status == "out_of_memory"
    # The rule takes this record for the result that it is; the exit ends the other workers.
    assert ended.status != 0


def test_a_failure_over_an_earlier_record_is_not_taken_for_it(launcher, launched) -> None:
    data = {"dataset": "cifar10", "root": str(launcher.folder / "nowhere")}
    launched("beyond", kind="timed", per_worker_batch=2000, timing=TIMING)
    spec = launcher.spec(run="beyond", per_worker_batch=32, data=data)
    assert launcher.start(spec).status != 0


def test_more_workers_than_devices_are_unavailable_unless_sharing_is_allowed(launched) -> None:
    hardware = HardwareConfig(threads_per_worker=1024)
    record = launched(
        "crowded", kind="timed", workers=2, per_worker_batch=32, timing=TIMING, hardware=hardware
    ).record
    assert record.status == "unavailable"
    assert "allow_oversubscription" in (record.message or "")


def test_a_launch_with_the_wrong_number_of_workers_says_how_to_start_it(launcher) -> None:
    spec = launcher.spec(run="wrong", workers=2, per_worker_batch=32)
    ended = launcher.start(spec, started=1)
    assert ended.status != 0
    assert "torchrun --nproc-per-node 2" in ended.log.splitlines()[-1]
    assert not (launcher.folder / "wrong/record.json").exists()


def test_a_failing_rank_is_named_at_the_end_of_the_log_and_leaves_no_record(launcher) -> None:
    data = {"dataset": "cifar10", "root": str(launcher.folder / "nowhere")}
    spec = launcher.spec(run="failing", workers=2, per_worker_batch=32, data=data)
    ended = launcher.start(spec)
    assert ended.status != 0
    end = ended.log[-4000:]
    assert "fetch_dataset" in end
    assert "rank" in end
    assert not (launcher.folder / "failing/record.json").exists()
