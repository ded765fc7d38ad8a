"""A snakemake that is killed: the same command goes on where it was, with nobody's help."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from checkouts import CONFIG, COPIED, ROOT, WITHOUT_SLURM, command, snakemake

TARGET = "results/smoke/runs/scaling-n2-b32/record.json"


def test_the_call_after_a_kill_needs_no_unlock_and_meets_no_worker_of_the_killed_one(
    tmp_path: Path,
) -> None:
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    killed = subprocess.Popen(
        [*command(), TARGET, "--configfile", CONFIG], cwd=tmp_path, start_new_session=True,
        env=WITHOUT_SLURM, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    log = tmp_path / "results/smoke/logs/scaling-n2-b32.log"
    end = time.monotonic() + 120
    while not (log.exists() and "scaling-n2-b32: repeat 1 of" in log.read_text()):
        assert time.monotonic() < end
        time.sleep(0.1)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    ended = snakemake(tmp_path, TARGET)
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert "was killed; its lock is removed" in ended.stderr
    attempt = (tmp_path / "results/smoke/attempts/scaling-n2-b32/attempt-1.json").read_text()
    assert '"failure":null' in attempt
    assert '"status": "complete"' in (tmp_path / TARGET).read_text()
