"""The attempts at one run since snakemake began: a small file each, in one folder."""

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from dpscale.attempts.failure import Failure
from dpscale.attempts.progress import Progress
from dpscale.files import whole
from dpscale.processes import born

HISTORY = "DPSCALE_HISTORY"  # the folder of a run's attempts, for its workers
PROGRESS = "progress.json"
Content = TypeVar("Content", bound=BaseModel)


class Process(BaseModel):
    """A process as others note it; another machine's cannot be looked at."""

    model_config = ConfigDict(frozen=True)

    host: str
    process: int
    born: int | None  # as `born` has it

    @classmethod
    def noted(cls) -> dict[str, Any]:
        """Return the fields of the process that asks."""
        return {"host": socket.gethostname(), "process": os.getpid(), "born": born(os.getpid())}

    @property
    def lives(self) -> bool | None:
        """Whether it still runs; None where that cannot be told here."""
        if self.host != socket.gethostname() or self.born is None:
            return None
        return born(self.process) == self.born


class Attempt(Process):
    """One attempt: where it runs, and how it ended. `ended_at` is null while it runs."""

    number: int
    job: str | None = None  # of the scheduler
    nodes: tuple[str, ...] = ()
    began_at: str
    ended_at: str | None = None
    failure: Failure | None = None


class History:
    """The attempts at a run in `folder`, by number."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self) -> list[Attempt]:
        """Return the attempts in order; empty before the first. A damaged one tells nothing."""
        attempts = self._readable("attempt-*.json", Attempt)
        return sorted(attempts, key=lambda attempt: attempt.number)

    def write(self, attempt: Attempt) -> None:
        """Write an attempt, whole; the first of a call of snakemake forgets the earlier ones."""
        if attempt.number == 1 and attempt.ended_at is None:
            for path in self.folder.glob("*.json"):
                path.unlink(missing_ok=True)
        self._write(f"attempt-{attempt.number}.json", attempt)
        if attempt.ended_at is None:  # it has not come as far as the one before
            (self.folder / PROGRESS).unlink(missing_ok=True)

    def note(self, failure: Failure) -> None:
        """Keep what ended the workers of one node, for the one that started all nodes."""
        with suppress(OSError):  # a full disk is said in the log, too
            self._write(f"failure-{failure.node}-{os.getpid()}.json", failure)

    def noted(self) -> list[Failure]:
        """Return and forget what the nodes noted."""
        failures = list(self._readable("failure-*.json", Failure))
        for path in self.folder.glob("failure-*.json"):
            path.unlink()
        return failures

    def tell(self, progress: Progress) -> None:
        """Keep how far the attempt at work has come, in the place of what was told before."""
        with suppress(OSError):  # a full disk must not end the run that could still be measured
            self._write(PROGRESS, progress)

    def progress(self) -> Progress | None:
        """Return how far the last attempt has come; None where it has told nothing readable."""
        try:
            return Progress.model_validate_json((self.folder / PROGRESS).read_bytes())
        except (OSError, ValidationError):
            return None

    def phase(self) -> str:
        """Return in words how far the attempt has come."""
        progress = self.progress()
        return f"the run was at {progress.place()}" if progress else "before its first step"

    def _readable(self, names: str, model: type[Content]) -> Iterator[Content]:
        for path in sorted(self.folder.glob(names)):
            with suppress(OSError, ValidationError):
                yield model.model_validate_json(path.read_bytes())

    def _write(self, name: str, content: BaseModel) -> None:
        with whole(self.folder / name) as temporary:
            temporary.write_text(content.model_dump_json(), encoding="utf-8")
