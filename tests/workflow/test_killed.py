"""A snakemake that is killed or told to end: the same command goes on where it was."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from checkouts import CONFIG, WITHOUT_SLURM, command, copied, snakemake
from patience import HANG_S, until

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


def at_work(folder: Path, run: str, config: str, *targets: str) -> "subprocess.Popen[bytes]":
    """A call of snakemake that has begun to measure a run."""
    log = folder / f"results/smoke/logs/{run}.log"
    log.unlink(missing_ok=True)
    call = subprocess.Popen(
        [*command(), *targets, "--configfile", config], cwd=folder, start_new_session=True,
        env=WITHOUT_SLURM, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def began() -> bool:
        assert call.poll() is None, "snakemake has ended"
        return log.exists() and f"{run}: " in log.read_text() and " 1 of " in log.read_text()

    until(began)
    return call


def test_the_call_after_a_kill_needs_no_unlock_and_meets_no_worker_of_the_killed_one(
    folder: Path,
) -> None:
    killed = at_work(folder, SHORT, CONFIG, TARGETS[0])
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    ended = snakemake(folder, TARGETS[0])
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert "was killed; its lock is removed" in ended.stderr
    attempt = (folder / f"results/smoke/attempts/{SHORT}/attempt-1.json").read_text()
    assert '"failure":null' in attempt
    assert '"status": "complete"' in (folder / TARGETS[0]).read_text()


def test_a_call_that_alone_is_told_to_end_keeps_what_finished_and_ends_what_runs(
    folder: Path,
) -> None:
    shutil.rmtree(folder / RUNS / SHORT, ignore_errors=True)
    finished: set[int] = set()
    for signals in ([signal.SIGINT] * 2, [signal.SIGTERM] * 2, [signal.SIGHUP]):
        call = at_work(folder, LONG, "long.yaml", *TARGETS)
        for number in signals:
            os.kill(call.pid, number)
        assert call.wait(HANG_S) != 0
        assert workers_of(str(folder)) == {}
        assert not (folder / TARGETS[1]).exists()
        finished.add((folder / TARGETS[0]).stat().st_mtime_ns)
    assert len(finished) == 1, "what had finished was measured again"
