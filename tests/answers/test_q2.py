"""Q2: what it says of speed-up and of the other kind of scaling follows the measured cells."""

from typing import Any

import pandas as pd
import pytest

from cases import Case, Edit, around, both, only, plain, says, where
from dpscale.reporting.answer import AnswerTable, Value
from dpscale.studies import questions
from dpscale.studies.scaling.answers.speedup import told_from_one

NAN = float("nan")
LOOKS = {
    "compared": 10,
    "opened": 4,
    "decided": 3,
    "reopened": 0,
    "again": 27,
    "first_launches": 6,
    "most_launches": 24,
    "looks": 3,
    "repeat_budget_s": 180.0,
    "confidence_frac": 0.9792,
    "looks_ended": "budget",
    "runs": "sweep-b32",
}
STRONG = {"kind": "strong", "workers": [2, 4]}
PACED = {"kind": "weak", "workers": 4, "per_worker_batch": 128}


def _strong(ratio: float) -> dict[str, Edit]:
    return {"scaling": where(STRONG, **around("speedup_ratio", ratio, 0))}


def _looks(**changes: object) -> dict[str, Edit]:
    row = pd.DataFrame([LOOKS | changes])
    return {"speedup_looks": lambda rows: row.reindex(columns=list(rows)).astype(dict(rows.dtypes))}


def _cause(name: str) -> dict[str, Edit]:
    """One factor is more than the product of all others, by its interval."""
    factors = ("loading", "exposed", "overhead", "contention")
    leads = {f"{one}_lead_ratio_low": 1.2 if one == name else 0.5 for one in factors}
    return {"speedup_losses": where(loss_ratio_low=1.5, **leads)}


