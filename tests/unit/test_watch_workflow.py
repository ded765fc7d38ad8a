"""What the view knows of a workflow as a whole: times, Slurm's queue, and at which cost."""

from pathlib import Path

import pytest

from dpscale.launch import slurm
from dpscale.launch.slurm import Job
from dpscale.watch import files
from dpscale.watch.estimate import rest
from dpscale.watch.state import State
from watch_builders import Lab, fake_queue, moment

ONE, TWO = "scaling-n1-b32", "scaling-n2-b32"


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    fake_queue(monkeypatch, None)
    return Lab(tmp_path)


def test_the_time_left_is_that_of_like_runs_side_by_side(lab: Lab) -> None:
    lab.record(ONE, wall_s=100.0)
    lab.record(TWO, wall_s=40.0)
    lab.attempt("scaling-n1-b64")
    lab.tell("scaling-n1-b64", left_s=30.0)
    lab.attempt("scaling-n2-b64")
    lab.tell("scaling-n2-b64", left_s=10.0)
    # One run of one worker, 100 s, and one of two, 40 s, wait: 180 s of work, two at once.
    left = rest(lab.look().runs)
    assert left is not None
    assert (left.seconds, left.whole) == (100.0, True)


def test_the_time_left_is_a_minimum_while_a_run_has_no_like(tmp_path: Path) -> None:
    lab = Lab(tmp_path, ledger={"workers": [2], "per_worker_batch": 32})
    for run in list(lab.specs)[:5]:
        lab.record(run)
    left = rest(lab.look().runs)
    assert left is not None
    assert (left.seconds, left.whole) == (60.0, False)


def test_time_runs_from_the_call_of_snakemake_to_its_last_run(lab: Lab) -> None:
    lab.attempt(ONE, began_at=moment(500), ended_at=moment(100))
    lab.record(ONE)
    assert lab.look().elapsed_s == pytest.approx(400, abs=2)
    lab.call(lives=True)
    assert lab.look().elapsed_s == pytest.approx(0, abs=2)


def test_slurms_words_are_read_into_jobs_of_this_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (
        "7|PENDING|rule_scaling_run_wildcards_scaling-n2-b32|Nodes required for job are DOWN|/lab\n"
        "8|RUNNING|rule_boundary|None|/lab\n"
        "9|PENDING|rule_x|Priority|/elsewhere\n10|PENDING||Priority|/lab\n"
    )
    monkeypatch.setattr(slurm, "_answer", lambda *_: lines)
    assert slurm.queue(Path("/lab")) == [
        Job("7", "PENDING", "scaling_run", TWO, "Nodes required for job are DOWN"),
        Job("8", "RUNNING", "boundary", "", "None"),
    ]
    monkeypatch.setattr(slurm, "_answer", lambda *_: None)
    assert slurm.queue(Path("/lab")) is None


def test_slurm_is_asked_once_in_a_while(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    monkeypatch.setattr(slurm, "queue", lambda folder: asked.append(folder) or [])
    for _ in range(5):
        lab.look()
    assert asked == [lab.root]


def test_of_a_thousand_runs_only_what_changed_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scaling = {"workers": [1, 2], "per_worker_batches": list(range(1, 501)), "strong": False}
    lab = Lab(tmp_path, scaling=scaling)
    fake_queue(monkeypatch, None)
    paths = [lab.record(run) for run in lab.specs]
    read: list[Path] = []
    really = files.read_record
    monkeypatch.setattr(files, "read_record", lambda path: read.append(path) or really(path))
    assert len(lab.look().among(State.DONE)) == 1000
    assert sorted(read) == sorted(paths)
    lab.record("scaling-n1-b7", wall_s=61.0)
    lab.look()
    assert read[1000:] == [tmp_path / "results/made/runs/scaling-n1-b7/record.json"]


def test_the_search_of_the_boundary_is_seen_between_the_sweep_and_its_end(tmp_path: Path) -> None:
    lab = Lab(tmp_path, scaling=None, sweep={"first_batch": 1024, "factor": 8})
    lab.call(lives=True)
    assert lab.look().probes is None
    for run in lab.specs:
        lab.record(run)
    (lab.results / "runs/boundary-b900-1").mkdir()
    assert lab.look().probes == 1
    (lab.results / "boundary.json").touch()
    assert lab.look().probes is None
