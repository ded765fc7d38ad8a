"""A study is a folder and a template: one more needs no change but its line in ORDER."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from checkouts import ROOT, copied, snakemake

from dpscale.config import Config
from dpscale.studies import config_model, question_ids

CONFIG = "config/passing.yaml"
OTHERS = [name for name in config_model().model_fields if name not in Config.model_fields]
RESULTS = "results/passing"


def configured(folder: Path, batches: str) -> None:
    lines = ["name: passing", f"passing: {{batches_per_pass: {batches}}}", "audit: null"]
    text = "\n".join([*lines, *(f"{name}: null" for name in OTHERS)])
    (folder / CONFIG).write_text(text + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with one study more, and its results."""
    folder = copied(tmp_path_factory.mktemp("study"))
    shutil.copytree(ROOT / "examples/study", folder / "examples/study")
    (folder / "docs").mkdir()
    for document in ("configuration.md", "tables.md"):
        shutil.copy(ROOT / "docs" / document, folder / "docs")
    command = [sys.executable, "workflow/scripts/new_study.py", "passing", "S9"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert "report/S9.j2" in made.stdout.splitlines()
    configured(folder, "[1, 64]")
    ended = snakemake(folder, f"{RESULTS}/report.html", config=CONFIG)
    assert ended.returncode == 0, ended.stderr[-4000:]
    return folder


@pytest.mark.slow
def test_its_own_test_passes(checkout) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    places = (checkout / "workflow/scripts", ROOT / "tests/unit", ROOT / "tests/answers")
    paths = {"PYTHONPATH": os.pathsep.join(map(str, places))}
    ended = subprocess.run(
        [*command, "tests/answers/test_s9.py"],
        cwd=checkout,
        env=os.environ | paths,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["sweep", "S9"], "is taken"),
        (["my study", "S9"], "is no name"),
        (["own", "Q1"], "is taken"),
        (["training", "S9"], "is taken"),
        (["lambda", "S9"], "is no name"),
    ],
)
def test_a_name_that_cannot_be_is_refused(checkout, words, reason) -> None:
    command = [sys.executable, "workflow/scripts/new_study.py", *words]
    ended = subprocess.run(command, cwd=checkout, capture_output=True, text=True)
    assert ended.returncode == 1
    assert reason in ended.stderr


def test_it_is_planned_run_and_derived(checkout) -> None:
    derived = pd.read_csv(checkout / RESULTS / "derived/passing.csv")
    assert derived["per_worker_batch"].tolist() == [1, 64]
    assert derived["status"].tolist() == ["complete"] * 2
    assert derived["repeats"].tolist() == [5, 5]
    for row in derived.itertuples():
        record = json.loads((checkout / RESULTS / f"runs/{row.runs}/record.json").read_text())
        times = sorted(one["forward_s"] for one in record["passing_passes"])
        assert row.forward_s == pytest.approx(times[2], rel=1e-9)
        assert row.samples_per_s == pytest.approx(row.per_worker_batch / times[2], rel=1e-9)


def test_it_is_drawn_and_answered_in_the_report(checkout) -> None:
    answers = json.loads((checkout / RESULTS / "answers.json").read_text(encoding="utf-8"))
    ids = [one["id"] for one in answers]
    assert sorted(ids) == sorted([*question_ids(), "S9"])
    assert ids[ids.index("S9") - 1] == "S4"
    last = answers[ids.index("S9")]
    assert last["sentence"].startswith("The most samples a second")
    assert last["values"]["forward_s_b64"]["runs"] == ["passing-b64"]
    html = (checkout / RESULTS / "report.html").read_text(encoding="utf-8")
    assert 'id="figure-passing"' in html
    assert 'id="answer-S9"' in html


def test_a_batch_more_is_a_run_more(checkout) -> None:
    configured(checkout, "[1, 8, 64]")
    planned = snakemake(checkout, "-n", config=CONFIG)
    configured(checkout, "[1, 64]")
    assert planned.returncode == 0, planned.stderr
    text = planned.stdout + planned.stderr
    assert "passing-b8" in text
    assert "passing-b1/" not in text


def test_a_wrong_setting_of_it_names_the_key(checkout) -> None:
    configured(checkout, "[0]")
    ended = snakemake(checkout, "-n", config=CONFIG)
    configured(checkout, "[1, 64]")
    assert ended.returncode != 0
    assert "config: passing.batches_per_pass" in ended.stderr


def made_by_calls(folder: str, names: list[str]) -> set[str]:
    made = {".git", ".venv", ".snakemake", "results", "data"} if Path(folder) == ROOT else set()
    return (made | {"__pycache__"}) & set(names)


@pytest.mark.slow
def test_the_whole_suite_passes_beside_it(tmp_path) -> None:
    folder = tmp_path / "dpscale"
    shutil.copytree(ROOT, folder, ignore=made_by_calls, symlinks=True)
    # The suite has tests that add S9.
    command = [sys.executable, "workflow/scripts/new_study.py", "my_study", "S5"]
    subprocess.run(command, cwd=folder, check=True)
    ended = subprocess.run(
        ["make", "test", f"VENV={sys.prefix}"], cwd=folder, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout[-10_000:]
