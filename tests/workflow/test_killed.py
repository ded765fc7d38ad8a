"""A snakemake that is killed or told to end: the same command goes on where it was."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from checkouts import CONFIG, WITHOUT_SLURM, command, copied, snakemake
from patience import HANG_S, until

from dpscale.attempts import History
from dpscale.launch.temporary import NAME
from dpscale.processes import born
from worker_processes import workers_of

RUNS = Path("results/smoke/runs")
SHORT, LONG = "scaling-n2-b32", "replicas-baseline-n2-b32"
TARGETS = [str(RUNS / run / "record.json") for run in (SHORT, LONG)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout, with a configuration whose LONG would take hours."""
    folder = copied(tmp_path_factory.mktemp("killed"))
    text = (folder / CONFIG).read_text()
    assert text.count("replicas:\n  workers: 2\n  per_worker_batch: 32\n  epochs: 2\n") == 1
    (folder / "long.yaml").write_text(text.replace("  epochs: 2\n", "  epochs: 10_000\n"))
    return folder


@contextmanager
def at_work(
    folder: Path, run: str, config: str, *targets: str, **environment: str
) -> "Iterator[subprocess.Popen[str]]":
    """A call of snakemake that has begun to measure a run; it prints into the file `said`.

    A test that fails leaves none at work: hours of two workers beside all tests that follow.
    """
    log = folder / f"results/smoke/logs/{run}.log"
    log.unlink(missing_ok=True)
    with (folder / "said").open("w") as said:
        call = subprocess.Popen(
            [*command(), *targets, "--configfile", config],
            cwd=folder,
            start_new_session=True,
            env=WITHOUT_SLURM | environment,
            stdout=said,
            stderr=said,
            text=True,
        )

    def began() -> bool:
        assert call.poll() is None, "snakemake has ended"
        return log.exists() and f"{run}: " in log.read_text() and " 1 of " in log.read_text()

    try:
        until(began)
        yield call
    finally:
        call.kill()
        call.wait()
        until(lambda: not workers_of(str(folder)))


def test_the_call_after_a_kill_needs_no_unlock_and_meets_no_worker_of_the_killed_one(
    folder,
) -> None:
    with at_work(folder, SHORT, CONFIG, TARGETS[0]) as killed:
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
    ended = snakemake(folder, TARGETS[0])
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert "was killed; its lock is removed" in ended.stderr
    attempt = (folder / f"results/smoke/attempts/{SHORT}/attempt-1.json").read_text()
    assert '"failure":null' in attempt
    assert '"status": "complete"' in (folder / TARGETS[0]).read_text()


def test_a_call_that_alone_is_told_to_end_keeps_what_finished_and_ends_what_runs(folder) -> None:
    shutil.rmtree(folder / RUNS / SHORT, ignore_errors=True)
    finished: set[int] = set()
    for signals in (
        [signal.SIGINT] * 2,
        [signal.SIGTERM] * 2,
        [signal.SIGHUP],
        [signal.SIGINT, signal.SIGTERM, signal.SIGHUP],
    ):
        with at_work(folder, LONG, "long.yaml", *TARGETS) as call:
            for number in signals:
                os.kill(call.pid, number)
            assert call.wait(HANG_S) != 0
            assert workers_of(str(folder)) == {}
        assert not (folder / TARGETS[1]).exists()
        finished.add((folder / TARGETS[0]).stat().st_mtime_ns)
    assert len(finished) == 1, "what had finished was measured again"


def script_of(call: "subprocess.Popen[str]") -> psutil.Process:
    """The process that the shell of the call's only run waits for."""
    (script,) = [
        process
        for process in psutil.Process(call.pid).children(recursive=True)
        if "start.py" in " ".join(process.cmdline()[:2])
    ]
    return script


def fork_of(call: "subprocess.Popen[str]") -> psutil.Process:
    """The fork that launches the call's only run, as its attempt names it.

    The script itself where the server of forks did not answer in time, as on a busy machine.
    """
    results = Path(psutil.Process(call.pid).cwd(), "results/smoke")
    (attempt,) = History(results / "attempts" / LONG).read()
    cold = "this run starts cold" in (results / f"logs/{LONG}.log").read_text()
    assert (attempt.process == script_of(call).pid) == cold
    return psutil.Process(attempt.process)


@pytest.mark.parametrize("process_of", [script_of, pytest.param(fork_of, marks=pytest.mark.slow)])
def test_a_stopped_script_of_a_job_is_ended_with_a_sentence(folder, process_of) -> None:
    with at_work(folder, LONG, "long.yaml", *TARGETS, DPSCALE_SILENCE_S="15") as call:
        (agent,) = {psutil.Process(one).ppid() for one in workers_of(str(folder)).values()}
        launch = process_of(call)
        launch.suspend()
        assert call.wait(HANG_S) == 1
        said = (folder / "said").read_text()
    assert f"process {launch.pid} (python" in said
    assert "was stopped" in said
    assert "its job tried again or reported" in said
    until(lambda: not born(agent))
    assert workers_of(str(folder)) == {}


def test_nothing_is_left_of_a_call_nor_by_the_next_one_of_a_killed_call(
    folder, monkeypatch
) -> None:
    # Of these calls alone: other tests leave files in the system's folder meanwhile. Its name is
    # short, as a socket's has to be.
    with tempfile.TemporaryDirectory(prefix="killed-") as temporary:
        monkeypatch.setitem(WITHOUT_SLURM, "TMPDIR", temporary)

        def left() -> set[Path]:
            """Files of calls, but for compiled code."""
            here = Path(temporary)
            return {
                *here.glob(f"{NAME}/*:*"),
                *here.glob("torchelastic_*"),
                *here.glob("snakemake*"),
            }

        with at_work(folder, LONG, "long.yaml", *TARGETS) as killed:
            assert len(left()) >= 2  # ours and Snakemake's
            os.kill(killed.pid, signal.SIGKILL)
            killed.wait()
        assert left()
        ended = snakemake(folder, TARGETS[0])
        assert ended.returncode == 0, ended.stderr[-3000:]
        until(lambda: not left(), lambda: str(left()))