CASES = [
    Case(
        "two faster",
        # N = 4, b = 128: T_1 = 1.25 * 2.78125 s, a quarter of it 0.869 s; T_4 = 0.36 T_1.
        says=[
            "Several workers are faster than one at every b, at best 2.78× with four (b = 128) "
            "and 1.67× with two (b = 32). Splitting one worker's 3.48 s among four (b = "
            "128) saves 2.61 s and adds 382 ms, mostly waiting for communication. This is weak",
            "Four workers are faster than one at every b, at best 2.78× (b = 128), sharing "
            "devices.",
            # 0.36 T_1 over T_1/4 is 1.44: 0.272/0.25, 0.283/0.272 and 0.36/0.283 T_1, of which
            # 0.11 T_1 is 0.2 contention, 0.1 overhead and 0.7 exposed
            "In the launches that timed every way of training (Q3.1), at N = 4, b = 128 $T_N$ is "
            "1.44× $T_1/N$: 1.27× by waiting for communication, 1.09× by workers that slow each "
            "other down (contention) and 1.04× by the rest; at N = 2, b = 32",
            "A further table has each, and all multiply to the whole.",
            "With b fixed four workers come to 2.78×, sharing devices.",
        ],
        never=["A larger b makes fewer", "told", "of all launches"],
    ),
    Case(
        "launches of all ways slower than the others",
        # 0.36 T_1 over T_1/4 is 1.44; the interval of the launches with all arms lies above.
        edits={"speedup_losses": where(**around("loss_ratio", 2.0))},
        says=[
            "at N = 4, b = 128 $T_N$ is 2.00× $T_1/N$, more than the 1.44× of all launches: 1.27×"
        ],
    ),
    Case(
        "launches of all ways faster than the others",
        edits={"speedup_losses": where(**around("loss_ratio", 1.2))},
        says=[
            "at N = 4, b = 128 $T_N$ is 1.20× $T_1/N$, less than the 1.44× of all launches: 1.27×"
        ],
    ),
    *(
        Case(
            f"launches of all ways that {name} the others",
            edits={"speedup_losses": where(**ends)},
            says=[f"at N = 4, b = 128 $T_N$ is 1.50× $T_1/N$ (1.44× over all launches{words}): "],
        )
        for name, ends, words in [
            (
                "differ but not measurably from",
                around("loss_ratio", 1.5, 0.2),
                ", no measurable difference",
            ),
            ("have no interval beside", {"loss_ratio": 1.5, "loss_ratio_low": NAN}, ""),
        ]
    ),
    Case(
        "faster at large b alone",
        edits={
            "scaling": where(
                {"kind": "weak", "workers": [2, 4], "per_worker_batch": [32, 128]},
                **around("speedup_ratio", 0.5),
            )
        },
        says=[
            "Several workers are faster than one at b = 512, at best 2.78× with four (b = 512) "
            "and 1.67× with two (b = 512).",
            "A larger b makes fewer iterations, and so fewer exchanges.",
        ],
    ),
    Case(
        "slower or as fast",
        edits={
            "scaling": both(
                where({"kind": "weak", "workers": 2}, **around("speedup_ratio", 0.5)),
                where({"kind": "weak", "workers": 4}, **around("speedup_ratio", 1)),
            )
        },
        says=[
            "Four workers are at no b measurably faster than one, at best 1.00× (b = 32); two "
            "are slower at every b, at best 0.500× (b = 32)."
        ],
    ),
    Case(
        "the best of three by luck",
        edits={
            "scaling": where(
                {"kind": "weak", "workers": [2, 4]},
                speedup_ratio=1.3,
                speedup_ratio_low=1.02,
                speedup_ratio_high=1.6,
            )
        },
        says=[
            "Several workers are not measurably faster than one over all b: two reach 1.30× (b = "
            "32); four, sharing devices, not measurably more (1.30×). Splitting"
        ],
    ),
    *(
        Case(
            f"four gain no more than two, {name}",
            edits={
                "scaling": both(
                    where(
                        {"kind": "weak", "workers": [2, 4]}, **around("speedup_ratio", 1.6, 0.05)
                    ),
                    where({"kind": "weak", "workers": sharing}, oversubscribed=True),
                )
            },
            says=[f"every b: two reach {reach} (b = 32); four, sharing devices, not"],
            never=["reach at best 1.60×"] if sharing == [4] else [" possible"],
        )
        for name, sharing, reach in (
            ("which have a device each", [4], "1.60× of 2 possible"),
            ("which share devices too", [2, 4], "1.60×"),
        )
    ),
    Case(
        "the most gain no more, and not measurably",
        edits={
            "scaling": where({"kind": "weak", "workers": 4}, **around("speedup_ratio", 1.6, 0.7))
        },
        says=[
            "Two workers are faster than one at every b, at best 1.67× (b = 32); four, sharing "
            "devices, are never measurably faster, at best 1.60× (b = 32). "
            "Splitting one",
            "In short: Two workers are faster than one at every b, at best 1.67× (b = 32); four, "
            "sharing devices, not measurably more (1.60×).",
        ],
    ),
    Case(
        "an interval that ends but just above one",
        edits={
            "scaling": where(launches=5),
            "speedup_lesson": where({"workers": 4}, best_ratio=1.3, best_ratio_low=1.0042),
        },
        says=["Allowing for it two reach 1.67× (1.61 to 1.72) and four 1.30× (1.004 to 2.87)."],
    ),
    Case(
        "faster by less than is rounded off",
        edits={
            "speedup_lesson": where(
                {"workers": 4}, best_ratio=1.004, best_ratio_low=1.002, best_ratio_high=1.006
            )
        },
        says=[
            "faster than one at every b, at best 1.004× with four (b = 128) and 1.67× with",
            "In short: Four workers are faster than one at every b, at best 1.004× (b = 128)",
            "With b fixed four workers come to 1.004×, sharing devices.",
        ],
        never=["four (1.00×"],
    ),
    Case(
        "one worker was faster while others waited",
        # 1.5 s over 2.78 s is 0.539, and 2.78 times that 1.50
        edits={"one_worker": where({"per_worker_batch": 128, "workers": 4}, epoch_s=1.5)},
        says=[
            "A speed-up depends on $T_1$ too, and one worker's pace differed: its epoch with b = "
            "128, without loading, took 1.50 s alone while others waited, 0.539× its time in the "
            "launches beside N workers. With that pace four would come to 1.50×, not 2.78×."
        ],
    ),
    Case(
        "one worker was slower in all its launches",
        edits={
            "one_worker": where(
                {"per_worker_batch": 128, "workers": 4}, place="every", epoch_s=5.5625
            )
        },
        says=["5.56 s in all its launches, 2.00× its time", "would come to 5.56×, not 2.78×."],
    ),
    Case(
        "one worker was as fast elsewhere, but for Q1",
        edits={"one_worker": where({"per_worker_batch": 128, "place": "sweep"}, epoch_s=1.5)},
        never=["depends on $T_1$"],
    ),
    Case(
        "two slower",
        lab={"two_worker_factor": 1.5},
        says=[
            "In short: Two workers are slower than one at every b, at best 0.667× (b = 32); four, "
            "sharing devices, less (0.444×).",
            "Several workers are slower than one at every b: two reach 0.667× "
            "(b = 32); "
            "four, sharing devices, less (0.444×). Splitting one worker's "
            "6.41 s among four (b = 32) saves 4.80 s and adds 12.8 s, for no single cause.",
        ],
    ),
    Case(
        "one repeat",
        edits={"scaling": where(speedup_ratio_low=NAN, speedup_ratio_high=NAN)},
        says=[
            "Several workers are not comparable with one, timed too few times, at best 2.78×",
            "strong (B fixed) is undecided for want of launches.",
            " undecided 1 2 128",
        ],
        never=["are faster", "is faster"],
    ),
    Case(
        "more is saved than an equal share",
        edits={"speedup_losses": where(**around("added_s", -0.2), **around("loss_ratio", 0.9))},
        says=[
            "Splitting one worker's 3.48 s among four (b = 128) saves more than the 2.61 "
            "s that equal shares explain. This"
        ],
        never=["and add", "single cause"],
    ),
    Case(
        "nothing measurable is added",
        edits={"speedup_losses": where(added_s_low=-0.1)},
        says=[
            "Splitting one worker's 3.48 s among four (b = 128) saves 2.61 s and adds no "
            "measurable time. This"
        ],
    ),
    Case(
        "what is added has no interval",
        edits={"speedup_losses": where(added_s_low=NAN, added_s_high=NAN, loss_ratio_low=NAN)},
        says=[
            "Splitting one worker's 3.48 s among four (b = 128) saves 2.61 s and adds "
            "perhaps 382 ms, for no single cause. This"
        ],
    ),
    Case("loading is the cause", edits=_cause("loading"), says=["adds 382 ms, mostly loading."]),
    Case("DDP is the cause", edits=_cause("overhead"), says=["mostly DDP's own work."]),
    Case(
        "sharing is the cause",
        edits=_cause("contention"),
        says=["mostly contention for shared devices."],
    ),
    Case(
        "slowing each other down with a device each",
        edits=_cause("contention") | {"scaling": where(oversubscribed=False)},
        says=["mostly contention."],
    ),
    Case(
        "no arms",
        lab={"direct": False},
        says=["among four (b = 128) saves 2.61 s and adds 382 ms. This is"],
        never=["Why: each", "mostly", "single cause"],
    ),
    Case(
        "strong worse",
        edits=_strong(0.5),
        says=["strong (B fixed) is worse at every B.", "0.500× worse"],
        never=["is better", "no different", "Where it is better"],
    ),
    Case(
        "strong better",
        edits=_strong(9.0),
        says=["is better at every B.", "Where it is better", "9.00× better"],
        never=["worse", "no different", "undecided"],
    ),
    Case(
        "strong as weak in three",
        edits=_strong(2.78),
        says=[
            "strong (B fixed): better in three of six cells.",
            "paid N times as often. In three cells its speed-up is not measurably different. "
            "Where it",
            "2.78× open",
        ],
    ),
    Case(
        "strong worse in some",
        edits={
            "scaling": both(
                where({"kind": "strong", "workers": 2}, **around("speedup_ratio", 0.5, 0)),
                where({"kind": "strong", "workers": 4}, **around("speedup_ratio", 2.78, 0)),
            )
        },
        says=["strong (B fixed): worse in three of six cells."],
    ),
    Case(
        "strong both",
        edits={
            "scaling": both(
                where({"kind": "strong", "workers": 2}, **around("speedup_ratio", 0.5, 0)),
                where({"kind": "strong", "workers": 4}, **around("speedup_ratio", 9.0, 0)),
            )
        },
        says=["strong (B fixed): worse in three of six cells and better in three."],
    ),
    Case(
        "strong worse in some and timed too few times in others",
        edits={
            "scaling": both(
                where(STRONG, **around("speedup_ratio", 0.5, 0)),
                where(STRONG | {"workers": 2}, speedup_ratio_low=NAN, speedup_ratio_high=NAN),
            )
        },
        says=[
            "strong (B fixed): worse in three of six cells. Each",
            "In three cells its speed-up is undecided for want of launches.",
        ],
    ),
    Case(
        "strong worse in all but one",
        edits={
            "scaling": both(
                where(STRONG, **around("speedup_ratio", 0.5, 0)),
                where(
                    STRONG | {"workers": 2, "global_batch": 128}, **around("speedup_ratio", 1.667)
                ),
            )
        },
        says=[
            "strong (B fixed): worse in five of six cells. Each",
            "At N = 2, B = 128 its speed-up is not measurably different.",
        ],
    ),
    Case(
        "strong as weak",
        edits={
            "scaling": both(
                where({"kind": "strong", "workers": 2}, **around("speedup_ratio", 1.667)),
                where({"kind": "strong", "workers": 4}, **around("speedup_ratio", 2.778)),
            )
        },
        says=["strong (B fixed) is not measurably different."],
    ),
    Case("no strong runs", edits={"scaling": only(kind="weak")}, says=["strong was not measured"]),
    Case(
        "oversubscribed",
        says=["With N = 4 there were more workers than devices or cores:", "b 1 32 32"],
    ),
    Case(
        "a device each",
        edits={"scaling": where(oversubscribed=False)},
        never=["there were more", "share devices"],
    ),
    Case(
        "one launch",
        edits={"scaling": where(PACED, base_epoch_s=2.0)},
        says=[
            "Each time is the median of 5 repeats in one launch, and brackets",
            "An epoch with everything included and its speed-up over one worker by both",
        ],
        never=["neighbouring", "of the medians"],
    ),
    Case(
        "launches",
        edits={"scaling": where(launches=5, launch_spread_frac=0.125)},
        says=[
            "Each time is the median of 5 launches, in processes of their own, and brackets",
            "Launches of one cell lie up to 12.5% apart.",
            "the tables have the quotient of the medians beside it.",
            "An epoch with everything included (medians of 5 launches) and its speed-up over one "
            "worker by both kinds of scaling, with B fixed at this b. 2 32",
            "Every cell of both kinds of scaling. b 1",
            "By the medians splitting one",
        ],
        never=["repeats in one launch", "neighbouring"],
    ),
    *(
        Case(
            f"launches that lie farthest apart in a cell of {kind} scaling",
            edits={
                "scaling": both(
                    where(launches=5, launch_spread_frac=0.125),
                    where({"kind": kind, "workers": 2}, launch_spread_frac=0.25),
                )
            },
            says=["Launches of one cell lie up to 25.0% apart."],
        )
        for kind in ("weak", "strong")
    ),
    Case(
        "launches whose medians have another ratio than neighbours",
        edits={"scaling": both(where(launches=5), where(PACED, base_epoch_s=2.0, launches=7))},
        says=[
            "(medians of 5 to 7 launches) and its speed-up over one worker by both kinds of "
            "scaling, with B fixed at this b. A paired speed-up is the median of the ratios of "
            "neighbouring launches, and so not that of the two medians: the machine's pace "
            "drifts. 2 32",
            "Every cell of both kinds of scaling. A paired speed-up is the median",
            "By the medians splitting one worker's 3.48 s among four (b = 128) saves 2.61 s and "
            "adds 382 ms, mostly waiting for communication: 1.25 s are left. This is",
            "By the medians four would come to 1.60×; launches side by side are compared, since "
            "the "
            "machine's pace drifts.",
        ],
    ),
    Case(
        "one timed repeat",
        edits={"scaling": where(repeats=1)},
        says=["Each time is that of one repeat in one launch, which gives no interval."],
        never=["brackets hold"],
    ),
    Case(
        "cells without a time",
        edits={"scaling": both(where({"workers": 4}, status="out_of_memory", speedup_ratio=NAN))},
        says=["At N = 4 four cells have no time: their outcome is out of memory."],
    ),
    Case("nobody looks again", never=["looks at most", "Pocock", "launched again"]),
    Case(
        "decided by further launches but for one, when the budget was spent",
        edits=_looks(),
        says=[
            "After six launches four of ten speed-ups were open: not shown to be above or below "
            "1. Their bases, and all that is compared with them, were launched again, round by "
            "round, up to 24 launches each and within 3 min. After 27 more launches the time was "
            "used up; one is open. There are three looks at most; with 97.9% at each all of them "
            "together hold 95%"
        ],
    ),
    Case(
        "none is decided at the last look",
        edits=_looks(opened=1, decided=0, again=12, looks_ended="launches"),
        says=[
            "one of ten speed-ups was open: not shown to be above or below 1. Its base, and all "
            "that is compared with it, was launched again",
            "After 12 more launches, the last look, one is open.",
        ],
    ),
    Case(
        "all are decided",
        edits=_looks(opened=2, decided=2, again=1, looks_ended="decided"),
        says=["After one more launch none is open. There are"],
    ),
    Case(
        "a launch of the base opens one again",
        edits=_looks(opened=3, decided=1, looks_ended="decided"),
        says=["After 27 more launches two are open. There are"],
    ),
    Case(
        "the further launches of a base open a speed-up",
        edits=_looks(reopened=1),
        says=["two are open, one of which had seemed decided before."],
    ),
    Case(
        "the further launches of bases open speed-ups",
        edits=_looks(reopened=2),
        says=["three are open, two of which had seemed decided before."],
    ),
    Case(
        "nothing was open",
        edits=_looks(opened=0, decided=0, again=0, looks_ended="decided"),
        says=[
            "After six launches none of ten speed-ups were open: not shown to be above or below "
            "1. There are"
        ],
        never=["launched again"],
    ),
    Case(
        "the looks are yet to come",
        edits=_looks(opened=3, decided=0, again=0, looks_ended=None),
        says=[
            "three of ten speed-ups were open: not shown to be above or below 1. What is open is "
            "yet to be"
        ],
    ),
    Case(
        "launches, of a look",
        edits=_looks() | {"scaling": where(launches=6)},
        says=["Student's t, or of seven launches and more two of them."],
    ),
]


