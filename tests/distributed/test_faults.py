"""Launched runs that break end soon, say which rank on which node and why, and leave no record."""

import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pytest
from patience import HANG_S, until

from dpscale.attempts import Attempt, History, memory_factor
from dpscale.launch import warm
from dpscale.processes import born, identity
from worker_processes import workers_of

START_SCRIPT = Path(__file__).resolve().parents[2] / "workflow/scripts/start.py"
WARM_SCRIPT = START_SCRIPT.with_name("warm.py")
cold_and_warm = pytest.mark.parametrize("make_run", ["cold", "warm"], indirect=True)
LONG = {"workers": 2, "per_worker_batch": 32, "training": {"epochs": 500}}


def ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Run:
    """A run started as a rule does, in a folder of its own."""

    def __init__(self, folder: Path, spec: Any, environment: dict[str, str]) -> None:
        self.folder, self.log, self.environment = folder, folder / "run.log", environment
        folder.mkdir(exist_ok=True)
        (folder / "spec.json").write_text(spec.model_dump_json())

    def start(
        self, attempt: int = 1, *, background: bool = False, **environment: str
    ) -> "subprocess.Popen[str]":
        """Start an attempt; its errors can be read from the pipe.

        background: it ignores Ctrl-C from its start on, as a background job of a script.
        """
        self.process = subprocess.Popen(
            [
                sys.executable,
                str(START_SCRIPT),
                "launch.py",
                str(self.folder / "spec.json"),
                "--log",
                str(self.log),
                "--history",
                str(self.folder / "attempts"),
                f"--attempt={attempt}",
            ],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | self.environment | environment,
            preexec_fn=ignore_interrupts if background else None,
        )
        return self.process

    def errors(self) -> str:
        return self.process.communicate(timeout=HANG_S)[1]

    def ranks(self, count: int = 2) -> list[int]:
        """Wait until the workers train; their processes by rank."""
        self.wait_for("of 500")
        found = workers_of(str(self.folder))
        assert sorted(found) == list(range(count))
        return [found[rank] for rank in range(count)]

    def wait_for(self, words: str) -> None:
        def said() -> bool:
            ended = self.process.poll() is not None
            told = self.log.read_text() if self.log.exists() else ""
            assert words in told or not ended, told
            return words in told

        until(said, self.log.read_text)

    def attempts(self) -> list[Attempt]:
        return History(self.folder / "attempts").read()

    def files(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()} - {"attempts", "run.log", "spec.json"}


