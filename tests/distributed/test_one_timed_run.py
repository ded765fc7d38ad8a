"""Two calls with configurations of their own time one after the other on one machine."""

import os
import subprocess
import sys
from pathlib import Path

from patience import HANG_S, until

from dpscale.launch.machine import INSTEAD, machine
from dpscale.plan.spec import Timing
from dpscale.records import read_record

LAUNCH_SCRIPT = Path(__file__).resolve().parents[2] / "workflow/scripts/launch.py"
TIMING = Timing(arms=("without_loading",), repeats=3, min_steps=100, warmup_steps=2)


def test_timed_runs_of_two_calls_do_not_overlap(launcher, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv(INSTEAD, str(tmp_path / "locks"))
    folders = [tmp_path / "one", tmp_path / "another"]
    started = []
    # Both have to wait, however much longer than a run either takes to start.
    with machine("held", alone=True):
        for folder in folders:
            folder.mkdir()
            spec = launcher.spec(kind="timed", workers=2, run=folder.name, timing=TIMING)
            (folder / "spec.json").write_text(spec.model_dump_json())
            words = [LAUNCH_SCRIPT, folder / "spec.json", "--log", folder / "log"]
            words += ["--history", folder / "attempts"]
            started.append(
                subprocess.Popen(
                    [sys.executable, *map(str, words)],
                    env=os.environ | launcher.server,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        waits = f" waits for process {os.getpid()}, held in "
        logs = [folder / "log" for folder in folders]
        until(
            lambda: all(waits in text_of(log) for log in logs), lambda: str([*map(text_of, logs)])
        )
    said = [call.communicate(timeout=HANG_S)[1] for call in started]
    assert [call.returncode for call in started] == [0, 0], said
    records = [read_record(folder / "record.json") for folder in folders]
    first, second = sorted(records, key=lambda record: record.started_at)
    assert first.finished_at <= second.started_at


def text_of(log: Path) -> str:
    return log.read_text() if log.exists() else ""
