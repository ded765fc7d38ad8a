"""Starts runs as the rules do, or by hand, and hands their records to the tests."""

import os
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import pandas as pd
import pytest
from patience import HANG_S

from dpscale.attempts import History
from dpscale.launch import warm
from dpscale.launch.supervise import supervise
from dpscale.plan import Spec
from dpscale.plan.spec import TimedProtocol, TrainingProtocol, build_spec
from dpscale.records import Record, read_record
from dpscale.studies import kinds, load_config
from dpscale.train.communication.collectives import unobservable

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow/scripts"
RUN_SCRIPT = SCRIPTS / "run.py"
TORCHRUN = [str(Path(sys.executable).with_name("torchrun")), "--run-path", "--start-method=fork"]
STUDIES = ("sweep", "scaling", "large_batch", "replicas", "ledger", "data_parallel")
CONFIG: dict[str, Any] = {"name": "test", "hardware": {"allow_oversubscription": True}}
CONFIG |= dict.fromkeys(STUDIES)  # the tests make their own specs


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what reads the ledger where this torch lets nobody see its collectives."""
    if item.get_closest_marker("ledger") and (reason := unobservable()):
        pytest.skip(reason)


class Result(NamedTuple):
    """What a launched run left behind."""

    record: Record
    steps: pd.DataFrame


class Ended(NamedTuple):
    """How a script that was started by hand ended, and what it had printed."""

    status: int
    log: str


class Launcher:
    """Builds specs, and runs them in processes of their own."""

    def __init__(self, folder: Path, data_root: Path, server: dict[str, str]) -> None:
        self.folder, self.data_root, self.server = folder, data_root, server

    def spec(
        self, kind: str = "training", data: dict[str, Any] | None = None, **fields: Any
    ) -> Spec:
        config = load_config(CONFIG | {"data": {"root": str(self.data_root)} | (data or {})})
        given = {"run": "test", "study": "test", "workers": 1, "per_worker_batch": 32} | fields
        if kind == "timed" and (timing := given.pop("timing", None)):
            given["protocol"] = TimedProtocol(timing=timing)
        given.setdefault("protocol", TrainingProtocol())
        training = given.pop("training", {})
        spec = build_spec(config, kinds()[kind], **given)
        return spec.model_copy(update={"training": spec.training.model_copy(update=training)})

    def _write(self, spec: Spec) -> Path:
        path = self.folder / spec.run / "spec.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(spec.model_dump_json(), encoding="utf-8")
        return path

    def start(self, spec: Spec, started: int | None = None, through: Sequence[str] = ()) -> Ended:
        """Launch a spec by hand with `started` workers (its own number by default).

        through: a script that is given the words of the run, and its own.
        """
        words = [*through, str(RUN_SCRIPT), str(self._write(spec))]
        if (workers := started or spec.workers) == 1:
            return self._all_ended([words])[0]
        return self.torchrun(words, workers)

    def torchrun(self, words: list[str], workers: int) -> Ended:
        """Run a script in the workers of one agent."""
        return self._all_ended(
            [[*TORCHRUN, "--standalone", f"--nproc-per-node={workers}", *words]]
        )[0]

    def start_agents(self, spec: Spec, per_node: int = 1) -> list[Ended]:
        """Launch a spec over torchrun agents of some workers; how each of them ended."""
        path = self._write(spec)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        agents = spec.workers // per_node
        launch = [
            *TORCHRUN,
            f"--nnodes={agents}",
            f"--nproc-per-node={per_node}",
            "--master-addr=127.0.0.1",
            f"--master-port={port}",
        ]
        run = [str(RUN_SCRIPT), str(path)]
        return self._all_ended([[*launch, f"--node-rank={rank}", *run] for rank in range(agents)])

    def _all_ended(self, commands: list[list[str]]) -> list[Ended]:
        """Start scripts with their words together, warm: seconds less; wait for all of them."""
        with ExitStack() as logs:
            started = []
            for words in commands:
                log = logs.enter_context(TemporaryFile("w+"))
                process = warm.start(words, log=log, environment=os.environ | self.server)
                assert process is not None
                started.append((process, log))
            ended = []
            for process, log in started:
                status = process.wait(HANG_S)
                log.seek(0)
                ended.append(Ended(status, log.read()))
            return ended

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
