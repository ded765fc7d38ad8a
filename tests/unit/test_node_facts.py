"""What the check asks of a node's GPUs: in which order, and who else is on them."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from dpscale.launch.check import Neighbour
from dpscale.plan import Spec
from dpscale.plan.spec import LINK, RunProtocol, build_spec
from dpscale.studies import load_config
from dpscale.train import check

STUDIES = ("sweep", "scaling", "communication", "large_batch", "replicas", "ledger")
TOTAL_BYTES = 80 * 10**9
BUSY_BYTES = 30 * 10**9


@pytest.fixture
def spec() -> Spec:
    config = load_config(
        {
            "name": "t",
            "hardware": {"device": "cuda", "backend": "nccl"},
            "training": {"compile": True},
        }
        | dict.fromkeys((*STUDIES, "data_parallel"))
    )
    return build_spec(
        config,
        LINK,
        run="check",
        study="check",
        workers=2,
        per_worker_batch=1,
        protocol=RunProtocol(),
    )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two GPUs, on the second of which another process computes; what was asked, in order."""
    calls: list[str] = []

    def note(name: str, value: Any = None) -> Any:
        def call(*_: object, **__: object) -> Any:
            calls.append(name)
            return value

        return call

    nvml = ModuleType("pynvml")
    nvml.NVMLError = type("NVMLError", (Exception,), {})  # type: ignore[attr-defined]
    answers = {
        "nvmlInit": lambda: None,
        "nvmlDeviceGetCount": note("nvml", 2),
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetUUID": lambda index: f"GPU-{index}",
        "nvmlDeviceGetMemoryInfo": lambda index: SimpleNamespace(
            free=TOTAL_BYTES - index * BUSY_BYTES
        ),
        "nvmlDeviceGetComputeRunningProcesses": lambda index: [
            SimpleNamespace(pid=4711, usedGpuMemory=None)
        ][:index],
        "nvmlSystemGetProcessName": lambda process: "python",
        "nvmlSystemGetDriverVersion": lambda: "580.1",
    }
    for name, value in answers.items():
        setattr(nvml, name, value)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    cuda = {
        "init": note("cuda"),
        "device_count": lambda: 2,
        "mem_get_info": lambda index: (TOTAL_BYTES - 10**9, TOTAL_BYTES),  # its own context
        "get_device_properties": lambda index: SimpleNamespace(name="A100", uuid=str(index)),
    }
    for name, value in cuda.items():
        monkeypatch.setattr(torch.cuda, name, value)
    monkeypatch.setattr(check, "refusal", note("step"))
    return calls


def test_gpus_are_opened_when_what_else_needs_them_alone_has_ended(spec, asked) -> None:
    check.node_facts(spec, [], import_s=0.0)
    assert asked == ["step", "nvml", "cuda"]


def test_memory_and_neighbours_are_those_before_the_check_itself_took_some(spec, asked) -> None:
    first, second = check.node_facts(spec, [], import_s=0.0).devices
    assert (first.free_bytes, first.neighbours) == (TOTAL_BYTES, ())
    assert second.free_bytes == TOTAL_BYTES - BUSY_BYTES
    assert second.neighbours == (Neighbour(process=4711, name="python", used_bytes=None),)


def test_without_nvml_cuda_tells_the_memory(spec, asked, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    (first, _) = check.node_facts(spec, [], import_s=0.0).devices
    assert (first.free_bytes, first.neighbours) == (TOTAL_BYTES - 10**9, ())
