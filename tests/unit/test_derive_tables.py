"""The registry, the column types, the guard of one machine, and the script."""

import functools
from pathlib import Path

import pandas as pd
import pytest
from bounds import outside

from builders import Tables, derived_lab, empty_lab, full_lab, run_row, table
from dpscale.derive.columns import as_table
from dpscale.derive.same_machine import MixedMachinesError, require_same_machine
from dpscale.derive.tables import Derived
from dpscale.records.columns import intervals
from dpscale.studies import derived_of, schemas, tables
from script_calls import call

ENDS = {"": 0.5, "_low": -7.0, "_high": 7.0}
FIXED = {
    "sweep": "per_worker_batch status epoch_s epoch_s_low epoch_s_high samples_per_s "
    "peak_memory_bytes utilisation_frac repeats",
    "scaling": "kind workers nodes per_worker_batch global_batch status epoch_s epoch_s_low "
    "epoch_s_high speedup_ratio speedup_ratio_low speedup_ratio_high efficiency_frac "
    "oversubscribed",
    "communication": "workers nodes per_worker_batch status epoch_s compute_s subtraction_s "
    "subtraction_s_low subtraction_s_high exposed_s overhead_s contention_s span_s",
    "bandwidth": "workers nodes per_worker_batch iterations payload_bytes moved_bytes "
    "lab_bytes_per_s busbw_bytes_per_s link_bytes_per_s",
    "ledger": "workers phase operation purpose calls bytes",
    "wire": "workers predicted_bytes ledger_bytes interface_bytes",
}
OF_FORMULAS = {"lab_transfers", "lab_cells"}  # of what the lab asks for: true before any run


derive = functools.partial(call, "derive")


def written(lab: dict[str, pd.DataFrame], folder: Path) -> Path:
    folder.mkdir()
    for name, frame in lab.items():
        frame.to_parquet(folder / f"{name}.parquet")
    return folder


@pytest.mark.parametrize("name", FIXED)
def test_fixed_columns_come_first_and_in_their_order(name):
    fixed = FIXED[name].split()
    assert list(derived_lab()[name].columns[: len(fixed)]) == fixed


@pytest.mark.parametrize("name", tables())
def test_tables_of_no_runs_have_the_columns_of_full_ones_and_no_row_but_of_formulas(name):
    empty = derived_of(empty_lab())[name]
    assert empty.empty or name in OF_FORMULAS
    assert name not in OF_FORMULAS or empty["runs"].isna().all()
    assert dict(empty.dtypes.astype(str)) == tables()[name].columns
    assert dict(derived_lab()[name].dtypes.astype(str)) == tables()[name].columns


@pytest.mark.parametrize("name", tables())
def test_no_number_and_no_end_of_an_interval_leaves_what_its_column_may_hold(name):
    assert outside(derived_lab()[name]) == {}


def test_workers_that_gain_more_than_their_number_leave_no_column_either():
    derived = derived_of(full_lab(two_worker_factor=0.4, direct=False))  # four gain sixfold
    # The made-up seconds of buckets are what two workers add, here less than nothing.
    found = {name: outside(derived[name]) for name in tables() if name != "epoch_times"}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
    assert (derived["worker_gains"]["added_step_s"] < 0).any()


def test_ends_of_intervals_are_cut_at_the_bounds_of_their_column():
    named = "train_error_frac gain_frac test_accuracy_difference_frac epoch_s exposed_s"
    far = {f"{name}{end}": value for name in named.split() for end, value in ENDS.items()}
    made = as_table([far], intervals(named))
    assert made.iloc[0].to_dict() == far | {
        "train_error_frac_low": 0.0,
        "train_error_frac_high": 1.0,
        "gain_frac_low": -1.0,
        "test_accuracy_difference_frac_low": -1.0,
        "test_accuracy_difference_frac_high": 1.0,
        "epoch_s_low": 0.0,
    }


def test_a_plan_of_which_nothing_ran_keeps_every_cell():
    runs = list(full_lab()["runs"]["run"])
    tables = derived_lab(not_run=runs)
    assert {name: len(tables[name]) for name in ("sweep", "scaling", "communication")} == {
        "sweep": 4,
        "scaling": 18,
        "communication": 9,
    }
    assert set(tables["scaling"]["status"]) == {"not run yet"}
    unmeasured = {
        "ledger": ["phase", "operation", "calls", "bytes"],
        "wire": ["predicted_bytes", "ledger_bytes", "interface_bytes", "note"],
        "order": ["epoch", "digest", "same_as_first"],
        "replicas": ["epoch", "parameters_identical"],
        "phases": ["phase", "epoch_s", "share_frac"],
        "compression": ["hook", "step_s", "bytes_ratio"],
    }
    for name, columns in unmeasured.items():
        assert set(tables[name]["status"]) == {"not run yet"}, name
        assert tables[name][columns].isna().all(axis=None), name


def test_runs_of_two_machines_are_refused_naming_both_and_a_run_of_each():
    runs = table("runs", [run_row("one", fingerprint="cpu A"), run_row("two", fingerprint="cpu B")])
    with pytest.raises(MixedMachinesError, match=r"run one .*cpu A.* run two on cpu B"):
        require_same_machine(runs)


def test_where_memory_ends_is_a_measurement_of_its_machine():
    runs = table(
        "runs",
        [
            run_row("one", fingerprint="cpu A"),
            run_row("two", fingerprint="cpu B", status="out_of_memory"),
        ],
    )
    with pytest.raises(MixedMachinesError):
        require_same_machine(runs)


