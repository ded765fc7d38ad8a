"""Gathers the records of the planned runs into tidy tables (parquet).

A planned run without a record becomes a row that says so. `--boundary` adds the probes that the
search of the memory boundary ran.
"""

import argparse
import json
from pathlib import Path

from dpscale.errors import one_line
from dpscale.records.storage import about, read_json, write_table, write_text
from dpscale.records.tidy import newest_provenance, tidy_tables
from dpscale.studies import configured_rows, load_config, planned_runs, schemas


@one_line("gather.py")
def main() -> None:
    """Read the command line and the records, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", required=True, help="the configuration, as JSON")
    parser.add_argument("--runs", type=Path, required=True, help="folder with a folder a run")
    parser.add_argument("--boundary", type=Path, help="boundary.json, where there is one")
    parser.add_argument("--output", type=Path, required=True, help="folder of the tables")
    given = parser.parse_args()
    with about("--config"):
        raw = json.loads(given.config)
    config = load_config(raw)
    planned = planned_runs(config)
    specs = {run: spec.model_dump(mode="json") for run, spec in planned.items()}
    if given.boundary:
        probes = read_json(given.boundary, "probes")
        if not isinstance(probes, list):
            raise ValueError(f"{given.boundary}: probes is no list; make the file again")
        for run in probes:
            specs[run] = read_json(given.runs / run / "spec.json")
    tables = tidy_tables(specs, given.runs, schemas(), configured_rows(config))
    newest = newest_provenance(specs, given.runs)
    for name, table in tables.items():
        write_table(given.output / f"{name}.parquet", table)
    write_text(given.output / "provenance.json", json.dumps(newest, indent=1))


if __name__ == "__main__":
    main()
