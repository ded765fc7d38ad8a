"""make: an environment that exists is left alone, and measurements outlive `make clean`."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "envs", tmp_path / "envs")
    return tmp_path


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # The tests may be called by a make, whose variables are not meant for this one.
    outer = ("VENV", "MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS")
    env = {name: value for name, value in os.environ.items() if name not in outer}
    return subprocess.run(
        ["make", *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


def test_nothing_is_installed_into_an_environment_that_exists(folder) -> None:
    command = [sys.executable, "-m", "venv", "--without-pip", str(folder / "mine")]
    subprocess.run(command, check=True)
    before = sorted(folder.joinpath("mine").rglob("*"))
    ended = make(folder, "report", "VENV=mine")
    assert ended.returncode != 0
    assert "exists, so nothing is installed there; it lacks torch==" in ended.stderr
    assert "-m pip install -r envs/requirements.txt -c envs/constraints.txt" in ended.stderr
    assert sorted(folder.joinpath("mine").rglob("*")) == before


def test_an_environment_that_is_not_there_is_made_and_filled(folder) -> None:
    planned = make(folder, "--dry-run", "report").stdout
    assert "-m venv .venv" in planned
    assert "pip install --quiet" in planned
    assert "missing.py" not in planned


def test_clean_leaves_what_was_measured(folder) -> None:
    results = folder / "results/lab"
    kept = [results / "runs/a/record.json", results / "dataset.json", folder / ".snakemake/x"]
    made = [results / "derived/a.csv", results / "report.html", results / "answers.json"]
    for path in (*kept, *made):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert make(folder, "clean").returncode == 0
    assert all(path.exists() for path in kept)
    assert not any(path.exists() for path in made)
    assert make(folder, "delete-measurements").returncode == 0
    assert not (folder / "results").exists()


def test_help_names_what_deletes(folder) -> None:
    said = make(folder, "help").stdout
    assert "make clean" in said
    assert "make delete-measurements" in said


@pytest.mark.parametrize("made", ["test", "bench"])
def test_what_is_missing_for_tests_are_packages_alone(folder, made) -> None:
    command = [sys.executable, "-m", "venv", "--without-pip", str(folder / "mine")]
    subprocess.run(command, check=True)
    said = make(folder, made, "VENV=mine").stderr
    lacking = said.partition("it lacks ")[2].partition(".\n")[0].split(", ")
    assert any(one.startswith("torch==") for one in lacking)
    assert all(re.fullmatch(r"[\w.-]+==[\w.+]+", one) for one in lacking)
