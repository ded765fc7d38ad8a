"""Records are whole or absent, and become tidy tables that keep every planned run."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpscale.provenance import provenance
from dpscale.records import Record, read_record, write_record, write_steps, write_text
from dpscale.records.tidy import newest_provenance, tidy_tables
from dpscale.studies import planned_runs, read_config, schemas

FOLDER = Path(__file__).resolve().parents[2] / "config"
SPECS = {
    run: spec.model_dump(mode="json")
    for run, spec in planned_runs(read_config(FOLDER / "config.yaml")).items()
}
RUN = "replicas-baseline-n2-b16"


def make_record(**fields: Any) -> Record:
    return Record(
        run=RUN,
        status=fields.pop("status", "complete"),
        spec=SPECS[RUN],
        provenance=provenance(device="CPU core", devices=2, backend="gloo"),
        started_at="2026-01-01T00:00:00.000+00:00",
        finished_at=fields.pop("finished_at", "2026-01-01T00:00:09.000+00:00"),
        wall_s=9.0,
        **fields,
    )


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    record = make_record(epochs=[{"seed": 0, "epoch": 1, "train_loss": 0.5}])
    write_record(tmp_path / "record.json", record)
    assert read_record(tmp_path / "record.json") == record


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "steps.parquet"
    write_steps(path, {"step_s": np.array([1.0])})
    with pytest.raises(ValueError, match="length"):
        write_steps(path, {"step_s": np.array([1.0]), "rank": np.array([0, 1])})
    assert pd.read_parquet(path)["step_s"].tolist() == [1.0]
    assert [entry.name for entry in tmp_path.iterdir()] == ["steps.parquet"]


def test_half_a_record_is_refused_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    write_record(path, make_record())
    path.write_text(path.read_text(encoding="utf-8")[:100], encoding="utf-8")
    with pytest.raises(ValueError, match=str(path)):
        read_record(path)


def test_an_unknown_status_is_refused(tmp_path: Path) -> None:
    raw = make_record().model_dump(mode="json") | {"status": "fine"}
    write_text(tmp_path / "record.json", json.dumps(raw))
    with pytest.raises(ValueError, match="status"):
        read_record(tmp_path / "record.json")


def written(folder: Path, record: Record) -> None:
    steps = {"seed": [0], "arm": [None], "repeat": [0], "epoch": [1], "rank": [0], "step": [0],
             "samples": [16], "step_s": [0.1], "loss": [2.3]}  # fmt: skip
    write_steps(folder / record.run / "steps.parquet", steps)
    write_record(folder / record.run / "record.json", record)


def test_every_planned_run_is_a_row_and_a_missing_one_says_so(tmp_path: Path) -> None:
    written(tmp_path, make_record(parameters=77_754, payload_bytes=311_016))
    runs = tidy_tables(SPECS, tmp_path, schemas())["runs"].set_index("run")
    assert set(runs.index) == set(SPECS)
    assert runs.loc[RUN, ["status", "parameters"]].tolist() == ["complete", 77_754]
    other = runs.loc["scaling-n2-b32"]
    assert other["status"] == "not run yet"
    assert other["workers"] == 2
    assert pd.isna(other["payload_bytes"])


def test_a_record_of_another_spec_counts_as_not_run(tmp_path: Path) -> None:
    written(tmp_path, make_record())
    planned = {RUN: SPECS[RUN] | {"seeds": [7]}}
    assert tidy_tables(planned, tmp_path, schemas())["runs"]["status"].tolist() == ["not run yet"]


def test_tidy_tables_have_the_columns_and_types_of_their_schemas(tmp_path: Path) -> None:
    written(tmp_path, make_record(epochs=[{"seed": 0, "epoch": 1, "train_loss": 0.5}]))
    for name, table in tidy_tables(SPECS, tmp_path, schemas()).items():
        assert list(table.columns) == list(schemas()[name])
    tables = tidy_tables(SPECS, tmp_path, schemas())
    assert tables["epochs"]["train_loss"].tolist() == [0.5]
    assert tables["steps"]["run"].tolist() == [RUN]
    assert tables["wire"].empty


def test_the_newest_provenance_is_that_of_the_run_that_finished_last(tmp_path: Path) -> None:
    assert newest_provenance(SPECS, tmp_path) == {}
    record = make_record()
    written(tmp_path, record)
    assert newest_provenance(SPECS, tmp_path) == record.provenance


def test_provenance_names_what_changes_a_timing() -> None:
    facts = provenance(device="CPU core", devices=2, backend="gloo")
    torch = f"torch {facts['versions']['torch']}"
    for part in ("CPU core", f"x{os.cpu_count()}", "gloo", facts["host"], torch):
        assert part in facts["fingerprint"]


def test_jobs_that_see_different_shares_of_a_machine_have_one_fingerprint(bound: None) -> None:
    one, four = (provenance(device="A100", devices=seen, backend="nccl") for seen in (1, 4))
    assert one["fingerprint"] == four["fingerprint"]
    assert (one["devices"], four["devices"]) == (1, 4)
    assert one["cpu"].endswith(f"x{os.cpu_count()}")


def test_clusters_and_devices_have_fingerprints_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fingerprint(device: str) -> Any:
        return provenance(device=device, devices=1, backend="nccl")["fingerprint"]

    here = fingerprint("A100 (driver 1)")
    assert fingerprint("A100 (driver 2)") != here
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "another")
    assert fingerprint("A100 (driver 1)") != here


@pytest.fixture
def bound() -> Iterator[None]:
    """This process bound to one core, as by Slurm."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    yield
    os.sched_setaffinity(0, allowed)
