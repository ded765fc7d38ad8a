"""One run is timed on this machine at a time, whichever call asks for it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import HANG_S, until

from dpscale.launch.machine import INSTEAD, machine

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow/scripts"
# Says when it has the machine, and keeps it until it is told a line.
HOLDS = f"""
import sys
sys.path.insert(0, {str(SCRIPTS)!r})
from dpscale.launch.machine import machine
with machine(sys.argv[1], alone=sys.argv[2] == "alone", log=open(sys.argv[1] + ".log", "w")):
    print("has it", flush=True)
    sys.stdin.readline()
"""


class Calls:
    """Runs of different calls of snakemake that ask for the machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[str]] = []

    def ask(self, run: str, way: str, **environment: str) -> "subprocess.Popen[str]":
        call = subprocess.Popen(
            [sys.executable, "-c", HOLDS, run, way],
            cwd=self.folder,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {INSTEAD: str(self.folder / "locks")} | environment,
        )
        self.started.append(call)
        return call

    def has(self, run: str, way: str, **environment: str) -> "subprocess.Popen[str]":
        """Ask for the machine, and return when the run has it."""
        call = self.ask(run, way, **environment)
        assert call.stdout
        assert call.stdout.readline() == "has it\n"
        return call

    def waits(self, run: str, way: str) -> "subprocess.Popen[str]":
        """Ask for the machine, and return when the run says that it waits for it."""
        call = self.ask(run, way)
        until(lambda: "waits for" in self.log(run))
        return call

    def log(self, run: str) -> str:
        path = self.folder / f"{run}.log"
        return path.read_text() if path.exists() else ""


def gets_it(call: "subprocess.Popen[str]") -> None:
    """Return when a run that waited has the machine."""
    assert call.stdout
    assert call.stdout.readline() == "has it\n"


@pytest.fixture
def calls(tmp_path: Path) -> Iterator[Calls]:
    calls = Calls(tmp_path)
    yield calls
    for call in calls.started:
        call.kill()
        call.communicate(timeout=HANG_S)


def test_a_timed_run_waits_for_another_and_says_for_which(calls) -> None:
    first = calls.has("first", "alone")
    second = calls.waits("second", "alone")
    words = f"second waits for process {first.pid}, first in {calls.folder}: one is timed\n"
    assert calls.log("second") == words
    first.communicate("\n", timeout=HANG_S)
    gets_it(second)
    assert words in second.communicate("\n", timeout=HANG_S)[1]  # on the terminal, too


def test_a_run_that_is_killed_gives_the_machine_back(calls) -> None:
    first = calls.has("first", "alone")
    second = calls.waits("second", "alone")
    first.kill()
    gets_it(second)


def test_trainings_share_the_machine_and_a_timed_run_shares_it_with_none(calls) -> None:
    sharing = [calls.has("one", "shared"), calls.has("another", "shared")]
    timed = calls.waits("timed", "alone")
    late = calls.waits("late", "shared")  # else trainings that follow each other would keep it out
    for call in sharing:
        call.communicate("\n", timeout=HANG_S)
    gets_it(timed)
    assert late.poll() is None
    timed.communicate("\n", timeout=HANG_S)
    gets_it(late)


def test_a_job_of_slurm_has_its_nodes_and_waits_for_nobody(calls) -> None:
    calls.has("first", "alone")
    calls.has("job", "alone", SLURM_JOB_ID="7")


def test_a_run_that_waits_ends_with_the_snakemake_that_asked_for_it(calls) -> None:
    calls.has("first", "alone")
    dead = calls.ask("second", "alone", DPSCALE_WORKFLOW="1 1")
    assert "the snakemake that started it was killed" in dead.communicate(timeout=HANG_S)[1]


def test_a_folder_that_others_can_enter_is_no_place_for_the_lock_and_that_is_said(
    tmp_path, monkeypatch, capsys
) -> None:
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks").chmod(0o755)
    monkeypatch.setenv(INSTEAD, str(tmp_path / "locks"))
    with machine("run", alone=True):
        assert list((tmp_path / "locks").iterdir()) == []
    said = capsys.readouterr().err
    assert said.startswith("run: other calls may time runs beside it: ")
    assert f"{tmp_path}/locks is not a folder of yours alone; remove it" in said
    (tmp_path / "locks").rmdir()  # as it says
    with machine("run", alone=True):
        assert {path.name for path in (tmp_path / "locks").iterdir()} == {"gate", "machine"}
    assert capsys.readouterr().err == ""


def test_a_lock_that_cannot_be_opened_is_said_and_the_run_goes_on(
    tmp_path, monkeypatch, capsys
) -> None:
    (tmp_path / "locks").mkdir(mode=0o700)
    (tmp_path / "locks/machine").mkdir()
    monkeypatch.setenv(INSTEAD, str(tmp_path / "locks"))
    with machine("run", alone=True):
        said = capsys.readouterr().err
    assert said.startswith("run: other calls may time runs beside it: ")
    assert "locks/machine" in said
