"""What lies in a folder of results, run by run; a file is read again only when it changed."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from dpscale.attempts import Attempt, History, Progress
from dpscale.plan import Spec
from dpscale.records import read_record
from dpscale.watch.state import moment_s

T = TypeVar("T")
UNREADABLE = "unreadable"


@dataclass(frozen=True)
class Outcome:
    """What a record says of its run: its status, or UNREADABLE, and why in one line."""

    status: str
    message: str = ""
    measured: tuple[float, float] | None = None  # from when to when, Unix time


class ResultsFolder:
    """Records, attempts and progress of planned runs under `folder`; all may be absent."""

    def __init__(self, folder: Path, specs: Mapping[str, Spec]) -> None:
        self.folder = folder
        self._planned = {run: spec.model_dump(mode="json") for run, spec in specs.items()}
        self._kept: dict[Path, tuple[tuple[int, int, int], Any]] = {}

    def outcome(self, run: str) -> Outcome | None:
        """Return what the record of the run, as it is planned now, says; None without one."""

        def parse(path: Path) -> Outcome | None:
            """What a record file says of the run."""
            try:
                record = read_record(path)
            except ValueError as error:
                return Outcome(UNREADABLE, str(error)) if path.exists() else None
            if not record.is_of(self._planned[run]):
                return None
            began_s, ended_s = moment_s(record.started_at), moment_s(record.finished_at)
            measured = (began_s, ended_s) if began_s and ended_s else None
            return Outcome(record.status, record.message or "", measured)

        return self._read(self.folder / "runs" / run / "record.json", parse)

    def attempt(self, run: str) -> Attempt | None:
        """Return the last attempt at a run; None before the first."""
        found: list[Attempt] = []
        with suppress(OSError):
            for entry in os.scandir(self.folder / "attempts" / run):
                if entry.name.startswith("attempt-"):
                    attempt = self._read(Path(entry.path), _attempt)
                    found += [attempt] if attempt else []
        return max(found, key=lambda attempt: attempt.number, default=None)

    def progress(self, run: str) -> Progress | None:
        """Return how far the last attempt at a run has come; None where it has told nothing."""
        return History(self.folder / "attempts" / run).progress()

    def _read(self, path: Path, parse: Callable[[Path], T | None]) -> T | None:
        """What a file says; a renamed file is another one, even within a tick of the clock."""
        try:
            status = path.stat()
        except OSError:
            self._kept.pop(path, None)
            return None
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if path not in self._kept or self._kept[path][0] != stamp:
            self._kept[path] = (stamp, parse(path))
        value: T | None = self._kept[path][1]
        return value


def _attempt(path: Path) -> Attempt | None:
    try:
        return Attempt.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):  # gone meanwhile, or of another version
        return None