test_what_q2_says = says("Q2", CASES)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((1.426, 1.0042, 1.809), "1.43× (1.004 to 1.81)"),
        ((1.004, None, None), "1.004×"),
        ((0.9, 0.8, 0.99996), "0.900× (0.800 to 0.99996)"),
        ((1.0, 0.9, 1.1), "1.00× (0.90 to 1.10)"),
        ((1.3, 1.0, 1.6), "1.30× (1.00 to 1.60)"),
        ((1.0, 1.0, 1.0), "1.00×"),
        ((1.0000000001, None, None), "1.000000×"),  # six decimals at the most
        ((1234.5, 1.004, 2345.0), "1 234× (1.004 to 2 345)"),
        ((None, None, None), "withheld"),
    ],
)
def test_no_ratio_but_one_prints_as_one(numbers, text) -> None:
    ratio = Value(
        value=numbers[0],
        unit="ratio",
        low=numbers[1],
        high=numbers[2],
        runs=["r"],
        status="withheld",
    )
    assert plain(told_from_one(ratio)) == text


def _tables(**columns: Any) -> list[AnswerTable]:
    """The table of cells and that of every cell."""
    edits = {"scaling": both(where(**columns), where(PACED, base_epoch_s=3.0, epoch_s=2.0))}
    cells, _, every = questions()["Q2"](Case("", edits=edits).inputs).tables
    return [cells, every]


