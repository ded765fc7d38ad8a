"""A mistake planted in a right table is found under its code, with the right value, and alone."""

import re
from pathlib import Path

import pytest

from audit_tables import audited, codes, lines
from dpscale import audit as package
from dpscale.audit import Given
from dpscale.reporting import words

SPEEDUP, COMPUTE, COMM = "printed_speedup", "printed_compute_s", "printed_comm_s"
RATE = "printed_bandwidth_gb_per_s"


@pytest.mark.parametrize(
    ("place", "column", "value", "code", "expected", "words"),
    [
        ((4, 64), SPEEDUP, "10.00", "speedup_times_workers", 2.5, "multiplied by the number"),
        ((2, 64), SPEEDUP, "0.64", "speedup_mismatch", 1.5625, "upside down"),
        ((2, 64), SPEEDUP, "0.78", "speedup_mismatch", 1.5625, "the efficiency"),
        ((2, 64), SPEEDUP, "0.56", "speedup_mismatch", 1.5625, "how much it is faster"),
        ((2, 64), SPEEDUP, "1.25", "speedup_mismatch", 1.5625, "T_1 is that of batch 256"),
        ((2, 64), SPEEDUP, "1.33", "speedup_mismatch", 1.5625, "the sweep's time"),
        ((2, 64), SPEEDUP, "1.55", "speedup_mismatch", 1.5625, "T_1/T_N is 50 / 32"),
        ((2, 64), COMPUTE, "40.00", "compute_mismatch", 20, "not divided by N"),
        ((4, 64), COMPUTE, "8.00", "compute_mismatch", 10, "T_1/N of batch 256"),
        ((4, 64), COMPUTE, "20.00", "compute_mismatch", 10, "computation of 2 workers"),
        ((2, 64), COMPUTE, "25.00", "compute_mismatch", 20, "T_1 from the time with loading"),
        ((2, 64), COMM, "12.00", "comm_mismatch", 10, "with loading less a computation"),
        ((2, 256), COMM, "-12.00", "negative_comm", 4, "less than no time"),
        ((4, 64), COMM, "7.00", "comm_mismatch", 5, "less T_1/N of batch 256"),
        ((2, 256), COMM, "-4.00", "negative_comm", 4, "turned round"),
        ((2, 64), COMM, "11.00", "comm_mismatch", 10, "30 - 40 / 2"),
        ((2, 64), RATE, "0.0373", "bandwidth_wrong_unit", 0.04, "2^30"),
        ((2, 64), RATE, "40.0", "bandwidth_wrong_unit", 0.04, "MB/s"),
        ((2, 64), RATE, "0.320", "bandwidth_wrong_unit", 0.04, "8 bits"),
        ((2, 64), RATE, "0.000400", "bandwidth_one_iteration", 0.04, "of one iteration"),
        ((2, 64), RATE, "0.000125", "bandwidth_one_iteration", 0.04, "time of an epoch"),
        ((2, 64), RATE, "0.000405", "bandwidth_one_iteration", 0.04, "gives 0.0004 and not"),
        ((2, 64), RATE, "0.0403", "bandwidth_mismatch", 0.04, "100 iterations"),
        ((4, 256), RATE, "0.0375", "bandwidth_fractional", 0.039, "counts 12.5 iterations, and 13"),
        ((2, 64), COMM, "30.40", "comm_mismatch", 10, "perhaps it is the whole T_N, nearly:"),
        ((2, 64), SPEEDUP, "3.15", "speedup_times_workers", 1.5625, "gives 3.125 and not 3.15"),
        ((2, 64), COMPUTE, "40.70", "compute_mismatch", 20, "gives 40 and not 40.7"),
        ((2, 64), RATE, "64", "bandwidth_implausible", 0.04, "made of the batch size alone"),
        ((4, 64), RATE, "96", "bandwidth_implausible", 0.06, "2(N-1)/N*b"),
        ((4, 64), RATE, "768", "bandwidth_implausible", 0.06, "PCIe"),
        ((2, 64), RATE, "0.0500", "bandwidth_mismatch", 0.04, "100 iterations"),
        ((4, 64), RATE, "0.0400", "bandwidth_mismatch", 0.06, "2(N-1)/N is left out"),
        ((2, 64), "steps", "34", "steps_mismatch", 100, "fits 6 workers"),
    ],
)
def test_one_planted_cell_is_one_finding(tmp_path, place, column, value, code, expected, words):
    found = audited(tmp_path, lines({place: {column: value}}))
    assert codes(found) == [(*place, code)]
    (finding,) = found.findings
    assert finding.printed == float(value)
    assert finding.expected == pytest.approx(expected)
    assert words in finding.reason


