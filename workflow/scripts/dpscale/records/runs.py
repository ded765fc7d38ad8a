"""The files of a run, read and checked together; and how they lay when they were read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from dpscale.files import stamp as file_stamp
from dpscale.records.record import Record
from dpscale.records.schemas import row_checks
from dpscale.records.storage import read_record, read_steps

SPEC, RECORD, STEPS = FILES = ("spec.json", "record.json", "steps.parquet")
WITH_STEPS = ("timed", "training")  # kinds of run whose steps are recorded
RUNS_OF_A_PART = 200  # that one process reads before another could
Stamp = list[list[int] | None]
Value = TypeVar("Value")


def in_parts(runs: Mapping[str, Value]) -> list[dict[str, Value]]:
    """Return runs, in their order, in the parts that processes share."""
    items, size = list(runs.items()), RUNS_OF_A_PART
    return [dict(items[start : start + size]) for start in range(0, len(items), size)]


class Run(NamedTuple):
    """What a run left, checked; steps: a pyarrow.Table."""

    record: Record
    steps: Any


class Reader:
    """Reads runs, and checks them by the schemas of the tidy tables."""

    def __init__(self, schemas: Mapping[str, Mapping[str, str]]) -> None:
        self._rows = row_checks(schemas)
        self._columns = {name: kind for name, kind in schemas["steps"].items() if name != "run"}

    def read(self, folder: Path) -> Run:
        """The run in a folder; ValueError names the file that is damaged, where, and the bound."""
        record = read_record(folder / RECORD, self._rows)
        needed = record.status == "complete" and record.spec.get("kind") in WITH_STEPS
        return Run(record, read_steps(folder / STEPS, self._columns, needed=needed))


def stamp(folder: Path) -> Stamp:
    """Time of modification (ns) and size of each of a run's FILES; None: it is not there."""
    return [file_stamp(folder / name) for name in FILES]
