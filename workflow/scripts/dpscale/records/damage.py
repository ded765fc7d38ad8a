"""What of a result is damaged or gone, found before Snakemake plans its jobs: it is made again.

Snakemake sees that a file which is asked for is missing, or older than what it is made of. It looks
into none, and for none in between while what is made of it is there.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path

from pydantic import BaseModel

from dpscale.forks import forks
from dpscale.records.further import KEY, further_runs
from dpscale.records.runs import FILES, RECORD, SPEC, Reader, Stamp, in_parts, stamp
from dpscale.records.storage import DamagedError, read_json, read_model, write_text

SEEN = "seen.json"  # beside the tidy tables
MADE = "logs/made.json"
ENDS = {
    ".csv": (b"\n",),
    ".html": (b"</html>",),
    ".json": (b"}", b"]"),
    ".parquet": (b"PAR1",),
    ".pdf": (b"%%EOF",),
    ".svg": (b"</svg>",),
}
TAIL_BYTES = 64
Schemas = Mapping[str, Mapping[str, str]]


class Seen(BaseModel):
    """seen.json: how the files of the planned runs lay when they were gathered; null: not whole.

    checks: a digest of what they were checked by.
    """

    checks: str = ""
    runs: dict[str, Stamp | None] = {}


def note_seen(tables: Path, schemas: Schemas, stamps: Mapping[str, Stamp | None]) -> None:
    """Write which runs the tables are made of."""
    seen = Seen(checks=_checks(schemas), runs=dict(stamps))
    write_text(tables / SEEN, seen.model_dump_json())


class Made(BaseModel):
    """made.json: SHA-256 of the files that rules made, as the last call left them, by path."""

    digests: dict[str, str] = {}


def note_made(folder: Path, made: Iterable[str]) -> None:
    """Write how a call leaves the files that its rules make."""
    (folder / MADE).parent.mkdir(parents=True, exist_ok=True)
    there = [path for path in made if Path(path).is_file()]
    digests = {path: _digest(Path(path)) for path in there}
    write_text(folder / MADE, Made(digests=digests).model_dump_json())


def forget_made(folder: Path) -> None:
    """Have nobody compare files with what they were: they are about to be made."""
    (folder / MADE).unlink(missing_ok=True)


def damaged(
    folder: Path, planned: Mapping[str, BaseModel], schemas: Schemas, made: Iterable[str]
) -> dict[str, str]:
    """Return what has to be made again in a result's folder, and why, by file.

    planned: specs by run; made: the other files that rules make. A run is read only if it has
    changed since it was gathered, or what checks it. One that was not gathered yet may be missing.
    """
    runs, left = _Runs(folder, schemas), Made()
    with suppress(OSError, DamagedError):  # no call has ended yet, or it is damaged, too
        left = read_model(folder / MADE, Made)
    found = {
        path: reason for path in made if (reason := _reason(Path(path), left.digests.get(path)))
    }
    launched = {
        run: spec.model_dump(mode="json")
        for run, spec in planned.items()
        if hasattr(getattr(spec, "protocol", None), KEY)
    }
    further = further_runs(launched, folder / "runs")
    reasons = runs.reasons({**dict.fromkeys(chain(*further.values())), **planned})
    for run in planned:
        if reason := next(filter(None, map(reasons.get, [run, *further.get(run, ())])), None):
            found[str(folder / "runs" / run / RECORD)] = reason
    if runs.changed:
        found[str(runs.seen_at)] = f"{runs.changed} runs have changed since they were gathered"
    return found


def _reason(path: Path, digest: str | None) -> str | None:
    """Why a file that is there is not as its rule made it; digest: where a call left it."""
    if not path.exists():
        return None
    if not path.is_file():
        return "it is no file"
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - TAIL_BYTES, 0))
        tail = file.read()
    if not (tail if path.suffix == ".csv" else tail.rstrip()).endswith(ENDS[path.suffix]):
        return "it is empty or cut short"
    changed = digest and _digest(path) != digest
    return "it was changed after it had been made" if changed else None


class _Runs:
    """The runs of a result; `changed`: how many whole ones are not as they were gathered."""

    def __init__(self, folder: Path, schemas: Schemas) -> None:
        self._folder, self._schemas = folder / "runs", schemas
        self.seen_at = folder / "tables" / SEEN
        self._seen = Seen()
        with suppress(OSError, DamagedError):  # nothing is gathered yet, or it is damaged, too
            self._seen = read_model(self.seen_at, Seen)
        self._trusted = self._seen.checks == _checks(schemas)
        self.changed = 0

    def reasons(self, planned: Mapping[str, BaseModel | None]) -> dict[str, str]:
        """Why runs have to be made again, of those that do.

        planned: specs by run, None of one that another launched. Many are read side by side.
        """
        found: dict[str, str] = {}
        unread: dict[str, BaseModel | None] = {}
        seen, moved = self._seen.runs, set[str]()
        for run, spec in planned.items():
            now = stamp(self._folder / run)
            absent = [name for name, at in zip(FILES, now, strict=True) if at is None]
            if now == seen.get(run) and self._trusted:
                continue
            if not absent:
                unread[run] = spec
            elif RECORD not in absent:
                found[run] = f"{absent[0]} is gone"
            elif run in seen or spec is None:
                found[run] = "it is gone"
            if run in seen and now != seen[run]:
                moved.add(run)
        parts = in_parts(unread)
        with forks(min(len(parts), len(os.sched_getaffinity(0))) or 1) as pool:
            for damages in pool.map(self._damages, parts):
                found |= damages
        self.changed = len(moved & unread.keys() - found.keys())
        return found

    def _damages(self, planned: Mapping[str, BaseModel | None]) -> dict[str, str]:
        """What is wrong in the files of runs, of those where something is."""
        reader = Reader(self._schemas)
        return {
            run: reason
            for run, spec in planned.items()
            if (reason := self._damage(reader, run, spec))
        }

    def _damage(self, reader: Reader, run: str, spec: BaseModel | None) -> str | None:
        """What is wrong in the files of a run."""
        folder = self._folder / run
        try:
            record = reader.read(folder).record
        except DamagedError as error:
            return error.reason
        if spec is not None and not record.is_of(spec.model_dump(mode="json")):
            return "it is of another run or configuration"
        with suppress(OSError, ValueError):
            if read_json(folder / SPEC) == record.spec:
                return None
        return f"{SPEC} is not that of the record"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checks(schemas: Schemas) -> str:
    """A digest of what runs are checked by."""
    content = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256(b"".join([repr(schemas).encode(), *content])).hexdigest()
