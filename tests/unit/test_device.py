"""What a worker sees of its machine, how the workers on it share that, and what is missing."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from dpscale.attempts import Cause, cause_of
from dpscale.config.sections import HardwareConfig
from dpscale.studies import load_config, measure_of, planned_runs
from dpscale.train.machine.device import available_devices, most_shared, visible_units
from dpscale.train.run import run

CUDA = HardwareConfig(device="cuda", backend="nccl")


def test_two_jobs_of_a_machine_with_cores_of_their_own_share_none():
    seen = [("m", ["0", "1"]), ("m", ["0", "1"]), ("m", ["2", "3"]), ("m", ["2", "3"])]
    assert most_shared(seen, 1) == (4, 4)


def test_nodes_of_one_kernel_that_are_given_the_same_cores_share_them():
    seen = [("m", ["0", "1"])] * 4
    assert most_shared(seen, 1) == (4, 2)


def test_machines_apart_have_cores_of_the_same_numbers_apart():
    seen = [("m", ["0", "1"])] * 2 + [("n", ["0", "1"])] * 2
    assert most_shared(seen, 1) == (2, 2)


def test_the_machine_with_most_workers_on_a_device_counts_not_the_one_with_most_workers():
    seen = [("m", list("0123"))] * 4 + [("n", ["0"])] * 2
    assert most_shared(seen, 1) == (2, 1)


def test_workers_of_two_threads_take_two_cores_each():
    assert most_shared([("m", list("0123"))] * 2, 2) == (2, 2)
    assert most_shared([("m", ["0"])], 2) == (1, 1)


def test_cores_are_those_that_the_process_is_bound_to():
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert visible_units(HardwareConfig()) == [str(min(allowed))]
        assert available_devices(HardwareConfig()) == 1
    finally:
        os.sched_setaffinity(0, allowed)


def test_gpus_are_known_by_their_own_numbers_not_by_a_jobs(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    properties = {0: SimpleNamespace(uuid="7f-a"), 1: SimpleNamespace(uuid="7f-b")}
    monkeypatch.setattr(torch.cuda, "get_device_properties", properties.__getitem__)
    assert visible_units(CUDA) == ["7f-a", "7f-b"]


@pytest.fixture
def two_of_four(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Runs one of four workers of a node that shows two GPUs; returns the record's file."""
    config = load_config(
        {
            "name": "t",
            "hardware": {"device": "cuda", "backend": "nccl"},
            "replicas": {"workers": 4},
            "scaling": None,
            "sweep": None,
            "large_batch": None,
            "communication": None,
            "ledger": None,
            "data_parallel": None,
        }
    )
    spec = next(one for one in planned_runs(config).values() if one.study == "replicas")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)

    def do() -> Path:
        run(
            spec,
            measure_of(spec),
            record=tmp_path / "record.json",
            steps=tmp_path / "steps.parquet",
        )
        return tmp_path / "record.json"

    return do


def test_too_few_gpus_of_a_machine_are_recorded(two_of_four):
    assert '"unavailable"' in two_of_four().read_text()


def test_too_few_gpus_in_a_job_that_asked_for_them_are_a_failure_of_the_node(
    two_of_four, monkeypatch, tmp_path
):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURMD_NODENAME", "n2")
    with pytest.raises(RuntimeError, match="n2 shows 2 CUDA devices of the 4 asked for") as raised:
        two_of_four()
    assert cause_of(1, str(raised.value)) == Cause.DEVICE
    assert not (tmp_path / "record.json").exists()