def test_of_several_launches_tables_have_the_ratio_of_their_medians_too() -> None:
    for table in _tables(launches=5):
        titles = {column.key: column.title for column in table.columns}
        assert titles["of_medians_ratio"] == "$T_1/T_N$"
        assert titles["speedup_ratio"].startswith("Paired speed-up")
        row = next(row for row in table.rows if row["epoch_s"].value == 2.0)
        of_medians, by_launch = row["of_medians_ratio"], row["speedup_ratio"]
        assert (of_medians.value, of_medians.low, of_medians.unit) == (1.5, None, "ratio")
        assert by_launch.value == pytest.approx(1 / 0.36)
        assert of_medians.runs == by_launch.runs != []


def test_of_one_launch_tables_have_one_speedup() -> None:
    for table in _tables(launches=1):
        titles = [column.title for column in table.columns]
        assert "Launches" in titles
        assert [title for title in titles if "$T_1/T_N$" in title or "Paired" in title] == []


def test_a_cell_without_a_time_has_no_ratio_of_medians() -> None:
    edit = where(PACED, status="out_of_memory", epoch_s=NAN, speedup_ratio=NAN)
    edits = {"scaling": both(where(launches=5), edit)}
    cells = questions()["Q2"](Case("", edits=edits).inputs).tables[0]
    lacking = [row["of_medians_ratio"] for row in cells.rows if row["epoch_s"].value is None]
    assert [(one.value, one.status) for one in lacking] == [(None, "out_of_memory")]
