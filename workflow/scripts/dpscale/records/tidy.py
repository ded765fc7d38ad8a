"""Records and steps of all planned runs as tidy tables: one observation a row, nothing derived."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from dpscale.records.record import Record
from dpscale.records.storage import read_record, read_steps

NOT_RUN = "not run yet"
WITH_STEPS = ("timed", "training")  # kinds of run whose steps are recorded


def tidy_tables(
    specs: Mapping[str, dict[str, Any]],
    runs: Path,
    schemas: Mapping[str, Mapping[str, str]],
    configured: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> dict[str, pd.DataFrame]:
    """The tidy tables of the runs named in `specs`, by table name, with the columns of `schemas`.

    specs: planned spec by run name. runs: folder with a folder a run. configured: rows of tables
    that come from the configuration, by table. A planned run without a record of its spec is a row
    of `runs` with status NOT_RUN and nulls.
    Raises ValueError for a file that is no whole record, naming it.
    """
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in schemas}
    for name, given in (configured or {}).items():
        rows[name] = [dict(row) for row in given]
    of_record = [name for name in schemas if name not in ("runs", "steps")]
    steps: list[pa.Table] = []
    for run, spec in specs.items():
        path = runs / run / "record.json"
        record = read_record(path) if path.exists() else None
        if record is None or not record.is_of(spec):
            rows["runs"].append(_planned_columns(run, spec, schemas["runs"]) | {"status": NOT_RUN})
            continue
        rows["runs"].append(
            _planned_columns(run, record.spec, schemas["runs"]) | _measured_columns(record)
        )
        for name in of_record:
            rows[name] += [{"run": run} | row for row in getattr(record, name, ())]
        own = read_steps(
            path.with_name("steps.parquet"),
            {name: kind for name, kind in schemas["steps"].items() if name != "run"},
            needed=record.status == "complete" and record.spec["kind"] in WITH_STEPS,
        )
        steps.append(own.append_column("run", pa.repeat(run, len(own))))
    tables = {
        name: _typed_table(pd.DataFrame(rows[name]), columns)
        for name, columns in schemas.items()
        if name != "steps"
    }
    joined = pa.concat_tables(steps, promote_options="default").to_pandas() if steps else None
    return tables | {"steps": _typed_table(pd.DataFrame(joined), schemas["steps"])}


def newest_provenance(specs: Mapping[str, Any], runs: Path) -> dict[str, Any]:
    """The provenance of the run that finished last; empty where none has run."""
    files = [runs / run / "record.json" for run in specs]
    records = [read_record(path) for path in files if path.exists()]
    newest = max(records, key=lambda record: record.finished_at, default=None)
    return newest.provenance if newest else {}


def _planned_columns(
    run: str, spec: Mapping[str, Any], schema: Mapping[str, str]
) -> dict[str, Any]:
    """What the spec says of a run; a study's protocol last."""
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
        "memory_budget_bytes": spec["memory_budget_bytes"],
        "dataset": spec["data"]["dataset"],
        "model": spec["model"]["name"],
        "optimizer": training["optimizer"],
        "loader": spec["data"]["loader"],
        "backend": spec["hardware"]["backend"],
        "precision": training["precision"],
        "repeated_data": spec["data"]["repeats"] > 1,
        "sample": "sample" if spec.get("own") else "image",
        "warmup": training["schedule"]["warmup"],
        "zero_gamma": spec["model"]["zero_gamma"],
        **{name: value for name, value in (spec["protocol"] or {}).items() if name in schema},
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
        **record.task,
    }


def _typed_table(table: pd.DataFrame, schema: Mapping[str, str]) -> pd.DataFrame:
    """The columns of the schema in its order and types; absent ones are null."""
    return table.reindex(columns=list(schema)).astype(dict(schema)).reset_index(drop=True)
