"""Starts runs as the rules do, or by hand, and hands their records to the tests."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest

from dpscale.attempts import History
from dpscale.config import load_config
from dpscale.launch import supervise, warm
from dpscale.plan import Spec
from dpscale.plan.spec import build_spec
from dpscale.records import Record, read_record

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow/scripts"
RUN_SCRIPT = SCRIPTS / "run.py"
STUDIES = ("sweep", "scaling", "large_batch", "replicas", "ledger", "data_parallel")
CONFIG: dict[str, Any] = {"name": "test", "hardware": {"allow_oversubscription": True}}
CONFIG |= dict.fromkeys(STUDIES)  # the tests make their own specs


class Result(NamedTuple):
    """What a launched run left behind."""

    record: Record
    steps: pd.DataFrame


class Launcher:
    """Builds specs, and runs them in processes of their own."""

    def __init__(self, folder: Path, data_root: Path, server: dict[str, str]) -> None:
        self.folder, self.data_root, self.server = folder, data_root, server

    def spec(
        self, kind: str = "training", data: dict[str, Any] | None = None, **fields: Any
    ) -> Spec:
        config = load_config(CONFIG | {"data": {"root": str(self.data_root)} | (data or {})})
        given = {"run": "test", "study": "test", "workers": 1, "per_worker_batch": 32} | fields
        training = given.pop("training", {})
        spec = build_spec(config, kind, **given)
        return spec.model_copy(update={"training": spec.training.model_copy(update=training)})

    def _write(self, spec: Spec) -> Path:
        path = self.folder / spec.run / "spec.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(spec.model_dump_json(), encoding="utf-8")
        return path

    def start(
        self, spec: Spec, started: int | None = None, timeout_s: float = 300
    ) -> subprocess.CompletedProcess[str]:
        """Launch a spec by hand with `started` workers (its own number by default)."""
        workers = started or spec.workers
        path = self._write(spec)
        launch = [sys.executable]
        if workers > 1:
            launch += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={workers}"]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        command = [*launch, str(RUN_SCRIPT), str(path)]
        return subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=timeout_s, check=False
        )

    def start_agents(self, spec: Spec, per_node: int = 1) -> list[tuple[int, str]]:
        """Launch a spec over torchrun agents of some workers; exit status and errors of each."""
        path = self._write(spec)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        launch = [
            sys.executable, "-m", "torch.distributed.run", f"--nnodes={spec.workers // per_node}",
            f"--nproc-per-node={per_node}", "--master-addr=127.0.0.1", f"--master-port={port}",
        ]  # fmt: skip
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        agents = [
            subprocess.Popen(
                [*launch, f"--node-rank={rank}", str(RUN_SCRIPT), str(path)],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment,
            )
            for rank in range(spec.workers // per_node)
        ]  # fmt: skip
        errors = [agent.communicate(timeout=300)[1] for agent in agents]
        return [(agent.returncode, text) for agent, text in zip(agents, errors, strict=True)]

    def run(self, spec: Spec) -> Result:
        """Run a spec that must end well as launch.py does, warm: seconds less."""
        path = self._write(spec)
        history = History(path.with_name("attempts"))
        with pytest.MonkeyPatch.context() as patch, path.with_name("run.log").open("w+") as log:
            patch.setenv(warm.SOCKET, self.server[warm.SOCKET])
            ended = supervise(spec, path, history=history, number=1, log=log)
            log.seek(0)
            assert ended == 0, log.read()[-3000:]
        return self.result(spec)

    def result(self, spec: Spec) -> Result:
        """What a run that ended well left behind."""
        folder = self.folder / spec.run
        steps = pd.read_parquet(folder / "steps.parquet")
        return Result(read_record(folder / "record.json"), steps)


@pytest.fixture(scope="session")
def data_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What the environment of warm starts has."""
    folder = tmp_path_factory.mktemp("warm")
    socket_path, process = warm.start_server(SCRIPTS / "warm.py", str(folder), threads=1)
    yield {warm.SOCKET: socket_path}
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def launcher(
    tmp_path_factory: pytest.TempPathFactory, data_root: Path, server: dict[str, str]
) -> Launcher:
    return Launcher(tmp_path_factory.mktemp("runs"), data_root, server)


@pytest.fixture(scope="module")
def launched(launcher: Launcher) -> Callable[..., Result]:
    """Runs a spec once a module, however many tests look at it."""
    results: dict[str, Result] = {}

    def once(run: str, **fields: Any) -> Result:
        if run not in results:
            results[run] = launcher.run(launcher.spec(run=run, **fields))
        return results[run]

    return once