def test_a_run_that_measured_nothing_does_not_count_as_a_machine():
    runs = table(
        "runs",
        [
            run_row("one", fingerprint="cpu A"),
            run_row("two", fingerprint="cpu B", status="unavailable"),
            run_row("three", status="not run yet"),
        ],
    )
    require_same_machine(runs)


def test_a_run_whose_workers_had_different_devices_is_refused_by_its_name():
    whole = run_row("alike", mixed_devices=False)
    mixed = run_row("both", mixed_devices=True, device="1 x A100 + 1 x V100")
    with pytest.raises(MixedMachinesError, match=r"run both had different devices, 1 x A100 \+"):
        require_same_machine(table("runs", [whole, mixed]))
    require_same_machine(table("runs", [whole, mixed | {"status": "failed"}]))


@functools.cache
def planned() -> tuple[Tables, Derived]:
    """No row but of runs: the guard looks at nothing else, and there is little to make."""
    tidy = full_lab()
    lab = {name: frame.iloc[:0] for name, frame in tidy.items()} | {"runs": tidy["runs"]}
    return lab, derived_of(lab)


@pytest.mark.parametrize(
    ("run", "names"),
    [
        ("sweep-b32", {"epoch_times", "sweep", "sweep_pairs", "boundary", "phases"}),
        (
            "scaling-n2-b32",
            {
                "epoch_times",
                "scaling",
                "scaling_least",
                "communication",
                "speedup_losses",
                "bandwidth",
                "ddp_at_one",
                "prediction",
                "what_if",
                "phases",
                "waiting_phases",
            },
        ),
        ("link-n2", {"link", "message_times", "prediction", "what_if"}),
        ("compression-n2", {"epoch_times", "what_if", "phases"}),
        ("ledger-n2", {"ledger", "wire"}),
        ("large_batch-small", {"accuracy", "large_batch", "phases"}),
        ("replicas-baseline", {"accuracy", "order", "replicas", "set_epoch", "spreads", "phases"}),
        (
            "model_averaging-seed1",
            {"model_averaging", "averaging_times", "averaging_rates", "averaging_pairs"},
        ),
        ("model_averaging-learners-mlp-b16", {"learners"}),
    ],
)
def test_every_table_refuses_to_combine_a_run_of_another_machine(run, names):
    lab, derived = planned()
    elsewhere = lab["runs"]["run"] == run
    runs = lab["runs"].assign(fingerprint=lab["runs"]["fingerprint"].mask(elsewhere, "other"))
    refused = set()
    for name, one in tables().items():
        given = [
            (lab | {"runs": runs})[source] if source in schemas() else derived[source]
            for source in one.inputs
        ]
        try:
            one.make(*given)
        except MixedMachinesError:
            refused.add(name)
    assert refused == names


def test_the_script_writes_what_the_functions_return(tmp_path):
    folder = written(full_lab(), tmp_path / "tables")
    assert derive("--tables", folder, "--output", tmp_path / "out").returncode == 0
    for name, expected in derived_lab().items():
        read = pd.read_csv(tmp_path / "out" / f"{name}.csv", dtype=tables()[name].columns)
        pd.testing.assert_frame_equal(read, expected, check_exact=True)
    assert not list((tmp_path / "out").glob(".*"))


def test_the_script_writes_no_table_but_the_named_ones(tmp_path):
    folder, out = written(full_lab(), tmp_path / "tables"), tmp_path / "out"
    assert derive("--tables", folder, "--output", out, "scaling").returncode == 0
    assert [path.name for path in out.iterdir()] == ["scaling.csv"]


def test_the_script_reads_tables_whose_nulls_made_floats_of_integers(tmp_path):
    lab = full_lab(not_run=["scaling-n2-b32"])
    plain = {
        name: frame.astype(
            {column: "float64" for column, kind in frame.dtypes.items() if str(kind) == "Int64"}
            | {column: "object" for column, kind in frame.dtypes.items() if str(kind) == "boolean"}
        )
        for name, frame in lab.items()
    }
    folder, made = written(plain, tmp_path / "tables"), ["epoch_times", "scaling"]
    assert derive("--tables", folder, "--output", tmp_path / "out", *made).returncode == 0
    whole, nullable = (
        (tmp_path / "out" / "scaling.csv").read_text(),
        derived_lab(not_run=["scaling-n2-b32"])["scaling"].to_csv(index=False),
    )
    assert whole == nullable


def test_csv_files_keep_integers_true_false_and_empty_nulls(tmp_path):
    folder = written(full_lab(not_run=["scaling-n2-b32"]), tmp_path / "tables")
    derive("--tables", folder, "--output", tmp_path, "epoch_times", "scaling")
    lines = (tmp_path / "scaling.csv").read_text().splitlines()
    assert lines[4].startswith("weak,2,1,32,64,not run yet,,,,,,,,,scaling-n2-b32,0,")
    assert lines[7].split(",")[13] == "True"


def test_the_script_names_two_machines_without_a_traceback(tmp_path):
    lab = full_lab()
    other = lab["runs"]["run"] == "ledger-n2"
    lab["runs"]["fingerprint"] = lab["runs"]["fingerprint"].mask(other, "cpu B")
    folder = written(lab, tmp_path / "tables")
    result = derive("--tables", folder, "--output", tmp_path / "out", "scaling")
    assert result.returncode == 1
    assert "ledger-n2 on cpu B" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_script_names_a_table_that_there_is_not(tmp_path):
    folder = written(full_lab(), tmp_path / "tables")
    result = derive("--tables", folder, "--output", tmp_path / "out", "scalling")
    assert result.returncode != 0
    assert "no derived table scalling" in result.stderr
    assert "Traceback" not in result.stderr
