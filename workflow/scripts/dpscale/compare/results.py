"""A results folder as the comparison reads it: its tidy tables, and what each run was to do."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from dpscale.records.schemas import SCHEMAS
from dpscale.records.storage import read_json, read_table
from dpscale.records.tidy import NOT_RUN
from dpscale.reporting.inputs import rows_of

# What a run's spec is called where the table of runs has it.
_COLUMNS = {
    "kind": "kind",
    "study": "study",
    "arm": "arm",
    "workers": "workers",
    "per_worker_batch": "per_worker_batch",
    "training.lr": "lr",
}
# Of a folder without specs this stands for them.
_WITHOUT_SPECS = _COLUMNS | {
    "nodes": "nodes",
    "training.epochs": "epochs",
    "training.optimizer": "optimizer",
    "training.precision": "precision",
    "training.schedule.warmup": "warmup",
    "model.name": "model",
    "model.zero_gamma": "zero_gamma",
    "data.dataset": "dataset",
    "data.loader": "loader",
    "train_samples": "train_samples",
}


@dataclass(frozen=True)
class Results:
    """A results folder: rows of `runs` by run, the tidy tables, and each run's spec, flat.

    provenance: of the newest run; empty where nobody wrote it. lab_cells: the derived table, of no
    row where there is none.
    """

    folder: str
    runs: Mapping[str, Mapping[str, Any]]
    tables: Mapping[str, pd.DataFrame]
    specs: Mapping[str, Mapping[str, Any]]
    provenance: Mapping[str, Any]
    lab_cells: pd.DataFrame


def read_results(folder: Path, schemas: Mapping[str, Mapping[str, str]]) -> Results:
    """Return the results in a folder.

    A column or a study's table that it lacks, made before there was one, is null or empty. Raises
    ValueError that names what cannot be read, and says what to do.
    """
    tables = folder / "tables"
    if not (tables / "runs.parquet").is_file():
        raise ValueError(
            f"{folder}: no results: it lacks tables/runs.parquet; name a folder under results/ "
            "whose report is made, or make it by snakemake"
        )
    read = {name: _table(tables, name, columns) for name, columns in schemas.items()}
    runs = {row["run"]: row for row in rows_of(read["runs"])}
    provenance, cells = tables / "provenance.json", folder / "derived" / "lab_cells.csv"
    return Results(
        str(folder),
        runs,
        read,
        _specs(folder, runs),
        read_json(provenance) if provenance.exists() else {},
        read_table(cells, {}) if cells.exists() else pd.DataFrame(columns=["checked"]),
    )


def _table(tables: Path, name: str, columns: Mapping[str, str]) -> pd.DataFrame:
    path = tables / f"{name}.parquet"
    if not path.exists():
        if name in SCHEMAS:
            raise ValueError(f"{path}: no such table; make the results again by snakemake")
        return pd.DataFrame(columns=list(columns)).astype(dict(columns))
    found = read_table(path, {"run": "str"} if "run" in columns else {})
    return found.reindex(columns=list(columns)).astype(dict(columns))


def _specs(folder: Path, runs: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The spec of each run that began, by the paths of its fields; of the columns of `runs` where
    one is absent.

    A batch and a rate that were chosen when the run began are in `runs` alone.
    """
    began = {run: row for run, row in runs.items() if row["status"] != NOT_RUN}
    files = {run: folder / "runs" / run / "spec.json" for run in began}
    if not all(file.exists() for file in files.values()):
        return {run: _named(row, _WITHOUT_SPECS) for run, row in began.items()}
    return {
        run: dict(flat(read_json(file))) | _named(began[run], _COLUMNS)
        for run, file in files.items()
    }


def _named(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    return {field: row[column] for field, column in columns.items()}


def flat(spec: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Return the fields of nested sections by path, `training.momentum`; a list is one value."""
    for name, value in spec.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{before}{name}.")
        else:
            yield before + name, str(value) if isinstance(value, list) else value
