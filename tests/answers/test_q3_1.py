"""Q3.1: what it says follows the subtraction and the arms, and turns round with them."""

from typing import Any

import pytest

from builders import derived_lab
from cases import Case, Edit, around, check, figures, only, where
from dpscale.reporting.answer import Answer, Table, Value
from dpscale.studies import answer_one

NAN = float("nan")
SHARED = {"workers": 4}
NO_ARMS = {"exposed_s": NAN}


def _ends(column: str, value: float, low: float, high: float) -> dict[str, float]:
    return {column: value, f"{column}_low": low, f"{column}_high": high}


def _no_ends(column: str) -> dict[str, float]:
    return {f"{column}_low": NAN, f"{column}_high": NAN}


def _cells(**columns: Any) -> dict[str, Edit]:
    """The table of communication with new values in all cells."""
    return {"communication": where(**columns)}


def _pair(one: str, of_one: float, other: str, of_other: float = 0.5) -> dict[str, Edit]:
    return _cells(**around(one, of_one), **around(other, of_other))


def _loaded(low: float, high: float) -> dict[str, Edit]:
    """An epoch with loading of half a second, which is shorter than most without."""
    return {"scaling": where({"kind": "weak"}, **_ends("epoch_s", 0.5, low, high))}


def _predicted(measured_s: float) -> dict[str, Edit]:
    step = around("measured_step_s", measured_s)
    return {"prediction": where(**step, predicted_step_s=1.0, error_frac=1 / measured_s - 1)}


def _ddp(cost: float, low: float, high: float) -> dict[str, Edit]:
    return {"ddp_at_one": where(**_ends("overhead_frac", cost, low, high))}


