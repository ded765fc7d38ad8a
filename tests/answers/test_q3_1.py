"""Q3.1: what it says follows the subtraction and the arms, and turns round with them."""

from typing import Any

import pytest

from builders import derived_lab
from cases import Case, Edit, around, both, figures, numbers, only, says, where
from dpscale.reporting.answer import Answer, AnswerTable
from dpscale.studies import answer_one

NAN = float("nan")
NO_ARMS = {"exposed_s": NAN}


def _ends(column: str, value: float, low: float, high: float) -> dict[str, float]:
    return {column: value, f"{column}_low": low, f"{column}_high": high}


def _no_ends(column: str) -> dict[str, float]:
    return {f"{column}_low": NAN, f"{column}_high": NAN}


def _cells(cell: dict[str, Any] | None = None, **columns: Any) -> dict[str, Edit]:
    return {"communication": where(cell, **columns)}


def _trend(*seconds: float) -> dict[str, Edit]:
    sizes = zip((32, 128, 512), seconds, strict=True)
    return {
        "communication": both(
            *(where({"per_worker_batch": size}, **around("subtraction_s", s)) for size, s in sizes)
        )
    }


def _pair(one: str, of_one: float, other: str, of_other: float = 0.5) -> dict[str, Edit]:
    return _cells(**around(one, of_one), **around(other, of_other))


def _loaded(low: float, high: float) -> dict[str, Edit]:
    """An epoch with loading of half a second, which is shorter than most without."""
    return _cells(**_ends("loaded_epoch_s", 0.5, low, high))


def _predicted(measured_s: float) -> dict[str, Edit]:
    step = around("measured_step_s", measured_s)
    return {"prediction": where(**step, predicted_step_s=1.0, error_frac=1 / measured_s - 1)}


def _ddp(cost: float, low: float, high: float) -> dict[str, Edit]:
    return {"ddp_at_one": where(**_ends("overhead_frac", cost, low, high))}


