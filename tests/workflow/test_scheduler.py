"""Snakemake's scheduler sleeps while a run is timed, and keeps a limit that the user gives."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkouts import CONFIG, WITHOUT_SLURM, copied

# Calls snakemake with timers that never fire, and says how many were waiting at once.
COUNTED = """
import sys, threading

class Timer:
    waiting = most = 0
    def __init__(self, *_):
        pass
    def start(self):
        Timer.waiting += 1
        Timer.most = max(Timer.most, Timer.waiting)
    def cancel(self):
        Timer.waiting -= 1

threading.Timer = Timer
from snakemake.cli import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    print(f"ended {ended.code}, {Timer.most} timers")
"""
# One after another, so that others are ready to start while one runs.
JOBS = """
rule step:
    output: "steps/{number}"
    resources: machine=WHOLE_MACHINE
    shell: "touch {output}"

rule steps:
    input: expand("steps/{number}", number=range(9))

onsuccess:
    limiter = workflow.scheduler.job_rate_limiter
    print("limited" if limiter else "not limited")
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = copied(tmp_path)
    with (folder / "Snakefile").open("a") as snakefile:
        snakefile.write(JOBS)
    return folder


def called(folder: Path, *options: str) -> list[str]:
    """What a call that makes nine jobs prints on standard output."""
    command = [sys.executable, "-c", COUNTED, "steps", *options, "--configfile", CONFIG]
    ended = subprocess.run(command, cwd=folder, env=WITHOUT_SLURM, capture_output=True, text=True)
    assert len(list((folder / "steps").iterdir())) == 9, ended.stderr[-2000:]
    return ended.stdout.splitlines()


def test_the_scheduler_waits_for_jobs_to_end_and_for_nothing_else(checkout) -> None:
    assert called(checkout) == ["not limited", "ended 0, 0 timers"]


def test_snakemake_by_itself_still_wakes_up_once_more_for_each_job_that_has_ended(checkout) -> None:
    """Where this fails, keep_scheduler_quiet in rules/machine.smk has nothing to do any more."""
    (ended,) = called(checkout, "--no-hooks")
    timers = int(ended.split()[-2])
    assert timers >= 9


def test_a_limit_that_the_user_gives_is_kept(checkout) -> None:
    option = "max-jobs-per-timespan"
    assert called(checkout, f"--{option}", "99/1s")[0] == "limited"
    shutil.rmtree(checkout / "steps")
    with (checkout / "profiles/default/config.yaml").open("a") as profile:
        profile.write(f"{option}: 50/1m\n")
    assert called(checkout)[0] == "limited"
