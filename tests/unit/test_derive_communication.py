"""Communication by subtraction, and the bandwidth that follows from it."""

import pandas as pd
import pytest

from builders import bandwidth_of, communication_of, derived_lab, timed_cells


def split(times, **options) -> pd.DataFrame:
    """Return `communication` of cells timed without loading, indexed by (workers, b)."""
    table = communication_of(*timed_cells(times, arm="without_loading", **options))
    return table.set_index(["workers", "per_worker_batch"])


def rates(times, **options) -> pd.DataFrame:
    """Return `bandwidth` of cells timed without loading, indexed by (workers, b)."""
    epoch_times, runs = timed_cells(times, arm="without_loading", **options)
    table = bandwidth_of(epoch_times, runs)
    return table.set_index(["workers", "per_worker_batch"])


def test_computation_is_one_workers_time_shared_and_the_rest_is_communication():
    four = split({(1, 32): [8.0], (4, 32): [5.0]}).loc[(4, 32)]
    assert (four["compute_s"], four["subtraction_s"]) == (pytest.approx(2.0), pytest.approx(3.0))


def test_the_epochs_interval_comes_after_the_fixed_columns():
    table = split({(1, 32): [8.0, 8.0], (2, 32): [5.0, 5.5, 6.0]})
    assert list(table.columns).index("epoch_s_low") > list(table.columns).index("span_s")
    # Logarithms 1.6094, 1.7047 and 1.7918: mean 1.70198, deviation 0.09119, times 4.3027 / sqrt(3).
    ends = list(table.loc[(2, 32), ["epoch_s_low", "epoch_s_high"]])
    assert ends == pytest.approx([4.3730, 6.8793], abs=1e-4)


def test_interval_of_the_subtraction_is_that_of_independent_samples():
    times = {(1, 32): [7.8, 8.0, 8.2], (2, 32): [5.0, 5.5, 6.0]}
    two = split(times).loc[(2, 32)]
    # Variances 0.25 and 0.01 (of half of T_1) of 3 values each: error sqrt(0.26/3) = 0.29439, with
    # 2.1597 degrees of freedom (Welch) t = 4.0116: 1.1810.
    assert two["subtraction_s_low"] == pytest.approx(1.5 - 1.1810, abs=1e-4)
    assert two["subtraction_s_high"] == pytest.approx(1.5 + 1.1810, abs=1e-4)


@pytest.mark.parametrize(
    ("two_workers_s", "below"),
    [([5.0, 5.5, 6.0], False), ([3.9, 4.0, 4.2], True), ([2.0, 2.1, 2.2], False)],
)
def test_below_noise_says_that_the_interval_covers_zero(two_workers_s, below):
    two = split({(1, 32): [7.8, 8.0, 8.2], (2, 32): two_workers_s}).loc[(2, 32)]
    assert two["below_noise"] == below


def test_below_noise_is_null_without_an_interval():
    assert pd.isna(split({(1, 32): [8.0], (2, 32): [5.0]}).loc[(2, 32), "below_noise"])


def test_communication_leaves_the_loading_out():
    # one worker, b = 128: 10000/128*0.010 + 10000*0.0002 = 2.78125, whatever the loading takes
    table = derived_lab()["communication"].set_index(["workers", "per_worker_batch"])
    assert table.loc[(2, 128), "base_epoch_s"] == pytest.approx(2.78125)


def test_direct_measurements_are_null_where_their_arms_were_not_timed():
    table = derived_lab(direct=False)["communication"]
    several = table[table["workers"] > 1]
    assert len(several) == 6
    assert several[["exposed_s", "overhead_s", "contention_s", "span_s"]].isna().all(axis=None)
    assert several["subtraction_s"].notna().all()


def test_every_cell_with_a_one_worker_run_of_its_batch_is_one_row():
    table = derived_lab()["communication"]
    cells = list(zip(table["workers"], table["per_worker_batch"], strict=True))
    assert cells == [(n, b) for n in (1, 2, 4) for b in (32, 128, 512)]


def test_a_cell_that_did_not_run_is_a_row_with_nulls():
    two = split({(1, 32): [8.0, 8.0], (2, 32): []}, status={(2, 32): "out_of_memory"}).loc[(2, 32)]
    assert (two["status"], two["base_epoch_s"]) == ("out_of_memory", pytest.approx(8.0))
    assert two[["epoch_s", "compute_s", "subtraction_s", "below_noise"]].isna().all()


def test_a_cell_without_its_base_has_a_time_and_no_parts():
    two = split({(1, 32): [], (2, 32): [5.0]}, status={(1, 32): "failed"}).loc[(2, 32)]
    assert (two["epoch_s"], two["base_status"]) == (pytest.approx(5.0), "failed")
    assert two[["compute_s", "subtraction_s", "base_epoch_s"]].isna().all()


def test_bandwidth_is_bytes_of_the_epoch_over_its_communication_seconds():
    # D = 10,000: 10000/(4*25) = 100 iterations of 2*3/4*4 MB = 6 MB in 5 - 8/4 = 3 s
    four = rates({(1, 25): [8.0], (4, 25): [5.0]}).loc[(4, 25)]
    assert (four["iterations"], four["payload_bytes"]) == (100.0, 4_000_000)
    assert four["moved_bytes"] == 6_000_000
    assert four["lab_bytes_per_s"] == pytest.approx(200_000_000)


def test_slow_communication_is_the_low_end_of_the_bandwidth():
    # 10000/(2*50) = 100 iterations of 4 MB; communication is 1.5 s, from 0.317 to 2.683 s
    two = rates({(1, 50): [7.8, 8.0, 8.2], (2, 50): [5.0, 5.5, 6.0]}).loc[(2, 50)]
    assert two["lab_bytes_per_s_low"] == pytest.approx(4e8 / 2.683, rel=1e-2)
    assert two["lab_bytes_per_s_high"] == pytest.approx(4e8 / 0.317, rel=1e-2)
    assert pd.isna(two["note"])


def test_communication_below_the_noise_leaves_the_bandwidth_without_an_upper_bound():
    two = rates({(1, 50): [7.8, 8.0, 8.2], (2, 50): [3.9, 4.5, 5.1]}).loc[(2, 50)]
    assert two["lab_bytes_per_s"] == pytest.approx(8e8)
    assert pd.isna(two["lab_bytes_per_s_high"])
    assert "no upper bound" in two["note"]


def test_no_bandwidth_where_the_subtraction_is_not_above_zero():
    two = rates({(1, 50): [8.0, 8.0], (2, 50): [4.0, 4.0]}).loc[(2, 50)]
    columns = ["lab_bytes_per_s", "lab_bytes_per_s_low", "lab_bytes_per_s_high"]
    assert two[columns].isna().all()
    assert (two["status"], two["note"]) == (
        "complete",
        "communication by subtraction is not above zero",
    )


def test_no_bandwidth_without_the_one_worker_run_and_the_note_says_so():
    two = rates({(1, 50): [], (2, 50): [4.0]}, status={(1, 50): "failed"}).loc[(2, 50)]
    assert pd.isna(two["lab_bytes_per_s"])
    assert two["note"] == "the one-worker run of this batch: failed"


def test_rates_that_nobody_measured_are_null():
    table = derived_lab(direct=False)["bandwidth"]
    assert len(table) == 6
    assert table[["busbw_bytes_per_s", "link_bytes_per_s"]].isna().all(axis=None)
