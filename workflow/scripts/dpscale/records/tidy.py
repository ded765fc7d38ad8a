"""Records and steps of all planned runs as tidy tables: one observation a row, nothing derived."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from dpscale.records.record import Record
from dpscale.records.schemas import SCHEMAS
from dpscale.records.storage import read_record, read_steps

NOT_RUN = "not run yet"
# Tables whose rows lie in the records as they are.
OF_RECORD = (
    ["epochs", "replicas", "orders", "collectives", "wire", "buckets", "spans", "messages",
     "trials", "evaluations", "throughputs", "searches"]
)  # fmt: skip
WITHOUT_STEPS = ("ledger", "link", "search", "scaled", "averaging", "learners", "local")


def tidy_tables(
    specs: Mapping[str, dict[str, Any]], runs: Path, links: Sequence[Mapping[str, Any]] = ()
) -> dict[str, pd.DataFrame]:
    """The tidy tables of the runs named in `specs`, by table name, with the columns of SCHEMAS.

    specs: planned spec by run name. runs: folder with a folder a run. links: rows of the table
    `links`, which come from the configuration. A planned run without a
    record of its spec is a row of `runs` with status NOT_RUN and nulls.
    Raises ValueError for a file that is no whole record, naming it.
    """
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
    rows["links"] = [dict(link) for link in links]
    steps: list[pa.Table] = []
    for run, spec in specs.items():
        path = runs / run / "record.json"
        record = read_record(path) if path.exists() else None
        if record is None or not record.is_of(spec):
            rows["runs"].append(_planned_columns(run, spec) | {"status": NOT_RUN})
            continue
        rows["runs"].append(_planned_columns(run, record.spec) | _measured_columns(record))
        for name in OF_RECORD:
            rows[name] += [{"run": run} | row for row in getattr(record, name)]
        own = read_steps(
            path.with_name("steps.parquet"),
            {name: kind for name, kind in SCHEMAS["steps"].items() if name != "run"},
            needed=record.status == "complete" and record.spec["kind"] not in WITHOUT_STEPS,
        )
        steps.append(own.append_column("run", pa.repeat(run, len(own))))
    tables = {name: _table(rows[name], name) for name in SCHEMAS if name != "steps"}
    joined = pa.concat_tables(steps, promote_options="default").to_pandas() if steps else None
    return tables | {"steps": _typed_table(pd.DataFrame(joined), "steps")}


def newest_provenance(specs: Mapping[str, Any], runs: Path) -> dict[str, Any]:
    """The provenance of the run that finished last; empty where none has run."""
    files = [runs / run / "record.json" for run in specs]
    records = [read_record(path) for path in files if path.exists()]
    newest = max(records, key=lambda record: record.finished_at, default=None)
    return newest.provenance if newest else {}


def _planned_columns(run: str, spec: Mapping[str, Any]) -> dict[str, Any]:
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
        "repeated_data": spec["data"]["repeats"] > 1,
        "expected": _expected(spec),
        **_scaling_columns(spec),
    }


def _scaling_columns(spec: Mapping[str, Any]) -> dict[str, Any]:
    """How a run of S2 scales its rate; nothing for any other run."""
    protocol = spec.get("scaled")
    if protocol is None:
        return {}
    keys = "role rule group_batch groups reference_groups base_lr margin_frac optimizer"
    return {key: protocol[key] for key in keys.split()} | {
        "warmup": spec["training"]["schedule"]["warmup"],
        "zero_gamma": spec["model"]["zero_gamma"],
    }


def _expected(spec: Mapping[str, Any]) -> str | None:
    """The outcome that a study's protocol expects, which stands in the spec before the run."""
    protocols = [part for part in spec.values() if isinstance(part, dict)]
    return next((part["expected"] for part in protocols if part.get("expected")), None)


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
    }


def _table(rows: list[dict[str, Any]], name: str) -> pd.DataFrame:
    return _typed_table(pd.DataFrame(rows), name)


def _typed_table(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """The columns of the schema in its order and types; absent ones are null."""
    schema = SCHEMAS[name]
    return table.reindex(columns=list(schema)).astype(schema).reset_index(drop=True)
