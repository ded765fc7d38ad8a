"""Gathers the records of the planned runs into tidy tables (parquet).

A planned run without a record becomes a row that says so. `--boundary` adds the probes that the
search of the memory boundary ran.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from dpscale.config import load_config
from dpscale.plan import planned_runs
from dpscale.records.storage import write_table, write_text
from dpscale.records.tidy import newest_provenance, tidy_tables


def _json(path: Path, key: str | None = None) -> Any:
    """The JSON in a file, or one key of it; ValueError names the file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return content if key is None else content[key]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path}: cannot be read: {error!r}") from None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", required=True, help="the configuration, as JSON")
    parser.add_argument("--runs", type=Path, required=True, help="folder with a folder a run")
    parser.add_argument("--boundary", type=Path, help="boundary.json, where there is one")
    parser.add_argument("--output", type=Path, required=True, help="folder of the tables")
    given = parser.parse_args()
    try:
        planned = planned_runs(load_config(json.loads(given.config)))
        specs = {run: spec.model_dump(mode="json") for run, spec in planned.items()}
        if given.boundary:
            for run in _json(given.boundary, "probes"):
                specs[run] = _json(given.runs / run / "spec.json")
        tables = tidy_tables(specs, given.runs)
        newest = newest_provenance(specs, given.runs)
    except ValueError as error:
        sys.exit(f"gather.py: {error}")
    for name, table in tables.items():
        write_table(given.output / f"{name}.parquet", table)
    write_text(given.output / "provenance.json", json.dumps(newest, indent=1))


if __name__ == "__main__":
    main()
