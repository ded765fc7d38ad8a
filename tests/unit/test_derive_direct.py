"""Communication measured arm by arm: the split of a step, the buckets alone, DDP at one worker."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

import direct_builders as made
from builders import (
    PAYLOAD_BYTES,
    TRAIN_SAMPLES,
    communication_of,
    derived_lab,
    full_lab,
    one_worker_epoch_s,
    timed_cells,
)
from dpscale.derive.split import spans_of_launches
from dpscale.derive.statistics import median
from dpscale.studies import derived_of
from dpscale.studies.scaling.derive.losses import LOSSES

CELL = (2, 128)


def cell(table: pd.DataFrame, workers: int = CELL[0], batch: int = CELL[1]) -> pd.Series:
    rows = table[(table["workers"] == workers) & (table["per_worker_batch"] == batch)]
    assert len(rows) == 1
    return rows.iloc[0]


def slowed(
    lab: dict[str, pd.DataFrame], *, arms: tuple[str, ...], seconds: float, rank: int | None
):
    """Return the lab with so many seconds more in each step of these arms of the N = 2 runs."""
    steps = lab["steps"].copy()
    chosen = steps["arm"].isin(arms) & steps["run"].str.startswith("scaling-n2-")
    if rank is not None:
        chosen &= steps["rank"] == rank
    steps.loc[chosen, "step_s"] += seconds
    return lab | {"steps": steps}


def test_the_parts_are_the_differences_of_the_arms_by_hand():
    # b = 128: T_1 = 2.78125 s, T_2 = 0.6 T_1, T_1/2 = 1.390625 s; the rest is 0.278125 s.
    row, rest_s = cell(derived_lab(noise=0.0)["communication"]), 0.278125
    assert row["compute_s"] == pytest.approx(1.390625)
    assert row["subtraction_s"] == pytest.approx(rest_s)
    assert row["contention_s"] == pytest.approx(0.2 * rest_s)
    assert row["overhead_s"] == pytest.approx(0.1 * rest_s)
    assert row["exposed_s"] == pytest.approx(0.7 * rest_s)
    assert row["buckets_s"] == pytest.approx(0.8 * rest_s)
    assert row["broadcast_s"] == pytest.approx(0.05 * rest_s)
    assert row["unisolated_s"] == pytest.approx((0.7 - 0.05 - 0.8) * rest_s)
    assert row["span_s"] == pytest.approx(0.9 * rest_s)
    # Rank 1 is 1% faster than rank 0: the slowest is half a percent above the mean.
    assert row["straggler_s"] == pytest.approx(0.005 * (1.390625 + 0.2 * rest_s))
    assert row["straggler_frac"] == pytest.approx(row["straggler_s"] / row["epoch_s"])


@pytest.mark.parametrize("factor", [0.45, 0.6, 1.3])
def test_the_parts_add_up_to_the_subtraction_and_the_epoch(factor):
    table = derived_lab(two_worker_factor=factor)["communication"]
    several = table[table["workers"] > 1]
    assert len(several) == 6
    parts = several[["exposed_s", "overhead_s", "contention_s"]].sum(axis=1)
    assert list(parts) == pytest.approx(list(several["subtraction_s"]), abs=1e-12)
    total = several["compute_s"] + several["subtraction_s"]
    assert list(total) == pytest.approx(list(several["epoch_s"]), rel=1e-12)


def test_the_parts_follow_from_a_loop_over_the_steps():
    lab = full_lab()
    row = cell(derived_of(lab)["communication"])
    steps = lab["steps"][lab["steps"]["run"] == "scaling-n2-b128"]

    def epoch_s(arm: str, samples: int) -> float:
        repeats = []
        for _, repeat in steps[steps["arm"] == arm].groupby("repeat"):
            elapsed_s = max(own["step_s"].sum() for _, own in repeat.groupby("rank"))
            repeats.append(elapsed_s / (samples * repeat["step"].nunique()) * TRAIN_SAMPLES)
        return float(np.median(repeats))

    noop_s, reference_s = epoch_s("noop_hook", 256), epoch_s("reference", 256)
    assert row["exposed_s"] == pytest.approx(epoch_s("without_loading", 256) - noop_s)
    assert row["overhead_s"] == pytest.approx(noop_s - reference_s)
    assert row["contention_s"] == pytest.approx(reference_s - epoch_s("solo", 128) / 2)
    assert row["buckets_s"] == pytest.approx(epoch_s("buckets", 256))


def test_a_sleep_in_one_rank_is_the_stragglers_and_leaves_the_bandwidth_alone():
    lab = full_lab()
    arms = ("with_loading", "without_loading", "reference", "noop_hook")
    before, after = derived_of(lab), derived_of(slowed(lab, arms=arms, seconds=0.05, rank=0))
    one, other = cell(before["communication"]), cell(after["communication"])
    # 50 ms more than the mean of two ranks, 25 ms, in each of 10000/256 steps
    more_s = 0.025 * TRAIN_SAMPLES / 256
    assert other["straggler_s"] - one["straggler_s"] == pytest.approx(more_s)
    assert other["straggler_frac"] > 3 * one["straggler_frac"]
    assert other["exposed_s"] == pytest.approx(one["exposed_s"])
    rates = [cell(tables["bandwidth"])["busbw_bytes_per_s"] for tables in (before, after)]
    assert rates[0] == rates[1]


def test_a_slower_link_raises_the_exposed_time_alone():
    lab = full_lab()
    slow = slowed(lab, arms=("without_loading", "buckets"), seconds=0.1, rank=None)
    one, other = (cell(derived_of(tables)["communication"]) for tables in (lab, slow))
    for part in ("compute_s", "contention_s", "overhead_s", "straggler_s"):
        assert other[part] == one[part]
    assert other["exposed_s"] - one["exposed_s"] == pytest.approx(0.1 * TRAIN_SAMPLES / 256)


def test_one_worker_communicates_nothing():
    row = cell(derived_lab()["communication"], workers=1)
    assert row["compute_s"] == row["epoch_s"]
    parts = ["subtraction_s", "exposed_s", "overhead_s", "contention_s", "span_s", "buckets_s"]
    assert (row[parts] == 0).all()
    assert (row[[f"{part}_high" for part in parts]] == 0).all()


def test_an_exposed_time_whose_interval_covers_zero_is_below_the_noise():
    table = derived_lab(noise=0.3)["communication"]
    several = table[table["workers"] > 1]
    covers = (several["exposed_s_low"] <= 0) & (several["exposed_s_high"] >= 0)
    assert covers.any()
    assert (several["exposed_below_noise"] == covers).all()


def test_the_bus_bandwidth_is_that_of_the_buckets_alone():
    tables = derived_lab(noise=0.0)
    row, split = cell(tables["bandwidth"]), cell(tables["communication"])
    # N = 2 moves S = 4 MB in each of 10000/256 iterations
    moved = PAYLOAD_BYTES * TRAIN_SAMPLES / 256
    assert row["busbw_bytes_per_s"] == pytest.approx(moved / split["buckets_s"])
    assert row["busbw_bytes_per_s_low"] <= row["busbw_bytes_per_s"] <= row["busbw_bytes_per_s_high"]
    assert row["link_source"] == "tcp"
    assert row["link_bytes_per_s"] == pytest.approx(made.TCP_BYTES_PER_S)
    assert row["busbw_of_link_frac"] == row["busbw_bytes_per_s"] / row["link_bytes_per_s"]


def test_shares_of_the_formulas_time_add_up_to_it_and_are_null_of_what_is_no_time():
    tables, negative = derived_lab(), derived_lab(two_worker_factor=0.4)["bandwidth"]
    row, split = cell(tables["bandwidth"]), cell(tables["communication"])
    shares = ["transfer_frac", "waiting_frac", "other_frac"]
    assert row[shares].sum() == pytest.approx(1.0)
    assert row["transfer_frac"] == pytest.approx(split["buckets_s"] / split["subtraction_s"])
    other_s = split["overhead_s"] + split["contention_s"]
    assert row["other_frac"] == pytest.approx(other_s / split["subtraction_s"])
    assert negative[shares].isna().all(axis=None)


def test_what_several_workers_add_is_the_sum_of_its_parts():
    losses = derived_lab()["speedup_losses"]
    parts = losses[[f"{name}_s" for name in LOSSES]]
    assert parts.sum(axis=1).tolist() == pytest.approx(losses["parts_s"].tolist())
    assert losses["parts_s"].tolist() == pytest.approx(losses["added_s"].tolist())
    assert (losses["contention_lead_s"] < 0).all()
    assert losses["cause"].isna().all()


def test_a_configured_rate_of_the_link_comes_before_the_measured_one():
    lab = full_lab()
    own = {"link": "this link", "bytes_per_s": 2e9, "latency_s": None, "source": "", "own": True}
    links = pd.concat([lab["links"], pd.DataFrame([own])], ignore_index=True)
    row = cell(derived_of(lab | {"links": links.astype(dict(lab["links"].dtypes))})["bandwidth"])
    assert (row["link_source"], row["link_bytes_per_s"]) == ("configured", 2e9)


def test_ddp_around_one_worker_is_compared_with_the_bare_module():
    table = derived_lab(noise=0.0)["ddp_at_one"].set_index("per_worker_batch")
    assert list(table.index) == [32, 128, 512]
    assert table.loc[128, "bare_epoch_s"] == pytest.approx(one_worker_epoch_s(128))
    assert table.loc[128, "overhead_frac"] == pytest.approx(made.DDP_OF_ONE - 1)
    assert derived_lab(direct=False)["ddp_at_one"]["overhead_frac"].isna().all()


def test_a_sixteen_bit_hook_halves_the_bytes():
    table = derived_lab(noise=0.0)["compression"].set_index("hook")
    assert list(table.index) == ["bf16", "fp16", "powersgd"]
    assert table.loc["bf16", "payload_bytes"] == PAYLOAD_BYTES / 2
    assert table.loc["bf16", "bytes_ratio"] == table.loc["bf16", "interface_ratio"] == 0.5
    assert table.loc["bf16", "base_interface_bytes"] == 2 * PAYLOAD_BYTES
    assert table.loc["bf16", "step_ratio"] == pytest.approx(0.9)
    assert table.loc["fp16", "step_ratio_low"] > 1


def test_a_span_covers_what_launches_scatter_and_not_their_iterations_alone():
    random = np.random.default_rng(1)
    held = {"launches": 0, "pooled": 0}
    for _ in range(300):
        launches = np.exp(random.normal(0, 0.05, 3))[:, None]
        rows = launches * np.exp(random.normal(0, 0.01, (3, 20)))
        runs = {"run": np.repeat(list("abc"), 20), "iteration": np.tile(np.arange(20), 3)}
        spans = pd.DataFrame(runs | {"span_s": rows.ravel()})
        for name, values in (("launches", spans_of_launches(spans)), ("pooled", spans["span_s"])):
            found = median(values)
            held[name] += found.low <= 1 <= found.high
    assert held["launches"] / 300 >= 0.93
    assert held["pooled"] / 300 < 0.6


def launched(batches: Sequence[int]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Epoch times and runs of three launches of one and of two workers at each batch."""
    random, tables = np.random.default_rng(1), []
    for launch in range(3):
        for arm, one_s, two_s in (("without_loading", 1.0, 0.8), ("noop_hook", 1.0, 0.6)):
            cells = {(n, b): [s] for b in batches for n, s in ((1, one_s), (2, two_s))}
            times, runs = timed_cells(cells, arm=arm)
            off = np.exp(random.normal(0, 0.05, len(times)))
            times["epoch_s"] *= off
            tables.append(
                [table.assign(run=table["run"] + f"-{launch}") for table in (times, runs)]
            )
    times, runs = (pd.concat(one) for one in zip(*tables, strict=True))
    return times, runs.drop_duplicates("run").astype(dict(tables[0][1].dtypes))


