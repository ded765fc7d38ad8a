"""Records are whole or absent, and become tidy tables that keep every planned run."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpscale.provenance import provenance
from dpscale.records import Record, read_record, runs, write_record, write_steps, write_text
from dpscale.records.schemas import row_checks
from dpscale.records.storage import DamagedError, read_steps
from dpscale.records.tidy import newest_provenance, tidy_tables
from dpscale.studies import kinds, planned_runs, read_config, run_columns, schemas

FOLDER = Path(__file__).resolve().parents[2] / "config"
SPECS = {
    run: spec.model_dump(mode="json")
    for run, spec in planned_runs(read_config(FOLDER / "config.yaml")).items()
}
RUN = "replicas-baseline-n2-b16"
CHECKS = row_checks(schemas())


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


def test_a_record_comes_back_as_it_was_written(tmp_path) -> None:
    record = make_record(curves=[{"trial": 0, "epoch": 1.0, "train_loss": 0.5}])
    write_record(tmp_path / "record.json", record)
    assert read_record(tmp_path / "record.json") == record


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path) -> None:
    path = tmp_path / "steps.parquet"
    write_steps(path, {"step_s": np.array([1.0])})
    with pytest.raises(ValueError, match="length"):
        write_steps(path, {"step_s": np.array([1.0]), "rank": np.array([0, 1])})
    assert pd.read_parquet(path)["step_s"].tolist() == [1.0]
    assert [entry.name for entry in tmp_path.iterdir()] == ["steps.parquet"]


def test_half_a_record_is_refused_by_its_path(tmp_path) -> None:
    path = tmp_path / "record.json"
    write_record(path, make_record())
    path.write_text(path.read_text(encoding="utf-8")[:100], encoding="utf-8")
    with pytest.raises(ValueError, match=f"{path}: no valid record: Invalid JSON"):
        read_record(path)


AFTER = "2026-01-01T00:00:10.000+00:00"  # the record's end is a second before


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"status": "fine"}, "status: Input should be 'complete'"),
        ({"wall_s": float("nan")}, "wall_s: nan: Input should be a finite number"),
        ({"wall_s": -0.5}, "wall_s: -0.5: Input should be greater than or equal to 0"),
        ({"utilisation_frac": 1.5}, "utilisation_frac: 1.5: Input should be less"),
        ({"payload_bytes": -4}, "payload_bytes: -4: Input should be greater"),
        ({"train_samples": 2.5}, "train_samples: 2.5: Input should be a valid integer"),
        ({"started_at": AFTER}, f"started_at is after finished_at, {AFTER}"),
        ({"provenance": {}}, "provenance, fingerprint: Field required"),
        ({"spans": [{"span_s": 1.0}, {"span_s": -1.0}]}, "spans, row 2, span_s: -1.0: "),
        ({"spans": [{"span_s": "long"}]}, "spans, row 1, span_s: Input should be a valid number"),
        ({"wire": [{"sent_bytes": -1}]}, "wire, row 1, sent_bytes: -1: Input should"),
        ({"wire": [{"sent_bytes": True}]}, "wire, row 1, sent_bytes: True: Input should"),
        ({"buckets": [{"ready_frac": 1.01}]}, "buckets, row 1, ready_frac: 1.01: Input should"),
        ({"curves": [{"steps_s": float("inf")}]}, "curves, row 1, steps_s: inf: Input should"),
        ({"grid": [{"step_s": -1e-9}]}, "grid, row 1, step_s: -1e-09: Input should"),
        ({"throughputs": [{"stacked": 1}]}, "throughputs, row 1, stacked: 1: Input should"),
        (
            {"searches": [{"effective_lr_low": 2.0, "effective_lr_high": 1.0}]},
            "searches, row 1: effective_lr_low is above effective_lr_high, 2.0 and 1.0",
        ),
    ],
)
def test_an_impossible_record_is_refused_by_table_row_field_and_bound(
    tmp_path, fields, words
) -> None:
    path = tmp_path / "record.json"
    write_text(path, json.dumps(make_record().model_dump(mode="json") | fields))
    with pytest.raises(DamagedError) as refused:
        read_record(path, CHECKS)
    assert refused.value.reason.startswith(f"{path}: no valid record: {words}")


def test_null_is_unknown_in_every_field_of_every_table(tmp_path) -> None:
    tables = {name: [dict.fromkeys(columns)] for name, columns in schemas().items()}
    path = tmp_path / "record.json"
    write_record(path, make_record(**tables))
    assert read_record(path, CHECKS).spans == tables["spans"]


def test_losses_may_be_below_zero_and_gaps_above_one(tmp_path) -> None:
    rows = {
        "curves": [{"train_loss": -3.0, "test_loss": -2.0}],
        "sharing_losses": [{"loss": -1.0, "parameter_gap_frac": 7.0}],
        "replicas": [{"buffer_difference_frac": 1.5}],
    }
    path = tmp_path / "record.json"
    write_record(path, make_record(**rows))
    assert read_record(path, CHECKS).curves == rows["curves"]


STEPS = {
    "seed": [0] * 4,
    "arm": [None] * 4,
    "repeat": [0] * 4,
    "epoch": [1] * 4,
    "rank": [0, 0, 1, 1],
    "step": [0, 1, 0, 1],
    "samples": [16] * 4,
    "step_s": [0.1] * 4,
    "loss": [2.3] * 4,
}


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"step_s": [0.1, -0.1, 0.1, 0.1]}, "row 2, step_s: -0.1 is not finite and not below 0"),
        ({"load_s": [0.1, 0.1, 0.1, np.inf]}, "row 4, load_s: inf is not finite"),
        ({"samples": [16, 16, -1, 16]}, "row 3, samples: -1 is not"),
        ({"step": [0, 1, 0, 0]}, "row 4, step: 0 does not come after the row before"),
        ({"step_s": [0.1, 0.1, 0.1, np.nan]}, "column step_s is missing or has nulls"),
        ({"step_s": ["a"] * 4}, "Failed to parse string: 'a' as a scalar of type double"),
        ({name: [] for name in STEPS}, "a complete run without steps"),
    ],
)
def test_impossible_steps_are_refused_by_row_field_and_bound(tmp_path, columns, words) -> None:
    path = tmp_path / "steps.parquet"
    write_steps(path, STEPS | columns)
    with pytest.raises(DamagedError, match=f"{path}: no valid steps: {re.escape(words)}"):
        read_steps(path, schemas()["steps"], needed=True)


def test_steps_begin_anew_with_each_rank_and_a_diverged_loss_is_no_number(tmp_path) -> None:
    path = tmp_path / "steps.parquet"
    write_steps(path, STEPS | {"loss": [1.0, np.inf, np.nan, -1.0]})
    assert read_steps(path, schemas()["steps"], needed=True)["step"].to_pylist() == [0, 1, 0, 1]


def written(folder: Path, record: Record) -> None:
    steps = {
        "seed": [0],
        "arm": [None],
        "repeat": [0],
        "epoch": [1],
        "rank": [0],
        "step": [0],
        "samples": [16],
        "step_s": [0.1],
        "loss": [2.3],
    }
    write_steps(folder / record.run / "steps.parquet", steps)
    write_record(folder / record.run / "record.json", record)


def test_every_planned_run_is_a_row_and_a_missing_one_says_so(tmp_path) -> None:
    written(tmp_path, make_record(parameters=77_754, payload_bytes=311_016))
    runs = tidy_tables(SPECS, tmp_path, schemas(), run_columns)["runs"].set_index("run")
    assert set(runs.index) == set(SPECS)
    assert runs.loc[RUN, ["status", "parameters"]].tolist() == ["complete", 77_754]
    other = runs.loc["scaling-n2-b32"]
    assert other["status"] == "not run yet"
    assert other["workers"] == 2
    assert pd.isna(other["payload_bytes"])


def test_a_run_has_the_counts_of_the_device_with_most_and_whether_its_devices_differ(
    tmp_path,
) -> None:
    def columns(*devices: dict[str, Any]) -> list[Any]:
        written(tmp_path, make_record(rank_devices=list(devices)))
        runs = tidy_tables(SPECS, tmp_path, schemas(), run_columns)["runs"].set_index("run")
        return runs.loc[RUN, ["mixed_devices", "num_ooms", "num_alloc_retries"]].tolist()

    a100 = {"rank": 0, "model": "A100", "num_ooms": 0, "num_alloc_retries": 3}
    assert columns(a100, a100 | {"rank": 1, "num_ooms": 2, "num_alloc_retries": 1}) == [False, 2, 3]
    assert columns(a100, {"rank": 1, "model": "V100"}) == [True, 0, 3]
    assert columns({"rank": 0, "model": "CPU core"}) == [False, pd.NA, pd.NA]


def test_a_damaged_run_is_a_missing_one_that_says_why(tmp_path) -> None:
    written(tmp_path, make_record(spans=[{"span_s": -1.0}]))
    runs = tidy_tables(SPECS, tmp_path, schemas(), run_columns)["runs"].set_index("run")
    assert runs.loc[RUN, "status"] == "not run yet"
    assert "spans, row 1, span_s: -1.0" in runs.loc[RUN, "message"]
    assert runs["message"].drop(RUN).isna().all()


def test_a_record_of_another_spec_counts_as_not_run(tmp_path) -> None:
    written(tmp_path, make_record())
    planned = {RUN: SPECS[RUN] | {"seeds": [7]}}
    assert tidy_tables(planned, tmp_path, schemas(), run_columns)["runs"]["status"].tolist() == [
        "not run yet"
    ]


def test_tidy_tables_have_the_columns_and_types_of_their_schemas(tmp_path) -> None:
    written(tmp_path, make_record(curves=[{"trial": 0, "epoch": 1.0, "train_loss": 0.5}]))
    for name, table in tidy_tables(SPECS, tmp_path, schemas(), run_columns).items():
        assert list(table.columns) == list(schemas()[name])
    tables = tidy_tables(SPECS, tmp_path, schemas(), run_columns)
    assert tables["curves"]["train_loss"].tolist() == [0.5]
    assert tables["steps"]["run"].tolist() == [RUN]
    assert tables["wire"].empty


def test_runs_are_the_same_however_many_processes_read_them(tmp_path, monkeypatch) -> None:
    written(tmp_path, make_record(curves=[{"trial": 0, "epoch": 1.0, "train_loss": 0.5}]))
    damaged = tmp_path / "scaling-n2-b32"
    damaged.mkdir()
    (damaged / "record.json").write_text("{")
    whole = tidy_tables(SPECS, tmp_path, schemas(), run_columns)
    monkeypatch.setattr(runs, "RUNS_OF_A_PART", 1)
    parts = tidy_tables(SPECS, tmp_path, schemas(), run_columns, processes=2)
    assert len(SPECS) > 1
    for name, table in whole.items():
        pd.testing.assert_frame_equal(parts[name], table)
    assert parts["runs"]["message"].notna().sum() == 1


def test_the_newest_provenance_is_that_of_the_run_that_finished_last(tmp_path) -> None:
    def newest() -> dict[str, Any]:
        return newest_provenance(
            tidy_tables(SPECS, tmp_path, schemas(), run_columns)["runs"], tmp_path
        )

    assert newest() == {}
    record = make_record()
    written(tmp_path, record)
    assert newest() == record.provenance


def test_provenance_names_what_changes_a_timing() -> None:
    facts = provenance(device="CPU core", devices=2, backend="gloo")
    torch = f"torch {facts['versions']['torch']}"
    for part in ("CPU core", f"x{os.cpu_count()}", "gloo", facts["host"], torch):
        assert part in facts["fingerprint"]


def test_jobs_that_see_different_shares_of_a_machine_have_one_fingerprint(bound) -> None:
    one, four = (provenance(device="A100", devices=seen, backend="nccl") for seen in (1, 4))
    assert one["fingerprint"] == four["fingerprint"]
    assert (one["devices"], four["devices"]) == (1, 4)
    assert one["cpu"].endswith(f"x{os.cpu_count()}")


def test_clusters_and_devices_have_fingerprints_of_their_own(monkeypatch) -> None:
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


@pytest.mark.parametrize("kind", kinds())
def test_what_a_protocol_has_of_the_table_of_runs_is_declared(kind) -> None:
    protocol = resolve_name(f"{kinds()[kind].package}.{kinds()[kind].protocol}")
    assert {*protocol.columns} <= {*protocol.model_fields} & {*schemas()["runs"]}


def test_a_record_is_of_the_spec_that_earlier_runs_complete() -> None:
    planned = SPECS["large_batch-large-n4"]
    rate = planned["training"] | {"lr": 1.0}
    made = planned | {"per_worker_batch": 80, "training": rate, "completed_by": None}
    record = make_record().model_copy(update={"spec": made})
    assert record.is_of(planned)
    assert not record.is_of(planned | {"seeds": [7]})
    assert not record.is_of(planned | {"protocol": planned["protocol"] | {"set_epoch": False}})
    whole = SPECS["replicas-baseline-n2-b16"]
    assert not record.model_copy(update={"spec": whole | {"training": rate}}).is_of(whole)