@pytest.mark.parametrize(
    ("place", "cells", "code"),
    [
        # What follows from the wrong number is not named again.
        ((4, 64), {COMPUTE: "12.00", COMM: "3.00", RATE: "0.1000"}, "compute_mismatch"),
        ((2, 64), {COMM: "12.50", RATE: "0.0320"}, "comm_mismatch"),
        ((2, 64), {COMM: "-10.00", RATE: "-0.0400"}, "negative_comm"),
        ((2, 64), {"epoch_s": "27.00", SPEEDUP: "1.85"}, "loading_faster_than_without"),
        (
            (4, 64),
            {"epoch_s": "12.00", SPEEDUP: "4.17", "nodata_s": "11.00", COMM: "1.00", RATE: "0.3"},
            "superlinear",
        ),
        # 40 / 2 - 19 is less than nothing, and no printed number says so.
        ((2, 64), {"nodata_s": "19.00", COMM: "", RATE: ""}, "negative_comm"),
        # The last digit does not tell 12.5 iterations from 12: that one was dropped may be meant.
        ((4, 256), {RATE: "0.0360"}, None),
        ((4, 256), {RATE: "0.04"}, None),
        # 4 MB * 100 in 0.0004 s follow from the times, which then are wrong.
        ((2, 64), {"nodata_s": "20.0004", COMM: "0.0004", RATE: "1000"}, "bandwidth_implausible"),
    ],
)
def test_one_slip_with_its_consequences_is_one_finding(tmp_path, place, cells, code):
    expected = [(*place, code)] if code else []
    assert codes(audited(tmp_path, lines({place: cells}))) == expected


def test_two_wrong_parts_that_do_not_add_up_are_both_named_and_the_sum(tmp_path):
    found = audited(tmp_path, lines({(2, 64): {COMPUTE: "21.50", COMM: "11.50"}}))
    assert [f.code for f in found.findings] == ["compute_mismatch", "comm_mismatch", "sum_mismatch"]
    assert (found.findings[2].printed, found.findings[2].expected) == (33.0, 30.0)


def test_without_one_workers_time_only_the_sum_can_be_wrong(tmp_path):
    text = lines({(2, 64): {COMPUTE: "21.50"}}, without=((1, 64), (1, 256)))
    assert codes(audited(tmp_path, text)) == [(2, 64, "sum_mismatch")]


@pytest.mark.parametrize(
    ("row", "place"), [("1,16384,1.2,1.2,,1,,,,", (1, 16384)), ("4,6400,,1.2,,1,,,,", (4, 6400))]
)
def test_a_batch_that_no_step_can_fill_exceeds_the_dataset(tmp_path, row, place):
    found = audited(tmp_path, [*lines(), row])
    assert codes(found) == [(*place, "batch_exceeds_dataset")]
    assert found.findings[0].expected == 12_800 // place[0]


def test_3120_steps_of_40_epochs_labelled_2_workers_come_from_6(tmp_path):
    text = "workers,per_worker_batch,steps\n1,128,18750\n2,128,3120\n4,128,4688\n"
    found = audited(tmp_path, text, Given(samples=60_000, epochs=40))
    assert codes(found) == [(2, 128, "steps_mismatch")]
    assert found.findings[0].expected == 9375
    assert "3,120 fits 6 workers" in found.findings[0].reason


def test_the_parameters_of_resnet18_for_imagenet_are_recognised(tmp_path):
    given = Given(parameters=11_173_962, samples=12_800)
    # 11,689,512 * 4 bytes * 100 iterations / 10 s = 0.4676 GB/s; 0.4470 is right.
    found = audited(tmp_path, "N,b,nodata_s,comm,BW (GB/s)\n2,64,30,10.000,0.46758\n", given)
    assert codes(found) == [(2, 64, "bandwidth_mismatch")]
    assert "11,689,512" in found.findings[0].reason


