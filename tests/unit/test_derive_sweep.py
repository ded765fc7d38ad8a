"""The batch-size sweep and its boundary."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from builders import derived_lab, run_row, step_rows, steps_table, table
from dpscale.derive.epoch_times import epoch_times
from dpscale.studies.sweep.derive import boundary, straight_line, sweep, sweep_pairs


def swept(statuses: dict[int, str], **given) -> pd.DataFrame:
    """Return `sweep` of batches with these statuses, each complete one timed 4, 5 and 6 s."""
    rows = [
        run_row(f"b{batch}", study="sweep", per_worker_batch=batch, status=status, **given)
        for batch, status in statuses.items()
    ]
    steps = [
        step
        for row in rows
        if row["status"] == "complete"
        for step in step_rows(row, epoch_s=[4.0, 6.0, 5.0])
    ]
    runs, steps = table("runs", rows), steps_table(steps)
    return sweep(runs, steps, epoch_times(steps, runs))


def paired(seconds: dict[int, Sequence[float]]) -> pd.DataFrame:
    """Return `sweep_pairs` of batches whose launches take these seconds."""
    rows = [
        run_row(f"b{batch}{suffix}", study="sweep", per_worker_batch=batch)
        for batch, epochs in seconds.items()
        for suffix in ["", *(f"-launch{number}" for number in range(2, len(epochs) + 1))]
    ]
    each = [epoch_s for epochs in seconds.values() for epoch_s in epochs]
    timed = {"run": [row["run"] for row in rows], "epoch_s": each, "rank_mean_epoch_s": each}
    times = pd.DataFrame(timed).assign(arm="without_loading", repeat=0)
    return sweep_pairs(table("runs", rows), times).set_index(["per_worker_batch", "to_batch"])


def probed(*swept: tuple[int, str], probes: Sequence[tuple[int, str]] = ()) -> pd.Series:
    """Return the one row of `boundary` of a sweep and of probes (batch, status)."""
    runs = table(
        "runs",
        [
            run_row(f"p{i}", study="sweep", per_worker_batch=batch, status=status)
            for i, (batch, status) in enumerate(swept)
        ],
    )
    rows = [
        {"run": "boundary", "per_worker_batch": batch, "status": status} for batch, status in probes
    ]
    found = boundary(runs, table("probes", rows))
    assert len(found) == 1
    return found.iloc[0]


def test_a_batch_has_the_median_epoch_its_interval_and_its_rate():
    one = swept({32: "complete"}).iloc[0]
    assert (one["epoch_s"], one["repeats"]) == (pytest.approx(5.0), 3)
    # Logarithms of 4, 5 and 6 s: mean 1.59583, deviation 0.20294, times 4.3027 / sqrt(3).
    assert one["epoch_s_low"] == pytest.approx(2.9783, abs=1e-4)
    assert one["epoch_s_high"] == pytest.approx(8.1686, abs=1e-4)
    assert one["samples_per_s"] == pytest.approx(2_000.0)  # 10,000 samples in 5 s


def test_two_batches_are_compared_launch_by_launch():
    one = paired({32: [4.0, 6.0, 5.0], 128: [2.2, 2.7, 2.5]}).loc[(32, 128)]
    assert one["epoch_ratio"] == pytest.approx(0.5)  # of the medians
    # Logarithms of 0.55, 0.45 and 0.5: mean -0.69648, deviation 0.10038, times 4.3027 / sqrt(3).
    assert one["epoch_ratio_low"] == pytest.approx(0.38835, abs=1e-4)
    assert one["epoch_ratio_high"] == pytest.approx(0.63953, abs=1e-4)
    assert one["epoch_moves"] == "below"
    assert one["runs"] == "b32 b32-launch2 b32-launch3 b128 b128-launch2 b128-launch3"


def test_a_pace_that_changes_between_launches_hides_no_difference():
    pace = (1.0, 1.5, 1.0, 1.5, 1.5)
    made = paired({32: [2.0 * one for one in pace], 128: [1.8 * one for one in pace]})
    assert made.loc[(32, 128), "epoch_moves"] == "below"


def test_of_three_batches_without_a_difference_at_most_one_in_twenty_sweeps_finds_one():
    random = np.random.default_rng(4)
    found = 0
    for _ in range(100):
        pace, noise = random.lognormal(0, 0.3, 5), random.lognormal(0, 0.05, (3, 5))
        made = paired({16 * 4**place: pace * one for place, one in enumerate(noise)})
        found += (made["epoch_moves"] != "indistinct").any()
    assert found <= 5 + 2 * 2.2  # two deviations of 100 draws of 1 in 20


def test_a_line_through_iterations_has_their_fixed_cost_and_that_of_a_sample():
    # 20 ms an iteration and 1 ms a sample.
    assert straight_line([10, 20, 40], [0.03, 0.04, 0.06]) == pytest.approx((0.02, 0.001, 0.0))


def test_a_line_is_off_by_the_largest_share_of_an_iteration():
    # Constant terms alone: batches of 0 samples that take 1 and 2 s. Of a / t - 1 the least squares
    # are at a = (1 + 1/2) / (1 + 1/4) = 1.2, which is 20% above the first and 40% below the other.
    fixed_s, _, off_frac = straight_line([0, 0], [1.0, 2.0])
    assert (fixed_s, off_frac) == (pytest.approx(1.2), pytest.approx(0.4))


def test_steps_of_an_epoch_are_whole_batches():
    assert swept({48: "complete"}).iloc[0]["steps_per_epoch"] == 208  # 10,000 / 48 = 208.3


def test_parts_of_the_epoch_are_medians_over_repeats():
    one = swept({32: "complete"}).iloc[0]
    parts = one[["copy_s", "forward_s", "backward_s", "update_s"]]
    assert list(parts) == pytest.approx([0.25, 1.5, 2.75, 0.25])


def test_rows_ascend_and_end_at_the_first_out_of_memory():
    made = swept({512: "out_of_memory", 2048: "out_of_memory", 128: "complete", 32: "complete"})
    assert list(made["per_worker_batch"]) == [32, 128, 512]
    assert list(made["limit"].fillna("")) == ["", "", "memory"]


def test_rows_end_at_the_first_batch_beyond_the_dataset():
    made = swept({32: "complete", 8192: "complete", 32768: "exceeds_dataset", 131072: "complete"})
    assert list(made["per_worker_batch"]) == [32, 8192, 32768]
    assert made.iloc[-1]["limit"] == "dataset"


def test_the_row_that_ran_out_of_memory_has_nulls_and_not_zeros():
    last = derived_lab()["sweep"].iloc[-1]
    assert (last["status"], last["repeats"]) == ("out_of_memory", 0)
    measured = ["epoch_s", "epoch_s_low", "samples_per_s", "peak_memory_bytes", "forward_s"]
    assert last[measured].isna().all()


def test_a_batch_that_did_not_run_does_not_end_the_sweep():
    made = swept({32: "complete", 128: "not run yet", 512: "complete"})
    assert list(made["status"]) == ["complete", "not run yet", "complete"]
    assert pd.isna(made.iloc[1]["epoch_s"])


def test_boundary_probes_are_not_in_the_sweep():
    assert list(derived_lab()["sweep"]["per_worker_batch"]) == [32, 128, 512, 2048]


def test_memory_and_utilisation_are_those_of_the_batch():
    one = derived_lab()["sweep"].set_index("per_worker_batch").loc[128]
    assert (one["peak_memory_bytes"], one["utilisation_frac"]) == (151_200_000, 0.9)


def test_boundary_is_the_largest_fit_and_the_smallest_failure_with_their_counts():
    found = probed(
        (1024, "complete"),
        (1280, "complete"),
        (2048, "out_of_memory"),
        probes=[
            (1281, "out_of_memory"),
            (1280, "complete"),
            (1281, "out_of_memory"),
            (1281, "out_of_memory"),
        ],
    )
    assert found["runs"] == "p1 boundary"
    assert (found["largest_fit_batch"], found["smallest_failed_batch"]) == (1280, 1281)
    assert (found["fit_confirmations"], found["failure_confirmations"]) == (2, 3)
    assert found["limit"] == "memory"


def test_runs_of_the_sweep_count_as_confirmations():
    found = derived_lab()["boundary"].iloc[0]
    assert (found["largest_fit_batch"], found["fit_confirmations"]) == (1280, 2)
    assert probed((512, "complete"), (2048, "out_of_memory"))["failure_confirmations"] == 1


def test_a_batch_that_fits_in_some_processes_only_is_neither_a_fit_nor_a_failure():
    found = probed(
        (512, "complete"), (1024, "complete"), (1024, "out_of_memory"), (2048, "out_of_memory")
    )
    assert (found["largest_fit_batch"], found["smallest_failed_batch"]) == (512, 2048)
    assert found["first_failure_batch"] == 1024


def test_when_the_dataset_is_the_limit_no_batch_failed():
    found = probed((8192, "complete"), (10_000, "complete"), (32768, "exceeds_dataset"))
    assert (found["largest_fit_batch"], found["limit"]) == (10_000, "dataset")
    assert pd.isna(found["smallest_failed_batch"])
    assert found["failure_confirmations"] == 0
    both = probed((32, "complete"), (8192, "out_of_memory"), (32768, "exceeds_dataset"))
    assert both["limit"] == "memory"


def test_a_sweep_that_met_no_limit_names_none():
    found = probed((32, "complete"), (128, "not run yet"))
    assert found["largest_fit_batch"] == 32
    assert pd.isna(found["limit"])


def test_a_sweep_that_did_not_run_has_a_row_without_a_boundary():
    found = probed((32, "not run yet"), (128, "not run yet"))
    assert pd.isna(found["largest_fit_batch"])
    assert found["fit_confirmations"] == 0


def test_an_iteration_is_the_epoch_over_d_over_b_and_not_over_whole_batches():
    # b = 512: 2.1953125 s of 10,000 / 512 iterations, of which 19 are whole
    table = derived_lab()["sweep"].set_index("per_worker_batch")
    assert table.loc[512, "iteration_s"] == pytest.approx(2.1953125 * 512 / 10_000)
