"""Runs that nobody planned by name: those that a planned run launched before it had its record."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpscale.records.runs import RECORD
from dpscale.records.storage import DamagedError, read_record

KEY = "further"  # of a protocol: null as planned, then the names


def further_runs(specs: Mapping[str, Mapping[str, Any]], runs: Path) -> dict[str, list[str]]:
    """Return the names of the further runs by the planned run that launched them.

    specs: planned ones by run, as in their files; runs: the folder with a folder a run. A planned
    run without a whole record of its spec has launched none that count.
    """
    found: dict[str, list[str]] = {}
    for run, spec in specs.items():
        if KEY in spec["protocol"]:
            with suppress(OSError, DamagedError):
                record = read_record(runs / run / RECORD)
                if record.is_of(spec):
                    found[run] = record.spec["protocol"][KEY] or []
    return found