def broadcasting(without_s: Sequence[float], buffer_bytes: int = 72) -> pd.Series:
    """What is known of two workers in three launches, which took 0.9, 0.7 and 0.8 s."""
    tables = []
    for launch, (two_s, other_s) in enumerate(zip((0.9, 0.7, 0.8), without_s, strict=True)):
        for arm, seconds in (("without_loading", two_s), ("no_broadcast", other_s)):
            cells = {(1, 32): [1.0], (2, 32): [seconds]}
            made = timed_cells(cells, arm=arm, buffer_bytes=buffer_bytes)
            tables.append([table.assign(run=table["run"] + f"-{launch}") for table in made])
    times, runs = (pd.concat(one) for one in zip(*tables, strict=True))
    runs = runs.drop_duplicates("run").astype(dict(tables[0][1].dtypes))
    return cell(communication_of(times, runs), 2, 32)


def test_the_broadcast_of_buffers_is_paired_by_launch():
    row = broadcasting([0.8, 0.6, 0.69])
    # 0.8 - 0.69 s of the medians; differences are 0.1, 0.1 and 0.11 s, while launches lie 0.2 apart
    assert row["broadcast_s"] == pytest.approx(0.11)
    assert 0.08 < row["broadcast_s_low"] < 0.1 < row["broadcast_s_high"] < 0.13
    assert row["broadcast_side"] == "above"
    assert broadcasting([1.0, 0.8, 0.91])["broadcast_side"] == "below"
    assert broadcasting([0.91, 0.69, 0.8])["broadcast_side"] == "indistinct"


def test_a_network_without_buffers_has_no_broadcast_to_leave_out():
    row = broadcasting([0.8, 0.6, 0.69], buffer_bytes=0)
    assert pd.isna(row["broadcast_s"])
    assert row["broadcast_side"] == "unknown"


def test_few_launches_of_a_cell_borrow_from_the_other_cells_of_the_table():
    batches = [8, 16, 32, 64, 128, 256]
    times, runs = launched(batches)
    of_all = communication_of(times, runs).query("workers == 2").set_index("per_worker_batch")
    widths = []
    for batch in batches:
        alone = communication_of(times, runs[runs["per_worker_batch"] == batch])
        found = of_all.loc[batch], alone.query("workers == 2").iloc[0]
        assert found[0]["exposed_s"] == pytest.approx(found[1]["exposed_s"])
        widths.append([row["exposed_s_high"] - row["exposed_s_low"] for row in found])
    whole, own = np.transpose(widths)
    assert np.median(whole / own) < 0.75
