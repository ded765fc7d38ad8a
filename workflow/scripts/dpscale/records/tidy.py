"""Records and steps of all planned runs as tidy tables: one observation a row, nothing derived."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from dpscale.forks import forks
from dpscale.records.record import Record
from dpscale.records.runs import RECORD, Reader, in_parts
from dpscale.records.storage import DamagedError, read_record

NOT_RUN = "not run yet"
Schemas = Mapping[str, Mapping[str, str]]
RunColumns = Callable[[str], Sequence[str]]


Rows = dict[str, list[dict[str, Any]]]  # of each table


def tidy_tables(
    specs: Mapping[str, dict[str, Any]],
    runs: Path,
    schemas: Schemas,
    run_columns: RunColumns,
    configured: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    processes: int = 1,
) -> dict[str, pd.DataFrame]:
    """The tidy tables of the runs named in `specs`, by table name, with the columns of `schemas`.

    specs: planned spec by run name. runs: folder with a folder a run. run_columns: the
    fields of the protocol of a kind of run that are columns of `runs`. configured: rows of tables
    that come from the configuration, by table. processes: that read side by side, forks of this
    one. A planned run without a record of its spec is a row of `runs` with status NOT_RUN and
    nulls, and so is a damaged one, whose message says why.
    """
    rows: Rows = {name: list(map(dict, (configured or {}).get(name, ()))) for name in schemas}
    steps: list[pa.Table] = []
    read = partial(_read, runs, schemas, run_columns)
    parts = in_parts(specs)
    with forks(processes if parts[1:] else 1) as pool:
        for of_part, steps_of_part in pool.map(read, parts):
            steps += steps_of_part
            for name, more in of_part.items():
                rows[name] += more
    tables = {
        name: _typed_table(pd.DataFrame(rows[name]), columns)
        for name, columns in schemas.items()
        if name != "steps"
    }
    joined = pa.concat_tables(steps, promote_options="default").to_pandas() if steps else None
    return tables | {"steps": _typed_table(pd.DataFrame(joined), schemas["steps"])}


def _read(
    runs: Path, schemas: Schemas, run_columns: RunColumns, specs: Mapping[str, dict[str, Any]]
) -> tuple[Rows, list[pa.Table]]:
    """The rows of these runs, and the steps of those that have a whole record."""
    rows: Rows = {name: [] for name in schemas}
    steps: list[pa.Table] = []
    of_record = [name for name in schemas if name not in ("runs", "steps")]
    reader = Reader(schemas)
    for run, spec in specs.items():
        message = None
        try:
            found = reader.read(runs / run) if (runs / run / RECORD).exists() else None
        except DamagedError as error:
            found, message = None, error.reason
        if found is None or not found.record.is_of(spec):
            missing = {"status": NOT_RUN, "message": message}
            rows["runs"].append(_planned_columns(run, spec, run_columns) | missing)
            continue
        record = found.record
        rows["runs"].append(
            _planned_columns(run, record.spec, run_columns) | _measured_columns(record)
        )
        for name in of_record:
            rows[name] += [{"run": run} | row for row in getattr(record, name, ())]
        steps.append(found.steps.append_column("run", pa.repeat(run, len(found.steps))))
    # In one piece a column: those of each run would take as long to hand over as to read.
    joined = [pa.concat_tables(steps, promote_options="default").combine_chunks()] if steps else []
    return rows, joined


def missing(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of `runs` without a whole record; a message says why one that is there is none."""
    return table[table["status"] == NOT_RUN]


def newest_provenance(table: pd.DataFrame, runs: Path) -> dict[str, Any]:
    """The provenance of the run, of the table `runs`, that finished last; empty where none has."""
    known = table.dropna(subset="finished_at").sort_values("finished_at")
    if known.empty:
        return {}
    return dict(read_record(runs / known["run"].iloc[-1] / RECORD).provenance)


def _planned_columns(
    run: str, spec: Mapping[str, Any], run_columns: Callable[[str], Sequence[str]]
) -> dict[str, Any]:
    """What the spec says of a run; what its protocol declares last."""
    batch = spec["per_worker_batch"]
    training = spec["training"]
    return {
        "run": run,
        **{key: spec[key] for key in ("kind", "study", "arm", "workers", "nodes")},
        "per_worker_batch": batch,
        "global_batch": batch and batch * spec["workers"],
        "seeds": len(spec["seeds"]),
        "epochs": training["epochs"],
        "lr": training["lr"],
        "dataset": spec["data"]["dataset"],
        "model": spec["model"]["name"],
        "optimizer": training["optimizer"],
        "loader": spec["data"]["loader"],
        "loader_workers": spec["data"]["loader_workers"],
        "backend": spec["hardware"]["backend"],
        "precision": training["precision"],
        "repeated_data": spec["data"]["repeats"] > 1,
        "sample": "sample" if spec.get("own") else "image",
        "warmup": training["schedule"]["warmup"],
        "zero_gamma": spec["model"]["zero_gamma"],
        **{name: spec["protocol"][name] for name in run_columns(spec["kind"])},
    }


def _measured_columns(record: Record) -> dict[str, Any]:
    keys = (
        "status message train_samples test_samples parameters payload_bytes buffer_bytes "
        "peak_memory_bytes utilisation_frac oversubscribed workers_per_machine "
        "devices_per_machine started_at finished_at wall_s startup_s"
    )
    machine = record.provenance
    versions = [f"{name} {version}" for name, version in machine["versions"].items() if version]
    return {
        **{key: getattr(record, key) for key in keys.split()},
        "nodes": record.nodes or record.spec["nodes"],
        **{key: machine[key] for key in ("device", "fingerprint", "host", "commit")},
        "versions": ", ".join([f"Python {machine['python']}", *versions]),
        "mixed_devices": len({device["model"] for device in record.rank_devices}) > 1,
        **{name: _most(record, name) for name in ("num_ooms", "num_alloc_retries")},
        **record.task,
    }


def _most(record: Record, name: str) -> int | None:
    """The count of the device with the most; None where none is counted."""
    counts = [dict(device).get(name) for device in record.rank_devices]
    return max((count for count in counts if isinstance(count, int)), default=None)


def _typed_table(table: pd.DataFrame, schema: Mapping[str, str]) -> pd.DataFrame:
    """The columns of the schema in its order and types; absent ones are null."""
    return table.reindex(columns=list(schema)).astype(dict(schema)).reset_index(drop=True)
