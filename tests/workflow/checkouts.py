"""Calls of snakemake in a copy of the repository, and what an interrupted call left there."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("Snakefile", "rules", "workflow", "config", "profiles", "report", "envs")
CONFIG = "config/smoke.yaml"
# Snakemake's Slurm plugin asks Slurm for its settings at every start, which takes 9 s where a
# slurm.conf names a controller that is away. An empty slurm.conf is refused at once.
WITHOUT_SLURM = os.environ | {"SLURM_CONF": os.devnull}


def copied(folder: Path) -> Path:
    """The repository in a folder, without its history and results."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, folder / name, ignore=ignored, symlinks=True)
        else:
            shutil.copy(source, folder / name)
    return folder


class Checkout(NamedTuple):
    """A checkout with results, and what the interrupted first run had measured by then."""

    folder: Path
    measured_before: dict[str, float]  # record path: time of modification
    unfinished: list[str]  # files of no whole record after the interruption
    output: str

    @property
    def results(self) -> Path:
        return self.folder / "results/smoke"


def snakemake(
    folder: Path, *arguments: str, config: str = CONFIG
) -> subprocess.CompletedProcess[str]:
    """Run snakemake as a user would, in a folder."""
    return subprocess.run(
        [*command(), *arguments, "--configfile", config],
        cwd=folder,
        env=WITHOUT_SLURM,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def command() -> list[str]:
    return [sys.executable, "-m", "snakemake"]


def records(folder: Path) -> dict[str, float]:
    found = folder.glob("results/smoke/runs/*/record.json")
    return {str(path.relative_to(folder)): path.stat().st_mtime for path in found}


def interrupt_after_records(folder: Path, count: int) -> None:
    """Start the workflow and press Ctrl-C once `count` runs are recorded and another began."""
    process = subprocess.Popen(
        [*command(), "--configfile", CONFIG],
        cwd=folder,
        env=WITHOUT_SLURM,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 300
    while len(records(folder)) < count and process.poll() is None:
        assert time.monotonic() < deadline, "the workflow records nothing"
        time.sleep(0.2)
    time.sleep(3)  # into the next run
    os.killpg(process.pid, signal.SIGINT)
    process.wait(timeout=120)