CASES = [
    Case("two faster",
         # T_2 = 0.6 T_1: 0.1 T_1 of communication, a sixth of T_2; T_1 = 5.125 s at b = 32.
         # Exposed at N = 2: 0.7 of 0.1 T_1 in 0.6 T_1; at N = 4: 0.7 of 0.11 T_1 in 0.36 T_1.
         says=["subtraction, 16.7% at N = 2 and 30.6% at N = 4.",
               "waiting for it takes 11.7% at N = 2 and 21.4% at N = 4. The rest is contention and",
               "At N = 4, b = 512 waiting for communication is the longest part",
               "Each time is the median of 5 repeats in one launch, and brackets hold its 95%",
               "Within one run of N workers, the ways",
               # 241 ms by subtraction: 0.7, 0.1 and 0.2 of it
               "at N = 4, b = 512, 169 ms exposed, 24.1 ms of overhead and 48.3 ms of contention "
               "make 241 ms.",
               "The subtraction is longer than the exposed time in all six cells, by a factor of "
               "1.43: it also",
               "(stragglers): the slowest of the copies less their mean, 0.433% to 1.13% of the",
               "At N = 4 the workers share cores or devices (oversubscribed), while",
               "the runs with N = 2 must predict"],
         never=["no time", "not told from zero", "came out shorter", "is not decidable",
                "A negative subtraction", "are not measured"]),
    Case("two equal", lab={"two_worker_factor": 1.0}, says=["subtraction, 50.0% at N = 2"]),
    Case("no interval", edits=_cells(**_no_ends("subtraction_s"), **_no_ends("exposed_s"),
                                     **_no_ends("epoch_s")),
         says=["by the lab's subtraction, an undecided time at N = 2 and 4.",
               "waiting for it takes an undecided time at N = 2 and 4. Too few repeats tell",
               "The subtraction is undecided for want of repeats in all six cells.",
               "The exposed time is undecided for want of repeats in all six cells.",
               "The subtraction has too few repeats to be compared with the exposed time in all",
               "contention has too few repeats to be set against the exposed time in all three"]),
    Case("below the noise", lab={"two_worker_factor": 0.5, "noise": 0.05, "direct": False},
         says=["by the lab's subtraction, a time not told from zero at N = 2",
               "The subtraction is not told from zero in"],
         never=["A negative subtraction"]),
    Case("negative", lab={"two_worker_factor": 0.4, "direct": False},
         says=["a negative time at N = 2", "It also holds contention and overhead",
               "The subtraction is negative, which is no time, in", "A negative subtraction says"]),
    Case("one negative", lab={"two_worker_factor": 0.4, "direct": False},
         edits={"communication": only(workers=[1, 2], per_worker_batch=32)},
         says=["The subtraction is negative, which is no time, in the one cell measured (N = 2,"]),
    Case("without the arms", lab={"two_worker_factor": 0.6, "direct": False},
         says=["It also holds contention and overhead, which were not measured apart",
               "(exposed communication, overhead, contention, span and the all-reduce alone) are "
               "not measured",
               "At N = 4 the workers share cores or devices (oversubscribed): $T_1/N$ assumes",
               "is not decidable from these two times"],
         never=["Measured directly", "Within one run", "nobody to talk to", "Is this split",
                "Part of the contention"]),
    Case("without the arms, a device each", lab={"two_worker_factor": 0.6, "direct": False},
         edits=_cells(oversubscribed=False), never=["is not decidable", "(oversubscribed)"]),
    Case("arms in some cells", edits={"communication": where({"workers": 2}, **NO_ARMS)},
         says=["Within one run of N workers in three of the six cells (N = 4 with b = 32, 128 and "
               "512), the ways"], never=["waiting for it takes 11.7%"]),
    Case("arms in one cell", edits={"communication": only(workers=[1, 2], per_worker_batch=32)},
         says=["is longer than the exposed time in the one cell measured (N = 2, b = 32), by"]),
    Case("arms in two cells",
         edits={"communication": only(workers=[1, 2], per_worker_batch=[32, 128])},
         says=["The subtraction is longer than the exposed time in both cells, by a factor"]),
    Case("one repeat", edits=_cells(repeats=1),
         says=["Each time is that of one repeat in one launch, which gives no interval. Comput"],
         never=["median of"]),
    Case("launches", edits=_cells(launches=5, launch_spread_frac=0.125),
         says=["Each time is the median of 5 launches, in processes of their own, and brackets",
               "Launches of one cell lie up to 12.5% apart. Computation"]),
    Case("repeats unknown", edits=_cells(repeats=NAN),
         says=["Each time is a median, of how many launches is not known. Computation"]),
    Case("loading in the noise", edits=_loaded(-0.1, 1.1),
         says=["the epoch with loading (Q2) came out shorter than the one without: 500 ms (−100 to "
               "1 100) against 1.00 s (0.98 to 1.02) at N = 4, b = 128 and 500 ms",
               "N = 4, b = 512: the intervals overlap, so the two are not told apart; 500 ms"]),
    Case("loading under other conditions", edits=_loaded(0.4, 0.6),
         says=["N = 4, b = 512: the intervals do not overlap, so the two epochs may have run under",
               "nor the subtraction is to be trusted there. The"]),
    Case("loading without intervals", edits=_loaded(NAN, NAN),
         says=["N = 4, b = 512: without intervals it is open whether they differ"]),
    Case("exposed below the noise", edits=_cells(**_ends("exposed_s", 0.05, -0.1, 0.2)),
         says=["waiting for it takes a time not told from zero at N = 2 and 4.",
               "The exposed time is not told from zero in all six cells."]),
    Case("exposed negative", edits=_cells(**_ends("exposed_s", -0.2, -0.3, -0.1)),
         says=["waiting for it takes a negative time at N = 2 and 4.",
               "The exposed time is negative, which is no time, in all six cells."],
         never=["A negative subtraction", "not told from zero"]),
    Case("subtraction longer", edits=_pair("subtraction_s", 3.0, "exposed_s", 1.0),
         says=["The subtraction is longer than the exposed time in all six cells, by a factor of "
               "3.00: it also holds overhead and contention", "The rest is contention and"]),
    Case("subtraction shorter", edits=_pair("subtraction_s", 1.0, "exposed_s", 2.0),
         says=["The subtraction is shorter than the exposed time in all six cells, by a factor of "
               "2.00: overhead and contention, measured beside it, come out below zero in sum.",
               "Contention and overhead come out below zero."]),
    Case("subtraction as exposed", edits=_pair("subtraction_s", 1.0, "exposed_s", 1.0),
         says=["The subtraction is not told apart from the exposed time in all six "
               "cells.", "The two are not told apart."]),
    Case("no factor of a time below the noise",
         edits=_cells(**around("subtraction_s", 3.0), **_ends("exposed_s", 0.1, -0.1, 0.2)),
         says=["The subtraction is longer than the exposed time in all six cells: it also"]),
    Case("exposed longer than alone", edits=_pair("exposed_s", 1.0, "buckets_s"),
         says=["The exposed time is longer than the all-reduce alone in all six cells, by a factor "
               "of 2.00: beside comp"]),
    Case("exposed shorter than alone", edits=_pair("exposed_s", 0.1, "buckets_s"),
         says=["The exposed time is shorter than the all-reduce alone in all six cells, by a "
               "factor of 5.00: part of"]),
    Case("exposed as alone", edits=_pair("exposed_s", 0.5, "buckets_s"),
         says=["The exposed time is not told apart from the all-reduce alone in all"]),
    Case("exposed longer than span", edits=_pair("exposed_s", 1.0, "span_s"),
         says=["The exposed time is longer than the span in all six cells, by a factor of 2.00: "
               "training also waits outside the span"]),
    Case("exposed shorter than span", edits=_pair("exposed_s", 0.1, "span_s"),
         says=["The exposed time is shorter than the span in all six cells, by a factor of 5.00: "
               "the span counts what"]),
    Case("span longer than alone", edits=_pair("span_s", 0.7, "buckets_s"),
         says=["The span is longer than the all-reduce alone in all six cells, by a factor of "
               "1.40: the span also holds"]),
    Case("span shorter than alone", edits=_pair("span_s", 0.3, "buckets_s"),
         says=["The span is shorter than the all-reduce alone in all six cells, by a factor of "
               "1.67: the pass with"]),
    Case("span as alone", edits=_pair("span_s", 0.5, "buckets_s"),
         says=["The span is not told apart from the all-reduce alone"]),
    Case("span not logged", edits=_cells(span_s=NAN),
         says=["measured beside it. The exposed time is $T_N$ less"],
         never=["he span is longer", "he span is shorter"]),
    Case("even copies", edits=_cells(**_ends("straggler_s", 0.01, -0.1, 0.1)),
         never=["stragglers", "Part of the contention"]),
    Case("a device each", edits=_cells(oversubscribed=False),
         never=["(oversubscribed)", "There, contention"]),
    Case("contention longer", edits=_pair("contention_s", 9.0, "exposed_s", 0.4),
         says=["(oversubscribed), while $T_1/N$ assumes a device for each. There, contention is "
               "longer than the exposed time in all three cells.",
               "b = 512 contention is the longest part"]),
    Case("overhead longest", edits=_cells(**around("overhead_s", 9.0)),
         says=["b = 512 the wrapper's overhead is the longest part"]),
    Case("contention shorter", edits=_pair("contention_s", 0.01, "exposed_s", 0.4),
         says=["contention is shorter than the exposed time in all three cells"]),
    Case("contention as exposed", edits=_pair("contention_s", 0.4, "exposed_s", 0.4),
         says=["contention is not told from the exposed time in all three cells",
               "b = 512 no part of the subtraction is told to be the longest"]),
    Case("DDP costs", edits=_ddp(0.03, 0.02, 0.04),
         says=["it lengthens the epoch, by 3.00% at b = 32, 128 and 512. $T_1$ is"]),
    Case("DDP saves", edits=_ddp(-0.03, -0.04, -0.02),
         says=["it comes with a shorter epoch, by 3.00% at b = 32, 128 and 512."]),
    Case("DDP in the noise", edits=_ddp(0.03, -0.1, 0.1),
         says=["it is not told apart from none at b = 32, 128 and 512."]),
    Case("DDP once", edits=_ddp(0.03, NAN, NAN),
         says=["it has too few repeats to be judged at b = 32, 128 and 512."]),
    Case("DDP at one not measured", edits=_ddp(NAN, NAN, NAN), never=["nobody to talk to"]),
    Case("close", edits=_predicted(1.05),
         says=["The prediction is within 15% of the measured step in all three cells. The farthest "
               "is 4.76% below the measured step, at N = 4, b = 32."]),
    Case("off", edits=_predicted(0.5),
         says=["is off by more than 15% in all three cells. The farthest is 100% above the"]),
    Case("neither", edits=_predicted(1.176),
         says=["is not decided to be within 15% or not in all three cells"]),
    Case("exact", edits=_predicted(1.0), never=["The farthest"]),
    Case("predicted from two sizes",
         edits={"prediction": where({"per_worker_batch": 32}, fit_workers=3)},
         says=["the runs with N = 2 and N = 3 must predict"]),
    Case("no prediction",
         edits={"prediction": where(error_frac=NAN, note="the link has no fit at N = 2")},
         says=["Larger numbers of workers are not predicted: the link has no fit at N = 2."],
         never=["within 15%", "Is this split"]),
    Case("no prediction and no reason", edits={"prediction": where(error_frac=NAN)},
         never=["are not predicted", "Is this split"]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_q3_1_says(case: Case) -> None:
    check("Q3.1", case)


def _answer(edits: dict[str, Edit] | None = None, **lab: Any) -> Answer:
    return answer_one("Q3.1", Case("", edits=edits or {}, lab=lab).inputs)


def _table(answer: Answer, words: str) -> Table:
    return next(table for table in answer.tables if words in table.caption)


def test_the_subtraction_is_a_value_and_has_no_share_where_it_is_negative() -> None:
    faster, negative = _answer(), _answer(two_worker_factor=0.4, direct=False)
    assert faster.values["subtraction_s_n2_b32"].value == pytest.approx(0.5125)
    assert faster.values["subtraction_share_n2_b32"].value == pytest.approx(1 / 6)
    assert "subtraction_share_n2_b32" not in negative.values


def test_without_the_arms_there_is_one_table_and_one_figure() -> None:
    answer = _answer(direct=False)
    assert (answer.missing, figures(answer), len(answer.tables)) == ([], ["communication"], 1)


def test_four_estimates_and_the_split_stand_in_tables_of_every_cell() -> None:
    answer = _answer()
    estimates, split = (_table(answer, words) for words in ("Four estimates", "arm by arm"))
    assert [column.key for column in estimates.columns[3:]] == [
        "subtraction_s", "exposed_s", "span_s", "buckets_s"]  # fmt: skip
    assert [len(table.rows) for table in (estimates, split)] == [6, 6]
    assert all(estimates.runs)
    assert figures(answer) == ["step_split", "communication"]
    assert len(_table(answer, "than the fit has seen").rows) == 3


@pytest.mark.parametrize(
    ("low", "high", "status"),
    [
        (-0.1, 0.2, "not told from zero"),
        (-0.3, -0.1, "negative"),
        (NAN, NAN, "not told from zero for want of repeats"),
    ],
)
def test_exposed_time_that_is_not_above_zero_has_no_share(low, high, status) -> None:
    answer = _answer(_cells(**_ends("exposed_s", 0.05, low, high)))
    assert "%" not in answer.sentence.split("Measured directly")[1]
    cell = _table(answer, "Shares of the epoch").rows[0]["exposed_s"]
    assert isinstance(cell, Value)
    assert (cell.value, cell.status) == (None, status)


def test_a_run_of_the_link_that_is_missing_leaves_the_answer_as_it_is() -> None:
    assert _answer(not_run=("link-n2",)).missing == []


def test_one_number_for_several_cells_names_the_runs_of_all() -> None:
    answer = _answer()
    waits = {answer.sentence[one.start : one.end]: one.runs for one in answer.printed[0]}
    own = derived_lab()["communication"].query("workers == 2")
    assert set(" ".join(own["runs"]).split()) <= set(waits["11.7%"])
