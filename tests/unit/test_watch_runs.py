"""Where each run of a workflow stands, told from a made-up folder."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dpscale.launch.slurm import Job
from dpscale.processes import born
from dpscale.watch import Observer
from dpscale.watch.state import State
from watch_builders import Lab, fake_queue, moment

ONE, TWO = "scaling-n1-b32", "scaling-n2-b32"


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    fake_queue(monkeypatch, None)
    return Lab(tmp_path)


def test_before_anything_exists_every_planned_run_waits(lab) -> None:
    overview = lab.look()
    assert [run.state for run in overview.runs] == [State.WAITING] * 6
    assert (overview.elapsed_s, overview.called_at_s) == (None, None)


def test_a_run_with_its_record_is_done_whatever_came_out(lab) -> None:
    lab.record(ONE)
    lab.record(TWO, status="out_of_memory", message="rank 0, batch 32: bad_alloc")
    assert (lab.run(ONE).state, lab.run(ONE).reason) == (State.DONE, "")
    assert lab.run(TWO).state == State.DONE
    assert lab.run(TWO).status == "out_of_memory"
    assert lab.run(TWO).reason == "rank 0, batch 32: bad_alloc"


def test_a_record_of_an_earlier_configuration_is_not_done(lab) -> None:
    spec = lab.specs[ONE].model_dump(mode="json") | {"seeds": [7]}
    lab.record(ONE, spec=spec)
    assert lab.run(ONE).state == State.WAITING


def test_a_record_that_cannot_be_read_is_a_failure(lab) -> None:
    path = lab.record(ONE)
    path.write_text(path.read_text()[:50])
    assert lab.run(ONE).state == State.FAILED
    assert "no valid record" in lab.run(ONE).reason


def test_an_attempt_whose_process_lives_runs_and_has_its_progress(lab) -> None:
    lab.attempt(ONE)
    assert lab.run(ONE).state == State.RUNNING
    assert lab.run(ONE).progress is None
    lab.tell(ONE)
    progress = lab.run(ONE).progress
    assert progress is not None
    assert progress.step == 420


def test_an_attempt_whose_process_is_dead_has_failed(lab) -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    lab.attempt(ONE, process=child.pid, born=12345)
    assert lab.run(ONE).state == State.FAILED
    assert "ended without a word" in lab.run(ONE).reason


def test_an_attempt_whose_number_another_process_has_now_has_failed(lab) -> None:
    lab.attempt(ONE, born=(born(os.getpid()) or 0) - 1)
    assert lab.run(ONE).state == State.FAILED


def test_an_attempt_whose_record_is_there_does_not_run(lab) -> None:
    lab.attempt(ONE)
    lab.record(ONE)
    assert lab.run(ONE).state == State.DONE


def test_an_attempt_on_another_machine_runs_as_long_as_nobody_knows_better(lab) -> None:
    lab.attempt(ONE, host="n7", born=1)
    assert lab.run(ONE).state == State.RUNNING


def test_an_attempt_whose_job_has_left_the_queue_has_failed(lab, monkeypatch) -> None:
    lab.attempt(ONE, host="n7", job="5", began_at=moment(100))
    lab.attempt(TWO, host="n7", job="6", began_at=moment(100))
    fake_queue(monkeypatch, [Job("6", "RUNNING", "scaling_run", TWO, "None")])
    assert [lab.run(name).state for name in (ONE, TWO)] == [State.FAILED, State.RUNNING]


def test_a_failed_run_says_who_ended_and_why(lab) -> None:
    lab.failed(ONE)
    assert lab.run(ONE).state == State.FAILED
    assert lab.run(ONE).reason == "rank 1 on n2: Signal 9 (SIGKILL)"


def test_a_run_that_is_tried_again_runs(lab) -> None:
    lab.failed(ONE)
    lab.attempt(ONE, number=2)
    run = lab.run(ONE)
    assert run.attempt is not None
    assert (run.state, run.attempt.number) == (State.RUNNING, 2)


def test_a_failed_run_whose_next_job_waits_is_waiting(lab, monkeypatch) -> None:
    lab.failed(ONE)
    fake_queue(monkeypatch, [Job("9", "PENDING", "scaling_run", ONE, "Resources")])
    assert lab.run(ONE).state == State.WAITING


def test_a_failure_of_an_earlier_call_waits_while_a_new_one_lives(lab) -> None:
    lab.failed(ONE, began_at=moment(100))
    lab.call(lives=False)
    assert lab.run(ONE).state == State.FAILED
    lab.call(lives=True)
    assert lab.run(ONE).state == State.WAITING


def test_a_call_makes_what_it_was_asked_for_anew_if_it_is_there(lab) -> None:
    lab.record(ONE, finished_at=moment(50))
    lab.record(TWO, finished_at=moment(50))
    lab.call(lives=True)
    observer = Observer(lab.config, lab.results, wanted={TWO, "scaling-n2-b64"})
    states = {run.spec.run: run.state for run in observer.look().runs}
    assert states == {ONE: State.DONE, TWO: State.WAITING, "scaling-n2-b64": State.WAITING}
    lab.record(TWO, finished_at=moment(-1))
    assert [run.state for run in observer.look().runs].count(State.DONE) == 2


def test_a_file_of_another_version_hides_no_run(lab) -> None:
    lab.attempt(ONE)
    for name in ("attempt-2.json", "progress.json"):
        (lab.history(ONE).folder / name).write_text('{"unknown": 1}')
    run: Any = lab.run(ONE)
    assert (run.state, run.attempt.number, run.progress) == (State.RUNNING, 1, None)
