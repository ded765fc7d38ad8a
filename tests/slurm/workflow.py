"""A checkout whose snakemake runs on the login node of a test cluster, and what its runs do."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from cluster import Cluster
from patience import HANG_S

from worker_processes import workers_of

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("Snakefile", "rules", "workflow", "config", "profiles", "slurm", "report", "envs")
BIN = Path(sys.executable).parent
IMPATIENT = Path(__file__).with_name("impatient.py")


class Workflow:
    """Calls of `snakemake --profile slurm` in a folder of their own."""

    def __init__(self, cluster: Cluster, folder: Path, config: str | dict[str, Any]) -> None:
        self.cluster, self.folder = cluster, folder
        folder.mkdir(parents=True, exist_ok=True)
        for name in COPIED:
            if (ROOT / name).is_dir() and not (ROOT / name).is_symlink():
                shutil.copytree(ROOT / name, folder / name, ignore=_no_cache)
            else:
                shutil.copy(ROOT / name, folder / name, follow_symlinks=False)
        self.config = config if isinstance(config, str) else "config/own.json"
        if not isinstance(config, str):
            (folder / self.config).write_text(json.dumps(config))
        self.before: tuple[str, ...] = ()  # words of a command that runs snakemake
        self._calls: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
        """Start snakemake; its output goes to snakemake.log."""
        log = (self.folder / "snakemake.log").open("a")
        variables = {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "HOME": os.environ["HOME"],
            **environment,
        }
        call = self.cluster.start(
            *self.before,
            sys.executable,
            str(IMPATIENT),
            *arguments,
            "--profile",
            "slurm",
            "--configfile",
            self.config,
            "--slurm-init-seconds-before-status-checks",
            "3",
            cwd=self.folder,
            env=variables,
            stdout=log,
            stderr=log,
        )
        self._calls.append(call)
        return call

    def call(self, *arguments: str, **environment: str) -> int:
        """Call snakemake and wait for its exit status."""
        return self.start(*arguments, **environment).wait(HANG_S)

    def skip_check(self) -> None:
        """Leave what a check of the machine leaves where all is well, so that none is made."""
        passed = self.folder / f"results/{self._name()}/check.json"
        passed.parent.mkdir(parents=True, exist_ok=True)
        passed.write_text("{}")

    def end(self) -> None:
        """End what is left of the calls and of their jobs."""
        for call in self._calls:
            if call.poll() is None:
                os.killpg(call.pid, 9)
                call.wait()
        self.cluster.run("scancel", "--user=root")
        self.cluster.wait_until(lambda: not self.cluster.jobs())

    def output(self) -> str:
        """What all calls of snakemake printed."""
        return (self.folder / "snakemake.log").read_text()

    def attempts(self, run: str) -> list[dict[str, Any]]:
        """The attempts of the last call at a run, by number."""
        paths = sorted(self.folder.glob(f"results/*/attempts/{run}/attempt-*.json"))
        return [json.loads(path.read_text()) for path in paths]

    def record(self, run: str) -> dict[str, Any] | None:
        """The record of a run; None before it is there."""
        for path in self.folder.glob(f"results/*/runs/{run}/record.json"):
            found: dict[str, Any] = json.loads(path.read_text())
            return found
        return None

    def wait_for_workers(self, run: str, workers: int) -> dict[int, int]:
        """Wait until a run trains, and return the process of each of its ranks."""
        log = self.folder / f"results/{self._name()}/logs/{run}.log"

        def trains() -> bool:
            assert self._calls[-1].poll() is None, "snakemake has ended"
            trained = log.exists() and f"{run}: " in log.read_text()
            return trained and len(workers_of(f"/{run}/spec.json")) == workers

        self.cluster.wait_until(trains)
        return workers_of(f"/{run}/spec.json")

    def _name(self) -> str:
        text = (self.folder / self.config).read_text()
        return str(json.loads(text)["name"]) if self.config.endswith("json") else "smoke-cluster"


def _no_cache(_: str, names: list[str]) -> list[str]:
    return [name for name in names if name == "__pycache__"]
