"""The two published tables that are shipped: every finding by hand, and nothing else."""

from dataclasses import asdict
from pathlib import Path

import pytest

from dpscale.audit import Given, audit, read_table
from dpscale.reporting.audits import terminal_text, worded

TABLES = Path(__file__).resolve().parents[2] / "config/tables"


def published(name: str):
    return worded(audit(read_table(TABLES / f"{name}_lab_timings.csv"), Given()))


def said(name: str) -> list[tuple[int, int, str, float, float]]:
    return [
        (f.workers, f.per_worker_batch, f.code, f.printed, pytest.approx(f.expected, rel=1e-4))
        for f in published(name).findings
    ]


def test_the_k80_table_has_one_wrong_speedup_one_impossible_epoch_and_fractional_iterations():
    assert [one for one in said("k80") if one[2] != "bandwidth_fractional"] == [
        (1, 128, "loading_faster_than_without", 16.937219, 18.280495),
        (2, 512, "speedup_mismatch", 1.18592, 1.23126),
    ]
    assert [one for one in said("k80") if one[2] == "bandwidth_fractional"] == [
        (2, 32, "bandwidth_fractional", 2.05475708297, 2.05673),  # 782 / 781.25 of it
        (2, 128, "bandwidth_fractional", 3.42449978964, 3.43655),
        (2, 512, "bandwidth_fractional", 3.54127093711, 3.55374),
        (4, 32, "bandwidth_fractional", 1.62554643801, 1.62711),
        (4, 128, "bandwidth_fractional", 2.14529354504, 2.15284),
        (4, 512, "bandwidth_fractional", 1.67450049703, 1.71469),  # 25 / 24.41 of it
    ]


def test_what_is_far_off_is_told_from_what_is_off_by_a_thousandth():
    text = terminal_text(asdict(published("k80")) | {"title": "a table"}, "k80.csv")
    assert (
        "Two of nine rows do not add up: the speed-up at N = 2, b = 512 is 1.231, not 1.186 "
        "(4.94604 s of one worker over 4.01706 s "
        "of two); at N = 1, b = 128 the epoch is 7.3% shorter with loading (16.94 s) than without "
        "(18.28 s). Five more lack the last partial iteration in the bandwidth (off by "
        "0.096% to 2.3%) and two have no finding."
    ) in text


def test_every_bandwidth_of_the_second_is_wrong_by_one_cause():
    assert [one.kind for one in published("second").lessons] == ["batch_size"]


def test_communication_of_the_second_holds_loading_and_that_of_the_k80_table_does_not():
    """The second subtracts the sweep's time from epochs with loading; the other times both bare."""
    loaded = {name: {row.holds_loading for row in published(name).derived if row.workers > 1}
              for name in ("second", "k80")}  # fmt: skip
    assert loaded == {"second": {True}, "k80": {False}}


def test_what_is_off_by_a_thousandth_throughout_is_no_lesson():
    assert published("k80").lessons == []


def test_an_epoch_with_loading_that_scatter_spares_is_doubtful():
    spared, *_ = published("k80").doubts
    assert "up to 4.9% shorter" in spared  # 4.946042 of 5.201220 s
    assert "(N, b) = (1, 512)" in spared
    assert (
        "each to 1.5% (assumed), may differ by 6.4% by chance (three standard deviations). 4.9% is "
        "within that, so this is no finding"
    ) in spared


def test_what_rests_on_a_time_that_cannot_be_right_is_unknown():
    found = published("k80")
    speedups = {(r.workers, r.per_worker_batch): r.speedup_ratio for r in found.derived}
    refuted = [place for place, ratio in speedups.items() if ratio is None]
    assert refuted
    assert {batch for _, batch in refuted} == {128}
    assert any("rest on a time that is wrong or may be" in line for line in found.doubts)
    assert any(
        "(N, b) = (2, 128), (4, 128) rest on a time without" in line for line in found.doubts
    )
    assert speedups[2, 32]


def test_the_second_table_has_two_wrong_computations_and_no_bandwidth():
    assert said("second") == [
        (2, 32, "compute_mismatch", 10.813, 9.635),  # 19.27 / 2
        (2, 32, "comm_mismatch", 20.448, 20.745),  # 30.38 - 9.635
        (2, 32, "sum_mismatch", pytest.approx(31.261), 30.38),
        (2, 32, "bandwidth_implausible", 32, 1.68485),
        (2, 128, "bandwidth_implausible", 128, 1.28924),
        (2, 512, "bandwidth_implausible", 512, 0.595783),
        (4, 32, "compute_mismatch", 15.27, 4.8175),  # 19.27 / 4
        (4, 32, "bandwidth_implausible", 48, 0.816575),
        (4, 128, "bandwidth_implausible", 192, 0.753689),
        (4, 512, "bandwidth_implausible", 768, 0.579362),
    ]


def test_a_communication_that_follows_from_a_wrong_computation_is_corrected_in_its_reason():
    found = published("second")
    (reason,) = [f.reason for f in found.findings if (f.workers, f.printed) == (4, 15.27)]
    assert (
        "is 36.92 s less this wrong computation, so it is wrong too: 36.92 s less 4.817" in reason
    )
    assert not [f for f in found.findings if f.code == "comm_mismatch" and f.workers == 4]


def test_the_k80_papers_own_derived_values_come_out():
    row = next(r for r in published("k80").derived if (r.workers, r.per_worker_batch) == (2, 32))
    assert row.comm_s == pytest.approx(16.9940435)
    again = row.moved_bytes * row.iterations / row.comm_s  # a row reproduces itself
    assert row.bandwidth_bytes_per_s == pytest.approx(again)
    assert row.speedup_ratio == pytest.approx(1.4169535)
    assert row.iterations == 782  # 50,000 / 64, the last one partial


def test_parameters_and_samples_come_from_the_comments_and_it_says_so():
    assumptions = published("k80").assumptions
    assert "11,173,962 trainable parameters (X): as a comment of the table says" in assumptions
    assert "50,000 training samples (D): as a comment of the table says" in assumptions
