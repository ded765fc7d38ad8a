"""The benchmark of orchestration: which runs a job of the workflow did."""

import json
from pathlib import Path

import orchestration
import pytest


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    results = tmp_path / "results/made"
    for run in ("sweep-b8", "any", "name", "boundary-b8-1"):
        (results / "runs" / run).mkdir(parents=True)
        (results / "runs" / run / "record.json").touch()
    (results / "boundary.json").write_text(json.dumps({"probes": ["any", "name", "unfinished"]}))
    return tmp_path


def runs_of(checkout: Path, rule: str, log: str) -> list[str]:
    records = orchestration.records_of(checkout, rule, Path(f"results/made/logs/{log}.log"))
    return [record.parent.name for record in records]


def test_the_probes_of_the_boundary_are_those_that_it_names(checkout: Path) -> None:
    assert runs_of(checkout, "boundary", "boundary") == ["any", "name"]


def test_a_job_did_the_run_that_its_log_is_named_after(checkout: Path) -> None:
    assert runs_of(checkout, "sweep_run", "sweep-b8") == ["sweep-b8"]
    assert runs_of(checkout, "gather", "gather") == []
