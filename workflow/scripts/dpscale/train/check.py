"""What a node gives a worker: GPUs, driver, cores, memory and disk; and a step, made there."""

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import torch

from dpscale.launch.check import Device, Neighbour, NodeFacts, memory_bytes, patience_s
from dpscale.plan import Spec
from dpscale.processes import node_name
from dpscale.train.machine.device import driver_version
from dpscale.train.tries import STEP_S, refusal


def node_facts(spec: Spec, folders: Iterable[Path], import_s: float) -> NodeFacts:
    """Facts of this node for a spec's workers.

    folders: whose free space is wanted; import_s: seconds that torch's import took here.
    """
    device = spec.hardware.device
    # First: GPUs in exclusive mode take one process each, and this one is about to open them.
    step_error = None
    if device == "cpu" or torch.cuda.device_count():
        step_error = refusal(spec, patience_s(STEP_S, import_s))
    devices, error = _devices() if device == "cuda" else ((), None)
    return NodeFacts(
        node=node_name(),
        devices=devices,
        driver=driver_version() if device == "cuda" else None,
        torch=torch.__version__,
        cuda=torch.version.cuda if device == "cuda" else None,
        device_error=error,
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=memory_bytes(),
        free_bytes={str(folder): _free_bytes(folder) for folder in folders},
        step_error=None if error else step_error,
    )


def _devices() -> tuple[tuple[Device, ...], str | None]:
    """The GPUs, or why CUDA does not start."""
    occupied = _as_nvml_sees_them()  # before this process takes memory of them
    try:
        torch.cuda.init()
        found = []
        for index in range(torch.cuda.device_count()):
            free, total = torch.cuda.mem_get_info(index)
            device = torch.cuda.get_device_properties(index)
            free, neighbours = occupied.get(f"GPU-{device.uuid}", (free, ()))
            found.append(
                Device(name=device.name, free_bytes=free, total_bytes=total, neighbours=neighbours)
            )
    except (RuntimeError, AssertionError) as error:  # a torch without CUDA asserts
        return (), " ".join(str(error).split())
    return tuple(found), None


def _as_nvml_sees_them() -> dict[str, tuple[int, tuple[Neighbour, ...]]]:
    """Free bytes of each GPU of the machine and the processes that compute on it, by UUID.

    Empty where NVML cannot be read.
    """
    seen = {}
    with suppress(Exception):  # NVML is optional, and says so by errors of its own
        import pynvml

        pynvml.nvmlInit()
        for index in range(pynvml.nvmlDeviceGetCount()):
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            neighbours = tuple(
                Neighbour(
                    process=one.pid, name=_process_name(one.pid), used_bytes=one.usedGpuMemory
                )
                for one in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
            )
            free = pynvml.nvmlDeviceGetMemoryInfo(handle).free
            seen[str(pynvml.nvmlDeviceGetUUID(handle))] = (free, neighbours)
    return seen


def _process_name(process: int) -> str:
    import pynvml

    try:
        return str(pynvml.nvmlSystemGetProcessName(process))
    except pynvml.NVMLError:  # another user's, or another container's
        return "unknown"


def _free_bytes(folder: Path) -> int:
    """Free space where a folder is, or will be."""
    there = next(path for path in [folder, *folder.absolute().parents] if path.exists())
    return shutil.disk_usage(there).free
