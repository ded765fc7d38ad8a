"""A made-up folder of results for tests of the view: records, attempts and progress by hand."""

import os
import socket
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dpscale.attempts import Attempt, Cause, Failure, History, Process, Progress
from dpscale.launch import slurm
from dpscale.launch.leftovers import NOTES
from dpscale.launch.slurm import Job
from dpscale.processes import born
from dpscale.provenance import provenance
from dpscale.records import Record, write_record
from dpscale.studies import load_config, planned_runs
from dpscale.watch import Observer
from dpscale.watch.state import Overview, Run

STUDIES = ("communication", "large_batch", "replicas", "ledger", "data_parallel", "sweep")
BATCHES = [16, 32, 64]
MACHINE = provenance(device="CPU", devices=2, backend="gloo")


def moment(seconds_ago: float = 0) -> str:
    """Return a moment as attempts note it."""
    return (datetime.now(UTC) - timedelta(seconds=seconds_ago)).isoformat(timespec="seconds")


class Lab:
    """A lab of scaling runs of one and two workers under `root`; nothing has run at first."""

    def __init__(self, root: Path, **fields: Any) -> None:
        scaling = {"workers": [1, 2], "per_worker_batches": BATCHES, "strong": False}
        given: dict[str, Any] = {"name": "made", "scaling": scaling}
        given |= {"hardware": {"allow_oversubscription": True}, **dict.fromkeys(STUDIES)} | fields
        # One launch, so that a cell is a run.
        self.config, self.root = load_config(given).model_copy(update={"launches": 1}), root
        self.results = root / "results/made"
        self.specs = planned_runs(self.config)
        self.observer = Observer(self.config, self.results)

    def look(self) -> Overview:
        return self.observer.look()

    def run(self, name: str) -> Run:
        """Return what a new look says of a run."""
        return next(run for run in self.look().runs if run.spec.run == name)

    def record(self, run: str, **fields: Any) -> Path:
        """Write the record of a run that took a minute until now, and return its path."""
        given: dict[str, Any] = {"status": "complete", "wall_s": 60.0, "provenance": MACHINE}
        given |= {"started_at": moment(60), "finished_at": moment()}
        given |= {"spec": self.specs[run].model_dump(mode="json")} | fields
        path = self.results / "runs" / run / "record.json"
        write_record(path, Record(run=run, **given))
        return path

    def history(self, run: str) -> History:
        return History(self.results / "attempts" / run)

    def attempt(self, run: str, **fields: Any) -> None:
        """Write an attempt, by default one that this very process works at."""
        given: dict[str, Any] = {"number": 1, "host": socket.gethostname(), "began_at": moment(5)}
        given |= {"process": os.getpid(), "born": born(os.getpid())} | fields
        self.history(run).write(Attempt(**given))

    def failed(self, run: str, message: str = "Signal 9 (SIGKILL)", **fields: Any) -> None:
        """Write an attempt that ended with rank 1 on n2."""
        failure = Failure(cause=Cause.KILLED, node="n2", rank=1, message=message)
        self.attempt(run, **({"ended_at": moment(), "failure": failure} | fields))

    def tell(self, run: str, **fields: Any) -> None:
        """Write progress of a run: in the middle of its third epoch of 15, four minutes left."""
        given: dict[str, Any] = {"part": "seed 1", "unit": "epoch", "number": 3, "units": 15}
        given |= {"step": 420, "steps": 1562, "done_frac": 0.25, "loss": 0.5118, "elapsed_s": 80.0}
        given |= {"samples_per_s": 11_342.0, "left_s": 240.0, "at": moment()} | fields
        self.history(run).tell(Progress(**given))

    def call(self, *, lives: bool) -> None:
        """Note a call of snakemake in the place of the one before, as it does itself."""
        own = Process(
            host=socket.gethostname(), process=os.getpid(), born=born(os.getpid()) if lives else 1
        )
        note = self.root / NOTES / "note.json"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(own.model_dump_json())


def fake_queue(monkeypatch: pytest.MonkeyPatch, jobs: list[Job] | None) -> None:
    """Have Slurm answer with these jobs; None: there is no Slurm."""
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/squeue")
    monkeypatch.setattr(slurm, "queue", lambda _: jobs)


def stop_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no time pass for a view, however long it takes to make it."""
    now_s = time.time()
    monkeypatch.setattr(time, "time", lambda: now_s)
