"""What a node gives a worker: GPUs, driver, cores, memory, disk and a compiler."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import torch

from dpscale.launch.check import Device, NodeFacts, memory_bytes
from dpscale.plan import Spec
from dpscale.processes import node_name
from dpscale.train.device import driver_version

COMPILE_S = 120
COMPILED = "import torch; torch.compile(lambda x: x * 2 + 1)(torch.ones(64, device={device!r}))"


def node_facts(spec: Spec, folders: Iterable[Path]) -> NodeFacts:
    """Facts of this node for a spec's workers; folders: whose free space is wanted."""
    device = spec.hardware.device
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
        compile_error=_compile_error(device) if spec.training.compile and not error else None,
    )


def _devices() -> tuple[tuple[Device, ...], str | None]:
    """The GPUs, or why CUDA does not start."""
    try:
        torch.cuda.init()
        found = []
        for index in range(torch.cuda.device_count()):
            free, total = torch.cuda.mem_get_info(index)
            name = torch.cuda.get_device_name(index)
            found.append(Device(name=name, free_bytes=free, total_bytes=total))
    except (RuntimeError, AssertionError) as error:  # a torch without CUDA asserts
        return (), " ".join(str(error).split())
    return tuple(found), None


def _free_bytes(folder: Path) -> int:
    """Free space where a folder is, or will be."""
    there = next(path for path in [folder, *folder.absolute().parents] if path.exists())
    return shutil.disk_usage(there).free


def _compile_error(device: str) -> str | None:
    """Why a small function cannot be compiled, as runs compile theirs; None where it can."""
    words = [sys.executable, "-c", COMPILED.format(device=device)]
    try:
        ended = subprocess.run(
            words, capture_output=True, text=True, timeout=COMPILE_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"nothing came of it in {COMPILE_S} s"
    lines = [line for line in ended.stderr.splitlines() if line.strip()]
    told = next((line for line in lines if "Error" in line), lines[-1] if lines else "it failed")
    return told.strip() if ended.returncode else None