def test_the_sum_of_two_parts_is_a_check_without_one_workers_time(tmp_path):
    text = "N,b,nodata_s,compute,comm,speedup\n2,64,30.0,20.0,10.0,1.5\n4,64,,10.0,5.0,2.5\n"
    found = audited(tmp_path, text)
    assert (found.printed, found.checked, found.findings) == (6, 2, [])


def test_every_cause_and_assumption_has_words_and_all_words_are_used():
    sources = [path.read_text() for path in Path(package.__file__).parent.glob("*.py")]
    named = set(re.findall(r"\"([a-z_0-9]+)\"", "".join(sources)))
    say = words.macros("audit.j2", {})
    kinds = {kind.removeprefix("less_") for kind in say.CAUSES}
    assert kinds | set(say.ASSUMED) <= named
    assert set(re.findall(r"cause\(\s*\"(\w+)\"", "".join(sources))) <= {*say.CAUSES, *say.ASSUMED}


def test_a_speedup_that_no_time_explains_is_judged_by_itself(tmp_path):
    found = audited(tmp_path, "N,b,speedup\n4,64,4.2\n4,128,3.9\n")
    assert codes(found) == [(4, 64, "superlinear")]


def test_a_cause_that_chance_may_meet_is_a_perhaps(tmp_path):
    """Times of two digits: one number in ten near the printed one meets some mistake."""
    text = "N,b,time,speedup\n1,32,50,1\n2,32,31,0.62\n1,64,37,1\n2,64,23,2.0\n"
    reasons = {(f.workers, f.per_worker_batch): f.reason for f in audited(tmp_path, text).findings}
    assert reasons
    assert all(reason.startswith(("perhaps ", "T_1/T_N is")) for reason in reasons.values())


def test_a_cause_that_chance_seldom_meets_is_none(tmp_path):
    (finding,) = audited(tmp_path, lines({(4, 64): {SPEEDUP: "10.00"}})).findings
    assert finding.reason.startswith("it is N*T_1/T_N")


def test_times_with_and_without_loading_that_are_one_number_are_doubted(tmp_path):
    said = "identical to the digit at b = 64"
    same = audited(tmp_path, lines({(1, 64): {"sweep_compute_s": "50.00"}}))
    assert any(said in line for line in same.doubts)
    assert audited(tmp_path, lines()).doubts == []


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ({"epoch_s": "28.50", SPEEDUP: "1.75"}, "up to 5.0% shorter than"),  # 28.5 of 30 s
        (
            {"epoch_s": "24.50", SPEEDUP: "2.04", "nodata_s": "24.00", COMM: "4.00", RATE: "0.100"},
            "(N, b) = (2, 64) exceed N by up to 3%",
        ),
    ],
)
def test_what_scatter_spares_is_said(tmp_path, cells, says):
    found = audited(tmp_path, lines({(2, 64): cells}))
    assert found.findings == []
    (doubt,) = found.doubts
    assert says in doubt


def test_a_time_that_cannot_be_right_is_in_no_corrected_table(tmp_path):
    found = audited(tmp_path, lines({(1, 64): {"epoch_s": "37.00"}}))
    (finding,) = [f for f in found.findings if f.code == "loading_faster_than_without"]
    assert "every speed-up that rests on this time is unknown" in finding.reason
    row = found.derived[0]
    assert (row.base_s, row.epoch_s, row.speedup_ratio) == (None, None, None)


def test_a_column_that_is_wrong_by_one_cause_is_a_lesson(tmp_path):
    by_b = {(n, b): {RATE: str(b * 2 * (n - 1) / n)} for n in (2, 4) for b in (64, 256)}
    found = audited(tmp_path, lines(by_b))
    assert [(one.kind, one.finding.printed) for one in found.lessons] == [("batch_size", 64)]
    assert audited(tmp_path, lines(by_b | {(4, 256): {RATE: "0.0390"}})).lessons == []
    unexplained = {place: {COMM: "9.50"} for place in by_b}
    assert audited(tmp_path, lines(unexplained)).lessons == []


def test_a_wrong_rate_has_the_digits_of_the_times(tmp_path):
    assert audited(tmp_path, lines()).digits == 4
    assert audited(tmp_path, "N,b,time\n1,32,61.2345678\n2,32,40.1234567\n").digits == 6
