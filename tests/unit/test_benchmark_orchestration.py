"""The benchmark of orchestration: which runs a job did, and what the main process spent."""

import json
from pathlib import Path

import orchestration
import pytest
import scheduler_load


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    runs = tmp_path / "results/made/runs"
    for run in ("sweep-b8", "boundary", "boundary/probes/any", "boundary/probes/name", "looks"):
        protocol = {"further": ["again1", "again2"]} if run == "looks" else {}
        (runs / run).mkdir(parents=True)
        (runs / run / "record.json").write_text(json.dumps({"spec": {"protocol": protocol}}))
    return tmp_path


def runs_of(checkout: Path, log: str) -> list[str]:
    records = orchestration.records_of(checkout, Path(f"results/made/logs/{log}.log"))
    return [record.parent.name for record in records]


def test_a_search_did_its_probes_too(checkout) -> None:
    assert runs_of(checkout, "boundary") == ["boundary", "any", "name"]


def test_a_look_at_open_speed_ups_did_the_runs_that_it_launched(checkout) -> None:
    assert runs_of(checkout, "looks") == ["looks", "again1", "again2"]


def test_a_job_did_the_run_that_its_log_is_named_after(checkout) -> None:
    assert runs_of(checkout, "sweep-b8") == ["sweep-b8"]
    assert runs_of(checkout, "gather") == []


def test_the_load_is_what_the_main_process_spent_between_two_readings(tmp_path) -> None:
    path = tmp_path / "long0"
    path.write_text("100.5 141 10\n104.5 145 11\n")
    start, end = scheduler_load.used(path)
    assert end.at_s - start.at_s == 4.0
    assert scheduler_load.spent_s(start, end) == pytest.approx(5 / scheduler_load.TICKS_PER_S)
    assert scheduler_load.spent_s(start, start) == 1 / scheduler_load.TICKS_PER_S
