"""Where a number comes from: machine, versions, commit."""

import os
import platform
import re
import socket
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

# Settings of NCCL, of torch with its allocator and compiler, and of CUDA and its libraries.
VARIABLES = re.compile(r"(NCCL|TORCH|TORCHINDUCTOR|PYTORCH|CUDA|CUBLAS(LT)?|CUDNN)_|NVIDIA_TF32")
# No timing depends on where files lie, on what is printed, on a version that an image names, on
# which GPUs a job is given, or on what torchrun sets for its workers, and the agent for those of
# one machine. CUDA's are too many to tell.
UNTIMED = re.compile(
    r"[^=]*_(DIR|HOME|PATH|ROOT|VERSION|TEMP_FILE)=|NCCL_(DEBUG[^=]*|COMM_ID|HOSTID)="
    r"|TORCH_(LOGS[^=]*|TRACE|CPP_LOG_LEVEL|SHOW_[^=]*|NCCL_ASYNC_ERROR_HANDLING)="
    r"|CUDA_(?!LAUNCH_BLOCKING|DEVICE_MAX|SCALE_|MPS_ACTIVE|[^=]*BOOST|FORCE_PTX)"
    r"|NCCL_SOCKET_IFNAME=lo$"
)
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
INFINIBAND = Path("/sys/class/infiniband")
PACKAGES = ("torch", "torchvision", "numpy", "snakemake", "pandas", "scipy")
REPOSITORY = Path(__file__).resolve().parents[3]


def now() -> str:
    """The time in UTC, ISO 8601 to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def provenance(
    *,
    device: str,
    devices: int,
    backend: str,
    libraries: Mapping[str, str] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> dict[str, Any]:
    """Machine, versions, commit and fingerprint of a run.

    device: model of the device; devices: how many of it this process sees; libraries: what it
    computes and communicates with, by version; environment: variables, as the run began with them.
    Runs with equal `fingerprint` may be combined in one table; it holds what changes a timing on
    this machine. What a process sees of a machine is no part of it: a job of Slurm sees what it
    asked for.
    """
    host = environment.get("SLURM_CLUSTER_NAME") or socket.gethostname()
    libraries = libraries or {}
    versions = {name: _version(name) for name in PACKAGES}
    cpu = f"{cpu_model()} x{os.cpu_count()}"
    variables = {name: environment[name] for name in sorted(environment) if VARIABLES.match(name)}
    settings = [f"{name}={value}" for name, value in variables.items()]
    parts = [
        device,
        cpu,
        f"torch {versions['torch']}",
        *(f"{name} {version}" for name, version in libraries.items()),
        *(setting for setting in settings if not UNTIMED.match(setting)),
        backend,
        host,
    ]
    return {
        "fingerprint": " | ".join(parts),
        "host": host,
        "device": device,
        "devices": devices,
        "cpu": cpu,
        "backend": backend,
        "python": platform.python_version(),
        "system": platform.platform(),
        "versions": versions | dict(libraries),
        "variables": variables,
        "topology": _topology(),
        "infiniband": _infiniband(),
        "commit": _commit(),
        "command": sys.argv,
    }


def _topology() -> str | None:
    """How the GPUs of this node are linked, by NVLink or PCIe, and to which network adapters."""
    told = _output("nvidia-smi", "topo", "-m")
    return told and ESCAPES.sub("", told)


def _infiniband() -> dict[str, str]:
    """The rate of each active port of this node's InfiniBand adapters, as the kernel words it."""
    ports = {f"{port.parts[-3]}:{port.name}": port for port in INFINIBAND.glob("*/ports/*")}
    return {
        name: (port / "rate").read_text().strip()
        for name, port in sorted(ports.items())
        if "ACTIVE" in (port / "state").read_text()
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def cpu_model() -> str:
    """The processor's model, as the machine names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _commit() -> str | None:
    """The commit of the code, with -dirty for uncommitted changes; None outside a checkout."""
    words = ("describe", "--always", "--dirty", "--abbrev=12")
    return _output("git", "-C", str(REPOSITORY), *words)


def _output(*words: str) -> str | None:
    """What a command prints; None where it is missing, fails or takes long."""
    try:
        ended = subprocess.run(words, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return ended.stdout.strip() or None