CASES = [
    Case(
        "two faster",
        # T_2 = 0.6 T_1: 0.1 T_1 of communication, a sixth of T_2; T_1 = 5.125 s at b = 32.
        # Exposed at N = 2: 0.7 of 0.1 T_1 in 0.6 T_1; at N = 4: 0.7 of 0.11 T_1 in 0.36 T_1.
        says=[
            "Communication by the lab's $T_N - T_1/N$ takes 220 ms to 512 ms of an epoch with "
            "two workers and 241 ms to 564 ms with four. Measured directly it takes 154 ms to "
            "359 ms with two and 169 ms to 395 ms with four. The rest is mostly contention.",
            "without loading; 21.4% of it waits for communication; the subtraction gives 241",
            "With two workers, from b = 32 to 512, the subtraction falls; with four workers, "
            "from b = 32 to 512, it falls: a larger b makes fewer iterations",
            "Each time is the median of 5 repeats in one launch, and brackets hold its 95%",
            "Within one run of N workers, the ways",
            # 241 ms by subtraction: 0.7, 0.1 and 0.2 of it
            "at N = 4, b = 512, 169 ms, 48.3 ms and 24.1 ms make 241 ms.",
            "The subtraction is longer than the exposed time in all six cells, by a factor of "
            "1.43: it also",
            "(stragglers): the slowest of the copies less their mean, 0.433% to 1.13% of the",
            "At N = 4 the workers share cores or devices (oversubscribed), while",
            "the runs with N = 2 must predict",
        ],
        never=[
            "not a time",
            "Where above zero",
            "came out shorter",
            "is not decidable",
            "No share",
            "A negative subtraction",
            "are not measured",
            "share devices",
        ],
    ),
    Case(
        "level",
        edits=_cells(**around("subtraction_s", 0.5)),
        says=[
            "With two workers, from b = 32 to 512, the subtraction is at no two b told apart; "
            "with four workers, from b = 32 to 512, it is at no two b told apart."
        ],
        never=["a larger b makes"],
    ),
    Case(
        "rising",
        edits=_trend(0.5, 0.6, 0.7),
        says=["the subtraction rises; with four"],
        never=["a larger b makes"],
    ),
    Case("up and down", edits=_trend(0.5, 0.7, 0.6), says=["the subtraction goes up and down;"]),
    Case(
        "no interval",
        edits=_cells(**_no_ends("subtraction_s"), **_no_ends("exposed_s")),
        says=[
            "$T_N - T_1/N$ takes an undecided time of an epoch with two workers and an "
            "undecided time with four. Measured directly it takes an undecided time with two "
            "and an undecided time with four. Too few repeats tell the two apart.",
            "the subtraction has too few repeats to be followed",
            "The subtraction has too few repeats to be compared with the exposed time in all",
            "contention has too few repeats to be set against the exposed time in all three",
        ],
    ),
    Case(
        "below the noise",
        lab={"two_worker_factor": 0.5, "noise": 0.05, "direct": False},
        says=[
            "takes a time not told from zero of an epoch with two workers and a time not told",
            "No share of the epoch is claimed where an interval covers zero: the subtraction's "
            "at N = 2 with b = 32, 128 and 512 and N = 4 with b = 32, 128 and 512.",
        ],
        never=["A negative subtraction", "exposed time's"],
    ),
    Case(
        "negative",
        lab={"two_worker_factor": 0.4, "direct": False},
        says=[
            "takes a negative time of an epoch with two workers",
            "A negative subtraction says",
            "−513 ms",
        ],
    ),
    Case(
        "one cell",
        edits={"communication": only(workers=2, per_worker_batch=32)},
        says=[
            "takes 512 ms (440 to 585) of an epoch with two workers. Measured directly it takes "
            "359 ms (286 to 432). The rest is mostly"
        ],
        never=["With two workers, from"],
    ),
    Case(
        "without the arms",
        lab={"two_worker_factor": 0.6, "direct": False},
        says=[
            "The subtraction is not a pure communication time",
            "(exposed communication, overhead, contention, span and the all-reduce alone) are "
            "not measured",
            "At N = 4 the workers share cores or devices (oversubscribed): $T_1/N$ assumes",
            "is not decidable from these two times",
        ],
        never=[
            "measured directly",
            "Within one run",
            "nobody to talk to",
            "Is this split",
            "Part of the contention",
        ],
    ),
    Case(
        "without the arms, a device each",
        lab={"two_worker_factor": 0.6, "direct": False},
        edits=_cells(oversubscribed=False),
        never=["is not decidable", "(oversubscribed)"],
    ),
    Case(
        "arms in some cells",
        edits={"communication": where({"workers": 2}, **NO_ARMS)},
        says=[
            "Within one run of N workers in three of the six cells (N = 4 with b = 32, 128 and "
            "512), the ways",
            "of an epoch with two workers and",
            "Measured directly it takes 169 ms to 395 ms with four. With four the rest is "
            "mostly contention: they share devices.",
        ],
    ),
    Case(
        "one repeat",
        edits=_cells(repeats=1),
        says=["Each time is that of one repeat in one launch, which gives no interval. Comput"],
        never=["median of"],
    ),
    Case(
        "launches",
        edits=_cells(launches=5, launch_spread_frac=0.125),
        says=[
            "Each time is the median of 5 launches, in processes of their own, and brackets",
            "Launches of one cell lie up to 12.5% apart. Computation",
        ],
    ),
    Case(
        "repeats unknown",
        edits=_cells(repeats=NAN),
        says=["Each time is a median, of how many launches is not known. Computation"],
    ),
    Case(
        "loading in the noise",
        edits=_loaded(-0.1, 1.1),
        says=[
            "the epoch with loading (Q2) came out shorter than the one without: 500 ms (−100 to "
            "1 100) against 1.00 s (0.98 to 1.02) at N = 4, b = 128 and 500 ms",
            "N = 4, b = 512: the intervals overlap, so the two are not told apart; 500 ms",
        ],
    ),
    Case(
        "loading under other conditions",
        edits=_loaded(0.4, 0.6),
        says=[
            "N = 4, b = 512: the intervals do not overlap, so the two epochs may have run under",
            "nor the subtraction is to be trusted there. $T_1$ and",
        ],
    ),
    Case(
        "loading without intervals",
        edits=_loaded(NAN, NAN),
        says=["N = 4, b = 512: without intervals it is open whether they differ"],
    ),
    Case(
        "exposed below the noise",
        edits=_cells(**_ends("exposed_s", 0.05, -0.1, 0.2)),
        says=[
            "Where above zero, communication by the lab's",
            "Measured directly it takes a time "
            "not told from zero with two and a time not told from zero with four.",
            "where an interval covers zero: the exposed time's at N = 2 with b = 32, 128",
        ],
    ),
    Case(
        "neither above the noise",
        edits=_cells(
            **_ends("exposed_s", 0.05, -0.1, 0.2), **_ends("subtraction_s", 0.05, -0.1, 0.2)
        ),
        says=[
            "covers zero: the subtraction's at N = 2 with b = 32, 128 and 512 and N = 4 with b "
            "= 32, 128 and 512 and the exposed time's at N = 2"
        ],
    ),
    Case(
        "subtraction shorter",
        edits=_pair("subtraction_s", 1.0, "exposed_s", 2.0),
        says=[
            "The subtraction is shorter than the exposed time in all six cells, by a factor of "
            "2.00: contention and overhead come out below zero in sum.",
            "with four. Contention and overhead come out negative.",
        ],
    ),
    Case(
        "subtraction as exposed",
        edits=_pair("subtraction_s", 1.0, "exposed_s", 1.0),
        says=[
            "The subtraction is not told apart from the exposed time in all six cells.",
            "with four. The two are not told apart.",
        ],
    ),
    Case(
        "exposed shorter than alone",
        edits=_pair("exposed_s", 0.1, "buckets_s"),
        says=[
            "The exposed time is shorter than the all-reduce alone in all six cells, by a "
            "factor of 5.00: part of"
        ],
    ),
    Case(
        "even copies",
        edits=_cells(**_ends("straggler_s", 0.01, -0.1, 0.1)),
        never=["stragglers", "Part of the contention"],
    ),
    Case(
        "contention longer",
        edits=_pair("contention_s", 9.0, "exposed_s", 0.4),
        says=[
            "(oversubscribed), while $T_1/N$ assumes a device for each: copies that send "
            "nothing take 9.00 s longer than that. There, contention is longer than the "
            "exposed time in all three cells."
        ],
    ),
    Case(
        "contention shorter",
        edits=_pair("contention_s", 0.01, "exposed_s", 0.4),
        says=["contention is shorter than the exposed time in all three cells"],
    ),
    Case(
        "contention as exposed",
        edits=_pair("contention_s", 0.4, "exposed_s", 0.4),
        says=["contention is not told from the exposed time in all three cells"],
    ),
    Case(
        "DDP saves",
        edits=_ddp(-0.03, -0.04, -0.02),
        says=["it comes with a shorter epoch, by 3.00% at b = 32, 128 and 512."],
    ),
    Case(
        "DDP in the noise",
        edits=_ddp(0.03, -0.1, 0.1),
        says=["it is not told apart from none at b = 32, 128 and 512."],
    ),
    Case(
        "DDP once",
        edits=_ddp(0.03, NAN, NAN),
        says=["it has too few repeats to be judged at b = 32, 128 and 512."],
    ),
    Case("DDP at one not measured", edits=_ddp(NAN, NAN, NAN), never=["nobody to talk to"]),
    Case(
        "close",
        edits=_predicted(1.05),
        says=[
            "The prediction is within 15% of the measured step in all three cells. The farthest "
            "is 4.76% below the measured step, at N = 4, b = 32."
        ],
    ),
    Case(
        "off",
        edits=_predicted(0.5),
        says=["is off by more than 15% in all three cells. The farthest is 100% above the"],
    ),
    Case(
        "neither",
        edits=_predicted(1.176),
        says=["is not decided to be within 15% or not in all three cells"],
    ),
    Case("exact", edits=_predicted(1.0), never=["The farthest"]),
    Case(
        "no prediction",
        edits={"prediction": where(error_frac=NAN, note="the link has no fit at N = 2")},
        says=["Larger numbers of workers are not predicted: the link has no fit at N = 2."],
        never=["within 15%", "Is this split"],
    ),
    Case(
        "no prediction and no reason",
        edits={"prediction": where(error_frac=NAN)},
        never=["are not predicted", "Is this split"],
    ),
]


