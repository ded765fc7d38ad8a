"""Where a number comes from: machine, versions, commit."""

import os
import platform
import socket
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("torch", "torchvision", "numpy", "snakemake", "pandas", "scipy")
REPOSITORY = Path(__file__).resolve().parents[3]


def now() -> str:
    """The time in UTC, ISO 8601 to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def provenance(*, device: str, devices: int, backend: str) -> dict[str, Any]:
    """Machine, versions, commit and fingerprint of a run.

    device: model of the device; devices: how many of it this process sees. Runs with equal
    `fingerprint` may be combined in one table; it holds what changes a timing on this machine. What
    a process sees of a machine is no part of it: a job of Slurm sees what it asked for.
    """
    host = os.environ.get("SLURM_CLUSTER_NAME") or socket.gethostname()
    versions = {name: _version(name) for name in PACKAGES}
    cpu = f"{cpu_model()} x{os.cpu_count()}"
    fingerprint = " | ".join([device, cpu, f"torch {versions['torch']}", backend, host])
    return {
        "fingerprint": fingerprint,
        "host": host,
        "device": device,
        "devices": devices,
        "cpu": cpu,
        "backend": backend,
        "python": platform.python_version(),
        "system": platform.platform(),
        "versions": versions,
        "commit": _commit(),
        "command": sys.argv,
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
    try:
        result = subprocess.run(
            ["git", "-C", str(REPOSITORY), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.strip() or None
