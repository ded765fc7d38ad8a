"""What the view shows of a made-up workflow, on a terminal and elsewhere."""

import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from dpscale.launch.slurm import Job
from dpscale.watch import follow, show
from dpscale.watch.text import clean
from watch_builders import Lab, fake_queue, moment, stop_clock

ONE, TWO = "scaling-n1-b32", "scaling-n2-b32"
Shown = Callable[..., str]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    stop_clock(monkeypatch)
    fake_queue(monkeypatch, None)
    return Lab(tmp_path)


@pytest.fixture
def shown(lab: Lab) -> Shown:
    def printed(width: int = 200) -> str:
        console = Console(file=io.StringIO(), width=width)
        show(lab.observer, console)
        text: str = console.file.getvalue()  # type: ignore[attr-defined]
        assert max(map(len, text.splitlines())) <= width
        return "\n".join(" ".join(line.split()) for line in text.splitlines())

    return printed


def test_counts_of_the_planned_runs_come_first(lab, shown) -> None:
    assert shown().splitlines() == [
        "made: 0 of 6 runs done, 0 running, 6 waiting, 0 failed",
        "no snakemake runs in this folder",
    ]
    lab.record(ONE)
    lab.failed(TWO)
    lab.attempt("scaling-n1-b64")
    lab.call(lives=True)
    first, second = shown().splitlines()[:2]
    assert first == "made: 1 of 6 runs done, 1 running, 4 waiting, 0 failed"
    assert second == "0 s since the start"


def test_the_time_left_is_told_once_it_is_known(lab, shown) -> None:
    for run in list(lab.specs)[1:]:
        lab.record(run, started_at=moment(300))
    lab.call(lives=True)
    assert shown().splitlines()[1] == "0 s since the start, about 5 min until the last run ends"


def test_a_run_at_work_has_a_row_with_all_it_tells(lab, shown) -> None:
    lab.attempt(TWO, job="41", nodes=("n1", "n2"), number=2)
    lab.tell(TWO)
    (row,) = [line for line in shown().splitlines() if TWO in line]
    assert row.startswith(f"scaling {TWO} n1, n2 41 2 25% ━")
    assert row.endswith("seed 1, epoch 3 of 15 420 of 1,562 0.512 11,300 4 min")


def test_a_run_that_has_told_nothing_is_starting(lab, shown) -> None:
    lab.attempt(ONE)
    assert "starting" in shown()


def test_many_nodes_are_counted(lab, shown) -> None:
    lab.attempt(TWO, nodes=tuple(f"n{number}" for number in range(64)))
    assert "n0 and 63 more" in shown()


def test_failed_runs_and_outcomes_are_listed_with_their_reasons(lab, shown) -> None:
    lab.failed(ONE)
    lab.record(TWO, status="out_of_memory", message="rank 0, batch 32: bad_alloc")
    lines = shown().splitlines()
    assert f"{ONE} 1 rank 1 on n2: Signal 9 (SIGKILL)" in lines
    assert f"{TWO} out of memory rank 0, batch 32: bad_alloc" in lines


def test_jobs_that_wait_are_shown_with_slurms_reason(lab, shown, monkeypatch) -> None:
    reason = "Nodes required for job are DOWN"
    jobs = [Job(str(number), "PENDING", "scaling_run", ONE, reason) for number in range(40, 45)]
    fake_queue(monkeypatch, [*jobs, Job("50", "PENDING", "boundary", "", "Priority")])
    lines = shown().splitlines()
    assert f"5 waiting {reason} {ONE} (40), {ONE} (41), {ONE} (42), …" in lines
    assert "1 waiting Priority boundary (50)" in lines


def test_a_narrow_terminal_keeps_run_share_loss_rate_and_time(lab, shown) -> None:
    lab.attempt(TWO)
    lab.tell(TWO)
    text = shown(width=80)
    for words in (TWO, "25%", "0.512", "11,300", "4 min"):
        assert words in text


def test_text_from_files_moves_no_cursor_and_is_no_markup(lab, shown) -> None:
    hostile = "[bold red]x[/] \x1b[2J\x1b]0;title\x07\r\n\u202eabc\x9b31m [link=http://a]y"
    lab.failed(ONE, message=hostile)
    lab.record("scaling-n1-b64", status="unavailable", message=hostile)
    lab.attempt(TWO, host=hostile, born=1, job=hostile)
    lab.tell(TWO, part=hostile, note=hostile)
    text = shown()
    assert not set(text) & set("\x1b\x07\r\x9b\u202e")
    assert "[bold red]x[/]" in text
    assert "[link=http://a]y" in text


def test_a_long_text_is_cut(lab, shown) -> None:
    assert len(clean("x" * 10**6)) == 300
    assert clean("  a\n\tb ") == "a b"


def test_a_thousand_failures_are_a_page_and_a_count(tmp_path, monkeypatch) -> None:
    fake_queue(monkeypatch, None)
    scaling = {"workers": [1, 2], "per_worker_batches": list(range(1, 501)), "strong": False}
    lab = Lab(tmp_path, scaling=scaling)
    for run in lab.specs:
        lab.failed(run)
    console = Console(file=io.StringIO(), width=200)
    show(lab.observer, console)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert len(lines) < 40
    assert lines[-1].strip() == "and 970 more"


def advance(monkeypatch: pytest.MonkeyPatch, *events: Callable[[], Any]) -> None:
    """Have one event happen in each pause of the view."""
    pending = list(events)
    monkeypatch.setattr(time, "sleep", lambda _: pending.pop(0)())


def finish(lab: Lab) -> Callable[[], None]:
    return lambda: [lab.record(run) for run in lab.specs] and None


def test_without_a_terminal_a_change_is_a_line(lab, monkeypatch) -> None:
    advance(monkeypatch, lambda: lab.attempt(ONE), lambda: lab.tell(ONE), finish(lab))
    console = Console(file=io.StringIO(), width=200)
    follow(lab.observer, console, 1)
    lines = [line[9:] for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]
    assert lines[:3] == [
        "made: 0 of 6 runs done, 0 running, 6 waiting, 0 failed",
        f"{ONE}: running",
        "made: 0 of 6 runs done, 1 running, 5 waiting, 0 failed",
    ]
    assert sorted(lines[3:9]) == sorted(f"{run}: complete" for run in lab.specs)
    assert lines[9:] == ["made: 6 of 6 runs done, 0 running, 0 waiting, 0 failed"]


def test_on_a_terminal_the_view_is_drawn_anew_and_ends_with_the_last_run(lab, monkeypatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    advance(monkeypatch, lambda: lab.attempt(ONE), finish(lab))
    console = Console(file=io.StringIO(), width=150, force_terminal=True)
    follow(lab.observer, console, 1)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert text.count("runs done") >= 3
    assert "6 of 6 runs done" in text
