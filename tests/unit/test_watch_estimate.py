"""How long a call takes is told before anything ran here, from what such runs took elsewhere."""

import io
from pathlib import Path

import pytest

from dpscale.watch import begin
from dpscale.watch.durations import Durations, durations, write_durations
from dpscale.watch.estimate import measured, rest
from dpscale.watch.headline import beginning
from dpscale.watch.last_row import LastRow
from watch_builders import Lab, fake_queue


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    fake_queue(monkeypatch, None)
    return Lab(tmp_path)


def test_a_first_call_is_told_from_durations_that_were_written_down(lab: Lab) -> None:
    before = Durations(dict.fromkeys(lab.specs, 10.0), job_s=1.0)
    left = rest(lab.look().runs, before, cores=2)
    assert left is not None
    assert (left.seconds, left.whole) == (66.0, True)  # six timed runs, each alone


def test_what_ran_here_sets_the_pace_of_what_was_written_down(lab: Lab) -> None:
    first = next(iter(lab.specs))
    lab.record(first, wall_s=20.0)
    left = rest(lab.look().runs, Durations(dict.fromkeys(lab.specs, 10.0)), cores=2)
    assert left is not None
    assert left.seconds == 100.0  # five more, twice as slow


def test_trainings_share_the_cores_and_timed_runs_do_not(tmp_path: Path) -> None:
    replicas = {"workers": 2, "per_worker_batch": 32, "epochs": 2, "seeds": [0]}
    lab = Lab(tmp_path, scaling=None, replicas=replicas)
    before = Durations(dict.fromkeys(lab.specs, 10.0))
    four, two = (rest(lab.look().runs, before, cores=cores) for cores in (4, 2))
    assert two is not None
    assert four is not None
    assert two.seconds == 10.0 * len(lab.specs)
    assert four.seconds == two.seconds / 2


def test_jobs_of_slurm_go_on_as_many_at_once_as_now(lab: Lab) -> None:
    for run in ("scaling-n1-b16", "scaling-n2-b16"):
        lab.attempt(run, job="7")
    before = Durations(dict.fromkeys(lab.specs, 1000.0))
    left = rest(lab.look().runs, before)
    assert left is not None
    assert left.seconds == pytest.approx(3000, abs=10)  # six runs, two at once, both just begun


def test_durations_are_found_again_by_the_name_of_the_configuration(lab: Lab) -> None:
    for run in lab.specs:
        lab.record(run, wall_s=10.0)
    found = measured(lab.look().runs, 90.0, cores=2)
    assert found == Durations(dict.fromkeys(lab.specs, 10.0), job_s=5.0)  # (90 - 60) / 6
    file = lab.root / "durations.json"
    write_durations("made", found, file)
    write_durations("other", Durations(), file)
    assert (durations("made", file), durations("unknown", file)) == (found, Durations())


def test_the_default_and_the_smoke_are_written_down() -> None:
    assert all(durations(name).run_s for name in ("laptop", "smoke"))


def test_a_call_begins_with_what_there_is_to_measure(lab: Lab) -> None:
    told = "it tells how long once runs of each study are done"
    assert beginning(lab.look()) == f"made: 6 of 6 runs to measure, {told}"
    for run in lab.specs:
        lab.record(run)
    assert beginning(lab.look()) == "made: every run is done; the report is written from them"


def test_without_a_terminal_nothing_but_the_first_line_is_written(lab: Lab) -> None:
    written = io.StringIO()
    begin(lab.observer, written)
    assert written.getvalue().count("\n") == 1


def test_the_last_row_is_kept_apart_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("LINES", "30")
    terminal = io.StringIO()
    row = LastRow(terminal)
    row.show("a line that is longer than the terminal is wide")
    assert "\x1b[1;29r" in terminal.getvalue()  # rows 1 to 29 scroll
    assert terminal.getvalue().endswith("\x1b[30;1H\x1b[2Ka line that is long\x1b8")
    row.show("again")
    assert terminal.getvalue().count("\x1b[1;29r") == 1
    row.close()
    assert terminal.getvalue().endswith("\x1b[r\x1b[30;1H\x1b[2K\x1b8")