@pytest.fixture
def make_run(
    request: pytest.FixtureRequest, launcher: Any, tmp_path: Path
) -> Iterator[Callable[..., Run]]:
    made: list[Run] = []
    warmly = getattr(request, "param", "warm") == "warm"  # warm: seconds less
    environment = request.getfixturevalue("server") if warmly else {}

    def make(folder: Path = tmp_path / "run", **fields: Any) -> Run:
        made.append(Run(folder, launcher.spec(run="broken", **(LONG | fields)), environment))
        return made[-1]

    yield make
    for run in made:
        if hasattr(run, "process") and run.process.poll() is None:
            run.process.terminate()
            run.process.communicate(timeout=HANG_S)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system with room for 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("cannot mount a small file system here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@cold_and_warm
def test_a_killed_rank_is_named_with_its_node_and_signal(make_run) -> None:
    run = make_run()
    run.start()
    os.kill(run.ranks()[1], signal.SIGKILL)
    line = run.errors().splitlines()[-1]
    assert line.startswith(f"broken: attempt 1: rank 1 on {socket.gethostname()}: Signal 9 (SIGK")
    assert run.process.returncode == 1
    assert run.log.read_text().splitlines()[-1] == line
    assert run.files() == set()


def await_end(ranks: list[int]) -> None:
    """Waits until all of them have ended, which they do a moment after what they end with."""
    until(lambda: not any(born(rank) for rank in ranks))


def stopped(run: Run, process: int) -> Attempt:
    """The attempt of a run in which a process was stopped for good, when it has ended."""
    os.kill(process, signal.SIGSTOP)
    errors = run.errors()
    assert f"process {process}" in errors
    assert f"on {socket.gethostname()}: " in errors or f": {socket.gethostname()}: " in errors
    assert "the run was at seed 0, epoch " in errors
    assert run.process.returncode == 1
    assert run.files() == set()
    assert born(process) is None
    (attempt,) = run.attempts()
    return attempt


# Cold, for the workers read how long to wait from the environment.
@pytest.mark.parametrize("make_run", ["cold"], indirect=True)
@pytest.mark.parametrize("rank", [0, 1])
def test_a_stopped_rank_is_named_with_its_node_and_what_the_run_was_at(make_run, rank) -> None:
    run = make_run()
    run.start(DPSCALE_SILENCE_S="5")
    failure = stopped(run, run.ranks()[rank]).failure
    assert failure is not None
    assert (failure.cause, failure.rank) == ("silent", rank)


@pytest.mark.parametrize("make_run", ["cold"], indirect=True)
def test_a_stopped_agent_is_noticed_and_its_workers_end(make_run) -> None:
    run = make_run()
    run.start(DPSCALE_SILENCE_S="5")
    ranks = run.ranks()
    failure = stopped(run, psutil.Process(ranks[0]).ppid()).failure
    assert failure is not None
    assert (failure.cause, failure.rank) == ("silent", None)
    await_end(ranks)


@pytest.mark.parametrize("make_run", ["cold"], indirect=True)
def test_a_stopped_worker_that_is_alone_is_noticed(make_run) -> None:
    run = make_run(workers=1)
    run.start(DPSCALE_SILENCE_S="5")
    run.wait_for("of 500")
    failure = stopped(run, psutil.Process(run.process.pid).children()[0].pid).failure
    assert failure is not None
    assert failure.cause == "silent"


def test_a_stopped_server_is_not_waited_for_and_what_it_does_later_is_for_nobody(
    make_run, tmp_path
) -> None:
    path, process = warm.start_server(WARM_SCRIPT, str(tmp_path), threads=1)
    process.send_signal(signal.SIGSTOP)
    run = make_run(training={"epochs": 1})
    run.start(**{warm.SOCKET: path, "DPSCALE_SILENCE_S": "2"})
    assert run.process.wait(HANG_S) == 0
    written = (run.folder / "record.json").stat().st_mtime_ns
    process.send_signal(signal.SIGCONT)
    with (tmp_path / "log").open("w") as log:  # behind the request that nobody waits for
        after = warm.start(["-c"], log=log, environment={warm.SOCKET: path})
        assert after is not None
        after.wait(HANG_S)
    assert run.errors() == "warm.py has not answered for 2 s: this run starts cold\n"
    assert (run.folder / "record.json").stat().st_mtime_ns == written
    assert workers_of(str(run.folder)) == {}
    process.kill()
    process.wait()


def test_a_rank_without_host_memory_is_named_and_gets_more(make_run) -> None:
    run = make_run()
    run.start()
    process = run.ranks()[1]
    resource.prlimit(process, resource.RLIMIT_DATA, (1, resource.RLIM_INFINITY))
    assert f"rank 1 on {socket.gethostname()}: RuntimeError: rank 1, batch 32: " in run.errors()
    assert run.files() == set()
    assert memory_factor(run.attempts()) == 2


def test_a_full_disk_is_said_and_starts_nothing_again(make_run, small_disk) -> None:
    run = make_run(folder=small_disk / "run", training={"epochs": 40})
    run.log = small_disk.parent / "run.log"
    run.start()
    run.wait_for("of 40")  # epochs are left in which to fill the disk
    with pytest.raises(OSError, match="No space"):
        fill(small_disk / "filler")
    errors = run.errors()
    assert "No space left on device; free some space" in errors.splitlines()[-1]
    assert run.files() == set()
    run.start(attempt=2)
    assert "No space left on device" in run.errors()
    assert run.log.read_text() == ""  # no worker has begun


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        while True:
            file.write(b"0" * 512)


@cold_and_warm
def test_an_error_of_the_program_is_not_tried_again(make_run) -> None:
    data = {"dataset": "cifar10", "root": "/nowhere"}
    run = make_run(data=data)
    run.start()
    assert "fetch_dataset" in run.errors().splitlines()[-1]
    run.start(attempt=2)
    assert "not tried again" in run.errors()


@cold_and_warm
def test_a_launch_told_to_end_ends_its_workers_and_says_so(make_run) -> None:
    run = make_run()
    process = run.start()
    ranks = run.ranks()
    process.terminate()
    assert "told to end (SIGTERM)" in run.errors()
    assert [born(rank) for rank in ranks] == [None, None]
    assert run.files() == set()


def test_a_launch_in_the_background_goes_on_at_ctrl_c(make_run) -> None:
    run = make_run(training={"epochs": 20})
    process = run.start(background=True)
    run.wait_for("of 20")
    process.send_signal(signal.SIGINT)
    assert run.errors() == ""
    assert run.files() == {"record.json", "steps.parquet"}


@cold_and_warm
def test_workers_do_not_outlive_a_killed_launch(make_run) -> None:
    run = make_run()
    process = run.start()
    ranks = run.ranks()
    process.kill()
    process.communicate()
    await_end(ranks)
    (attempt,) = run.attempts()
    assert attempt.ended_at is None


def test_workers_end_with_the_snakemake_that_asked_for_them(make_run) -> None:
    snakemake = subprocess.Popen(["sleep", str(HANG_S)])
    run = make_run()
    run.start(DPSCALE_WORKFLOW=identity(snakemake.pid))
    run.ranks()
    snakemake.kill()
    snakemake.wait()
    assert "the snakemake that started it was killed" in run.errors()


def test_a_warm_start_is_a_process_of_the_same_environment_and_leaves_the_same_record(
    make_run, tmp_path
) -> None:
    losses = []
    for name, environment in (("cold", {warm.SOCKET: ""}), ("warm", {})):
        run = make_run(folder=tmp_path / name, training={"epochs": 2})
        run.start(**environment)
        assert run.errors() == ""
        losses.append(pd.read_parquet(run.folder / "steps.parquet")["loss"])
    assert losses[0].equals(losses[1])


def test_a_warm_run_leads_a_session_by_the_time_its_number_is_known(server, tmp_path) -> None:
    script = tmp_path / "sleeps.py"
    script.write_text(f"import time; time.sleep({HANG_S})")
    with (tmp_path / "log").open("w") as log:
        for _ in range(5):
            run = warm.start([str(script)], log=log, environment=os.environ | server)
            assert run is not None
            assert os.getsid(run.pid) == run.pid
            os.killpg(run.pid, signal.SIGKILL)
            assert run.wait(HANG_S) == -signal.SIGKILL


def test_runs_start_cold_once_the_server_is_gone_and_end_with_it(make_run, tmp_path) -> None:
    path, process = warm.start_server(WARM_SCRIPT, str(tmp_path), threads=1)
    run = make_run()
    run.start(**{warm.SOCKET: path})
    ranks = run.ranks()
    process.kill()
    process.wait()
    assert "killed with warm.py" in run.errors()
    await_end(ranks)
    again = make_run(folder=tmp_path / "again", training={"epochs": 1})
    again.start(**{warm.SOCKET: path})
    assert again.errors() == ""
