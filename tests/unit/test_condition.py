"""What is known of GPUs, their allocator's failures and what held them back, as NVML tells it."""

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dpscale.config.sections import HardwareConfig
from dpscale.plan import Spec
from dpscale.studies import load_config, planned_runs
from dpscale.train import run as runs
from dpscale.train.machine.condition import Condition
from dpscale.train.machine.device import device_libraries, device_model
from dpscale.train.measurement import Measurement
from dpscale.train.worker import Place

CUDA = HardwareConfig(device="cuda", backend="nccl")
GPU = torch.device("cuda", 0)
ENGINE = "GET was unable to find an engine to execute this computation"


@pytest.fixture
def counters() -> dict[str, int]:
    """What the planted GPU has counted so far."""
    return {"num_ooms": 3, "num_alloc_retries": 5, "NVML_PERF_POLICY_POWER": 10**9}


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch, counters: dict[str, int]) -> SimpleNamespace:
    """A GPU as torch and NVML show it; NVML does not know what is not here. Returns NVML."""

    def violation(_: object, policy: str) -> SimpleNamespace:
        return SimpleNamespace(violationTime=counters[policy])

    nvml = SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlSystemGetDriverVersion=lambda: "580.1",
        nvmlDeviceGetHandleByUUID=lambda uuid: uuid,
        nvmlDeviceGetPowerManagementLimit=lambda handle: {"GPU-7f-a": 400_000}[handle],
        nvmlDeviceGetPciInfo=lambda _: SimpleNamespace(busId="0000:01:00.0"),
        nvmlDeviceGetClockInfo=lambda _, clock: {"sm": 1200, "memory": 900}[clock],
        NVML_CLOCK_SM="sm",
        NVML_CLOCK_MEM="memory",
        NVML_PERF_POLICY_POWER="NVML_PERF_POLICY_POWER",
        NVML_PERF_POLICY_THERMAL="unknown",
        nvmlDeviceGetViolationStatus=violation,
        nvmlDeviceGetCurrentClocksEventReasons=lambda _: 0b101,
        nvmlClocksEventReasonGpuIdle=1,
        nvmlClocksEventReasonSyncBoost=2,
        nvmlClocksEventReasonSwPowerCap=4,
        nvmlClocksEventReasonAll=7,
    )
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    shown = SimpleNamespace(uuid="7f-a")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: shown)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _=None: "A100")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "memory_stats", lambda _: dict(counters))
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    return nvml


def test_a_gpu_is_its_model_power_limit_driver_and_cuda(planted) -> None:
    assert device_model(CUDA, GPU) == "A100 (400 W, driver 580.1, CUDA 13.0)"
    del planted.nvmlDeviceGetPowerManagementLimit  # a driver that does not tell
    assert device_model(CUDA, GPU) == "A100 (driver 580.1, CUDA 13.0)"


def test_a_gpu_has_its_uuid_and_bus_and_null_for_what_nvml_does_not_tell(planted) -> None:
    (gpu,) = Condition(CUDA, [GPU]).described()
    assert gpu["model"] == "A100 (400 W, driver 580.1, CUDA 13.0)"
    assert (gpu["uuid"], gpu["pci_bus"], gpu["power_limit_w"]) == ("7f-a", "0000:01:00.0", 400.0)
    assert gpu["pcie_width"] is None


def test_what_grows_is_counted_from_the_begin_of_the_run(planted, counters) -> None:
    condition = Condition(CUDA, [GPU])
    counters |= {"num_ooms": 4, "num_alloc_retries": 7, "NVML_PERF_POLICY_POWER": 3 * 10**9}
    (gpu,) = condition.since()
    assert (gpu["num_ooms"], gpu["num_alloc_retries"]) == (1, 2)
    assert (gpu["power_throttled_s"], gpu["thermal_throttled_s"]) == (2.0, None)
    assert (gpu["sm_clock_mhz"], gpu["memory_clock_mhz"]) == (1200, 900)
    assert gpu["held_back_by"] == ["GpuIdle", "SwPowerCap"]


def test_older_drivers_name_throttling_otherwise(planted) -> None:
    del planted.nvmlDeviceGetCurrentClocksEventReasons
    planted.nvmlDeviceGetCurrentClocksThrottleReasons = lambda _: 2
    (gpu,) = Condition(CUDA, [GPU]).since()
    assert gpu["held_back_by"] == ["SyncBoost"]


def test_of_a_cpu_nothing_is_known_but_what_it_is() -> None:
    condition = Condition(HardwareConfig(), [torch.device("cpu")])
    assert condition.described() == [{"model": "CPU core"}]
    assert condition.since() == [{}]
    assert device_libraries(HardwareConfig()) == {}


def test_versions_of_nccl_and_cudnn_read_as_their_makers_write_them(monkeypatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "version", lambda: 91002)
    monkeypatch.setattr(torch.cuda.nccl, "version", lambda: (2, 27, 3))
    monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: True)
    assert device_libraries(CUDA) == {"nccl": "2.27.3", "cudnn": "9.10.2"}


def spec() -> Spec:
    config = load_config(
        {
            "name": "t",
            "hardware": {"device": "cuda", "backend": "nccl"},
            "scaling": {"workers": [1, 2], "per_worker_batches": [32], "strong": False},
            "sweep": None,
            "large_batch": None,
            "communication": None,
            "replicas": None,
            "ledger": None,
            "data_parallel": None,
        }
    )
    return planned_runs(config)["scaling-n1-b32"]


@pytest.fixture
def measured(planted: object, counters: dict[str, int]) -> Callable[..., Measurement]:
    """The outcome of a measurement that ends by an error, after so many failed allocations."""

    def do(error: Exception, ooms: int) -> Measurement:
        def measure(*_: object) -> Measurement:
            counters["num_ooms"] += ooms
            raise error

        noted: dict[int, Any] = {}
        frame: Any = SimpleNamespace(
            condition=Condition(CUDA, [GPU]), note=noted.update, recorded=lambda: False
        )
        outcome, writes = runs._measure(spec(), measure, None, Place(0, 1, 1, GPU), frame)  # type: ignore[arg-type]
        assert writes
        assert noted[0][0]["num_ooms"] == ooms
        return outcome

    return do


def test_an_engine_that_is_not_found_for_want_of_memory_is_out_of_memory(measured) -> None:
    outcome = measured(RuntimeError(ENGINE), 2)
    assert outcome.status == "out_of_memory"
    assert outcome.message == f"rank 0, batch 32: {ENGINE}"


def test_without_a_failed_allocation_the_same_words_are_an_error(measured) -> None:
    with pytest.raises(RuntimeError, match="unable to find an engine"):
        measured(RuntimeError(ENGINE), 0)


@pytest.mark.parametrize(
    "error",
    [
        KeyError("arm"),
        torch.AcceleratorError("CUDA error: an illegal memory access"),
        torch.distributed.DistBackendError("NCCL error"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_that_are_not_of_an_operator_stay_what_they_are(measured, error) -> None:
    with pytest.raises(type(error)):
        measured(error, 2)


def test_a_worker_that_ran_out_of_memory_in_a_part_writes_what_is_known_whatever_its_rank(
    planted,
) -> None:
    known = Measurement("out_of_memory", "the last part", fields={"rows": [1]})
    noted: dict[int, Any] = {}
    frame: Any = SimpleNamespace(condition=Condition(CUDA, [GPU]), note=noted.update)
    place = Place(1, 2, 1, GPU)  # no process group: nothing is gathered from peers that may hang
    assert runs._measure(spec(), lambda *_: known, None, place, frame) == (known, True)  # type: ignore[arg-type]
    assert list(noted) == [1]