test_what_q3_1_says = says("Q3.1", CASES)


def _answer(edits: dict[str, Edit] | None = None, **lab: Any) -> Answer:
    return answer_one("Q3.1", Case("", edits=edits or {}, lab=lab).inputs)


def _table(answer: Answer, words: str) -> AnswerTable:
    return next(table for table in answer.tables if words in table.caption)


def test_the_subtraction_is_a_value_and_has_no_share_where_it_is_negative() -> None:
    faster, negative = _answer(), _answer(two_worker_factor=0.4, direct=False)
    assert faster.values["subtraction_s_n2_b32"].value == pytest.approx(0.5125)
    assert faster.values["subtraction_share_n2_b32"].value == pytest.approx(1 / 6)
    assert "subtraction_share_n2_b32" not in negative.values


def test_without_the_arms_there_is_one_table_and_one_figure() -> None:
    answer = _answer(direct=False)
    assert (answer.missing, figures(answer), len(answer.tables)) == ([], ["communication"], 1)


def test_the_subtraction_stands_beside_its_parts_in_every_cell() -> None:
    answer = _answer()
    split, others = (_table(answer, words) for words in ("the lab's subtraction", "Other measures"))
    assert [column.key for column in split.columns[4:]] == [
        "compute_s",
        "subtraction_s",
        "exposed_s",
        "contention_s",
        "overhead_s",
    ]
    assert [column.key for column in others.columns[3:]] == ["buckets_s", "span_s", "straggler_s"]
    assert [len(table.rows) for table in (split, others)] == [6, 6]
    assert all(split.runs)
    assert [(one.name, one.further) for one in answer.figures] == [
        ("step_split", False),
        ("communication", True),
    ]
    assert len(_table(answer, "than the fit has seen").rows) == 3


@pytest.mark.parametrize(("low", "high"), [(-0.1, 0.2), (-0.3, -0.1), (NAN, NAN)])
def test_exposed_time_that_is_not_above_zero_has_no_share(low, high) -> None:
    answer = _answer(_cells(**_ends("exposed_s", 0.05, low, high)))
    assert "waits for communication" not in answer.short
    assert "for no time told from zero with two workers and no time" in answer.figures[0].caption
    assert not [name for name in answer.values if name.startswith("exposed_share")]


def test_a_run_of_the_link_that_is_missing_leaves_the_answer_as_it_is() -> None:
    assert _answer(not_run=("link-n2",)).missing == []


def test_one_number_for_several_cells_names_the_runs_of_all() -> None:
    answer = _answer()
    waits = dict(numbers(answer.said.sentence))
    own = derived_lab()["communication"].query("workers == 2 and per_worker_batch == [32, 512]")
    for runs, milliseconds in zip(own["runs"], (359, 154), strict=True):
        assert set(runs.split()) <= set(waits[f"{milliseconds}\u00a0ms"])
