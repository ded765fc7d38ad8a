"""The time left in Snakemake's log: plain lines, seldom, and none without something to say."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from dpscale.watch import TimeLeft
from watch_builders import Lab, fake_queue, moment, stop_clock

Progress = Callable[[int, int], list[str]]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    stop_clock(monkeypatch)
    fake_queue(monkeypatch, None)
    lab = Lab(tmp_path)
    lab.call(lives=True)
    return lab


@pytest.fixture
def progress(lab: Lab, caplog: pytest.LogCaptureFixture) -> Progress:
    """Have Snakemake log so many jobs of a call as done; returns what is told on top."""
    logger = logging.Logger("snakemake")
    logger.addHandler(caplog.handler)
    logger.addHandler(TimeLeft(lab.observer, logger))

    def log(done: int, total: int) -> list[str]:
        caplog.clear()
        logger.info("Finished jobid: 7", extra={"event": "job_finished", "job_id": 7})
        logger.info(None, extra={"event": "progress", "done": done, "total": total})
        assert "\x1b" not in caplog.text
        return [record.getMessage() for record in caplog.records[2:]]

    return log


def measured(lab: Lab) -> None:
    """Have all runs but one done, of five minutes each."""
    for run in list(lab.specs)[1:]:
        lab.record(run, started_at=moment(300))


def test_it_is_told_at_each_tenth_of_the_jobs(lab, progress) -> None:
    measured(lab)
    told = [
        "made: 5 of 6 runs done, 0 running, 1 waiting, 0 failed, 0 s since the start, "
        "about 5 min until the last run ends"
    ]
    assert [progress(done, 40) for done in (3, 4, 5, 7, 8)] == [[], told, [], [], told]


def test_nothing_is_told_while_it_is_unknown_or_over(lab, progress) -> None:
    assert progress(9, 10) == []
    measured(lab)
    lab.record(next(iter(lab.specs)))
    assert progress(10, 10) == []


def test_files_are_looked_at_ten_times_in_a_call_of_a_thousand_jobs(
    lab, progress, monkeypatch
) -> None:
    looks = []
    really = lab.observer.look
    monkeypatch.setattr(lab.observer, "look", lambda: looks.append(1) or really())
    for done in range(1, 1001):
        progress(done, 1000)
    assert len(looks) == 10


def test_a_view_that_fails_ends_no_call(lab, progress, monkeypatch, capsys) -> None:
    monkeypatch.setattr(lab.observer, "look", lambda: 1 / 0)
    assert progress(1, 1) == []
    assert "ZeroDivisionError" in capsys.readouterr().err
