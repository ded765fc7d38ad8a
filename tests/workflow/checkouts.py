"""Calls of snakemake in a copy of the repository, and what an interrupted call left there."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from patience import HANG_S, until

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
        timeout=HANG_S,
        check=False,
    )


def command() -> list[str]:
    return [sys.executable, "-m", "snakemake"]


def records(folder: Path) -> dict[str, float]:
    found = folder.glob("results/smoke/runs/*/record.json")
    return {str(path.relative_to(folder)): path.stat().st_mtime for path in found}


def interrupt_after_records(folder: Path, count: int) -> None:
    """Start the workflow and press Ctrl-C once `count` runs are recorded and another is at work."""
    process = subprocess.Popen(
        [*command(), "--configfile", CONFIG],
        cwd=folder,
        env=WITHOUT_SLURM,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    results = folder / "results/smoke"

    def another_is_at_work() -> bool:
        assert process.poll() is None, "the workflow has ended"
        told = {path.stem for path in results.glob("logs/*.log") if path.stat().st_size}
        recorded = {Path(path).parent.name for path in records(folder)}
        runs = {path.name for path in results.glob("attempts/*")}
        return len(recorded) >= count and bool(told & runs - recorded)

    until(another_is_at_work)
    os.killpg(process.pid, signal.SIGINT)
    process.wait(timeout=HANG_S)
