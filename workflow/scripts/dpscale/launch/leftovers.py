"""Which snakemake runs in a folder, and what a killed one left: its lock, its jobs, its processes.

Every snakemake notes itself in the folder while it runs. Where all that are noted are dead, the
lock is nobody's, and so are the jobs.
"""

import atexit
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from dpscale.attempts import Attempt, History, Process
from dpscale.launch import slurm

NOTES = Path(".snakemake/dpscale")
LOCKS = Path(".snakemake/locks")
PATIENCE_S = 60


def called_at_s(folder: Path) -> float | None:
    """Return when the first snakemake that runs in the folder began (Unix time, s); None: none."""
    began = []
    for path in [path for path, caller in _callers(folder).items() if caller.lives is not False]:
        with suppress(FileNotFoundError):  # it has just ended
            began.append(path.stat().st_mtime)
    return min(began, default=None)


def remove_stale_lock(folder: Path) -> None:
    """Remove Snakemake's lock where every snakemake that noted itself has died."""
    callers = _callers(folder)
    locks = list((folder / LOCKS).glob("*.lock"))
    if not locks or not callers or any(caller.lives is not False for caller in callers.values()):
        return
    for path in [*locks, *callers]:
        path.unlink(missing_ok=True)
    dead = ", ".join(str(caller.process) for caller in callers.values())
    _say(f"the earlier snakemake (process {dead}) was killed; its lock is removed")


def take_over(folder: Path, histories: Path) -> None:
    """Note this process, and end what an earlier one left running.

    histories: folder of the runs' attempts. Call it with Snakemake's lock taken.
    """
    alone = not any(caller.lives is not False for caller in _callers(folder).values())
    _note(folder)
    if alone and (jobs := slurm.jobs_of(folder)):
        _say(f"cancelling jobs of an earlier snakemake: {', '.join(jobs)}")
        slurm.cancel(jobs)
        _wait(lambda: not slurm.jobs_of(folder), "jobs of an earlier call do not end")
    _wait(lambda: not _running_here(histories), "workers of an earlier call do not end")


def _note(folder: Path) -> None:
    own = Process(**Process.noted())
    note = folder / NOTES / f"{own.host}-{own.process}.json"
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(own.model_dump_json(), encoding="utf-8")
    atexit.register(note.unlink, missing_ok=True)


def _callers(folder: Path) -> dict[Path, Process]:
    found = {}
    for path in (folder / NOTES).glob("*.json"):
        try:
            found[path] = Process.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):  # it ended, or was killed while it wrote
            continue
    return found


def _running_here(histories: Path) -> list[Attempt]:
    attempts = [one for path in histories.glob("*") for one in History(path).read()]
    return [one for one in attempts if one.ended_at is None and one.job is None and one.lives]


def _wait(over: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not over():
        if time.monotonic() > deadline:
            sys.exit(f"dpscale: {what}; end them by hand and call snakemake again")
        time.sleep(0.5)


def _say(text: str) -> None:
    print(f"dpscale: {text}", file=sys.stderr)
