"""Gathers the records of the planned runs into tidy tables (parquet).

A planned run without a record becomes a row that says so, and so does one with a damaged record.
"""

import argparse
import json
import sys
from itertools import chain
from pathlib import Path

from dpscale.errors import one_line
from dpscale.records.damage import note_seen
from dpscale.records.further import further_runs
from dpscale.records.runs import SPEC, Stamp, stamp
from dpscale.records.storage import about, read_json, write_table, write_text
from dpscale.records.tidy import missing, newest_provenance, tidy_tables
from dpscale.studies import configured_rows, load_config, planned_runs, run_columns, schemas


@one_line("gather.py")
def main() -> None:
    """Read the command line and the records, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", required=True, help="the configuration, as JSON")
    parser.add_argument("--runs", type=Path, required=True, help="folder with a folder a run")
    parser.add_argument("--output", type=Path, required=True, help="folder of the tables")
    parser.add_argument("--processes", type=int, default=1, help="that read side by side")
    given = parser.parse_args()
    with about("--config"):
        raw = json.loads(given.config)
    config = load_config(raw)
    specs = {run: spec.model_dump(mode="json") for run, spec in planned_runs(config).items()}
    for run in chain.from_iterable(further_runs(specs, given.runs).values()):
        specs[run] = read_json(given.runs / run / SPEC)
    stamps: dict[str, Stamp | None] = {run: stamp(given.runs / run) for run in specs}
    rows = configured_rows(config)
    tables = tidy_tables(specs, given.runs, schemas(), run_columns, rows, given.processes)
    runs = tables["runs"]
    for message in missing(runs)["message"].dropna():
        print(f"gather.py: not run: {message}; snakemake runs it again", file=sys.stderr)
    for name, table in tables.items():
        write_table(given.output / f"{name}.parquet", table)
    newest = newest_provenance(runs, given.runs)
    write_text(given.output / "provenance.json", json.dumps(newest, indent=1))
    whole = stamps | dict.fromkeys(missing(runs)["run"])
    note_seen(given.output, schemas(), whole)


if __name__ == "__main__":
    main()
