"""What the view knows of a workflow as a whole: times, Slurm's queue, and at which cost."""

from pathlib import Path

import pytest

from dpscale.launch import slurm
from dpscale.launch.slurm import Job
from dpscale.watch import files, observer
from dpscale.watch.estimate import rest_s
from dpscale.watch.state import State
from watch_builders import Lab, fake_queue, moment

ONE, TWO = "scaling-n1-b32", "scaling-n2-b32"


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    fake_queue(monkeypatch, None)
    return Lab(tmp_path)


def test_the_time_left_is_told_from_what_lies_in_the_folder(tmp_path) -> None:
    batches = [1, 2, 3, 4, 5, 6, 7]
    lab = Lab(tmp_path, scaling={"workers": [1, 2], "per_worker_batches": batches, "strong": False})
    lab.call(lives=True)
    at_work, _, *others = lab.specs
    for run in others:
        lab.record(run, started_at=moment(160_000), finished_at=moment(60_000))
    lab.attempt(at_work, began_at=moment(40_000))
    # 60,000 s more of the one at work and 100,000 s of the one that waits.
    assert rest_s(lab.look()) == pytest.approx(160_000, rel=0.01)


def test_time_runs_from_the_call_of_snakemake_to_its_last_run(lab) -> None:
    lab.attempt(ONE, began_at=moment(5e6), ended_at=moment(1e6))
    lab.record(ONE)
    assert lab.look().elapsed_s == pytest.approx(4e6, rel=1e-3)
    lab.call(lives=True)
    assert lab.look().elapsed_s < 4e3


def test_slurms_words_are_read_into_jobs_of_this_folder(monkeypatch) -> None:
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


def test_slurm_is_asked_once_in_a_while(lab, monkeypatch) -> None:
    asked: list[Path] = []
    monkeypatch.setattr(observer, "QUEUE_S", 1e6)
    monkeypatch.setattr(slurm, "queue", lambda folder: asked.append(folder) or [])
    for _ in range(5):
        lab.look()
    assert asked == [lab.root]


def test_of_a_thousand_runs_only_what_changed_is_read_again(tmp_path, monkeypatch) -> None:
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
