"""Q2: what it says of speed-up and of the other kind of scaling follows the measured cells."""

from typing import Any

import pytest

from cases import Case, Edit, around, both, looks, only, plain, says, where
from dpscale.reporting.answer import AnswerTable, Value
from dpscale.studies import questions
from dpscale.studies.scaling.answers.speedup import told_from_one

NAN = float("nan")
FOUR = {"kind": "weak", "workers": 4}
STRONG = {"kind": "strong", "workers": [2, 4]}
PACED = {"kind": "weak", "workers": 4, "per_worker_batch": 128}


def _strong(ratio: float) -> dict[str, Edit]:
    return {"scaling": where(STRONG, **around("speedup_ratio", ratio, 0))}


def _cause(name: str | None) -> dict[str, Edit]:
    """One part of what is added is more than all others together, by its interval, or none is."""
    parts = ("loading", "exposed", "overhead", "contention")
    leads = {f"{one}_lead_s_low": 0.1 if one == name else -0.1 for one in parts}
    return {"speedup_losses": where(**leads)}


def _faster(*cells: dict[str, object]) -> dict[str, Edit]:
    """Strong scaling is faster than one worker in these cells alone."""
    edits = [where(STRONG | cell, **around("speedup_ratio", 1.3)) for cell in cells]
    return {"scaling": both(where(STRONG, **around("speedup_ratio", 0.5)), *edits)}


CASES = [
    Case(
        "two faster",
        # N = 4, b = 128: T_1 = 1.25 * 2.78125 s, a quarter of it 0.869 s; T_4 = 0.36 T_1.
        says=[
            "Two workers are faster than one at every b, at best 1.67× (b = 32, one-worker step "
            "20.5 ms); so are four, sharing devices (2.78×, b = 128). Of one worker's 3.48 s four "
            "save 2.61 s and add 382 ms (214 ms waiting, 76.5 ms loading). This is weak scaling; "
            "strong is",
            "In short: Weak scaling: at best 1.67× with two workers and 2.78× with four, sharing "
            "devices; strong is worse everywhere.",
            # 0.11 T_1 is 20% loading, and of the rest 20% contention, 10% overhead, 70% exposed.
            "contention (workers slow each other down). At N = 4, b = 128 it is 382 ms, of it 214 "
            "ms waiting and 76.5 ms loading; at N = 2, b = 32 641 ms, of it 359 ms waiting and 128 "
            "ms loading. A further table has all parts. The",
            "With b fixed four workers come to 2.78×, sharing devices.",
        ],
        never=["A larger b makes fewer", "told", "(Q3.1: ", " ms in all launches"],
    ),
    Case(
        "launches that timed all parts were slower than the others",
        edits={"speedup_losses": where(**around("parts_s", 0.5))},
        says=[
            "add 382 ms (Q3.1: 214 ms waiting, 76.5 ms loading). This",
            "it is 500 ms, of it 214 ms waiting and 76.5 ms loading (382 ms in all launches); at",
        ],
    ),
    Case(
        "one part is measurably above zero",
        edits={"speedup_losses": where(loading_s_low=-1.0, overhead_s_low=-1.0, contention_s=NAN)},
        says=["add 382 ms (214 ms waiting). This", "382 ms, of it 214 ms waiting; at N = 2"],
    ),
    Case(
        "no part is measurably above zero",
        edits={
            "speedup_losses": where(
                **{f"{one}_s_low": -1.0 for one in ("loading", "exposed", "overhead", "contention")}
            )
        },
        says=["save 2.61 s and add 382 ms. This", "down). A further table has all parts."],
    ),
    *(
        Case(
            f"undecided at b = 32 with {numbers} workers",
            edits={
                "scaling": where(
                    {"kind": "weak", "workers": numbers, "per_worker_batch": 32},
                    **around("speedup_ratio", 1.1, 0.5),
                )
            },
            says=[f"{words})."],
        )
        for numbers, words in (
            (
                [2, 4],
                "Two workers are faster than one at b = 128 and 512, at best 1.67× (b = 128, "
                "one-worker step 44.5 ms); so are four, sharing devices (2.78×",
            ),
            (
                [2],
                "Two workers are faster than one at b = 128 and 512, at best 1.67× (b = 128, "
                "one-worker step 44.5 ms); four, sharing devices, faster at every b (2.78×",
            ),
            (
                [4],
                "(b = 32, one-worker step 20.5 ms); four, sharing devices, faster at b = 128 and "
                "512 (2.78×, b = 128",
            ),
        )
    ),
    Case(
        "one b",
        edits={
            "scaling": both(
                only(kind="weak", per_worker_batch=32),
                where({"workers": 4}, **around("speedup_ratio", 0.5)),
            )
        },
        says=[
            "Two workers are faster than one, at best 1.67× (b = 32, one-worker step 20.5 ms); "
            "four, sharing devices, slower (0.500×). Of one"
        ],
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
            "Two workers are faster than one at some b, at best 1.67× (b = 512, one-worker step "
            "140 ms), slower at b = 32 and 128; so are four, sharing devices (2.78×). Of one",
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
            "Two workers are slower than one at every b, at best 0.500× (b = 32); four, "
            "sharing devices, at no b measurably faster (1.00×). Of one"
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
                **around("over_fewest_ratio", 1, 0.1),
            )
        },
        says=[
            "Two workers are not measurably faster than one over all b, at best 1.30× (b = 32); "
            "neither are four, sharing devices (1.30×), not measurably different from two. Of one",
            "In short: Weak scaling: at best 1.30× with two workers, no measurable gain",
        ],
    ),
    *(
        Case(
            f"four gain no more than two, {name}",
            edits={
                "scaling": both(
                    where(
                        {"kind": "weak", "workers": [2, 4]},
                        **around("speedup_ratio", 1.6, 0.05),
                        **around("over_fewest_ratio", 1, 0.1),
                    ),
                    where({"kind": "weak", "workers": sharing}, oversubscribed=True),
                )
            },
            says=[
                f"Two workers{share} are faster than one at every b, at best 1.60× (b = "
                "32, one-worker step 20.5 ms); so are four, sharing devices (1.60×), not "
                "measurably different from two. Of one"
            ],
            never=[] if sharing == [4] else [" possible"],
        )
        for name, sharing, share in (
            ("which have a device each", [4], ""),
            ("which share devices too", [2, 4], ", sharing devices,"),
        )
    ),
    Case(
        "the most gain no more, and not measurably",
        edits={
            "scaling": where(
                {"kind": "weak", "workers": 4},
                **around("speedup_ratio", 1.6, 0.7),
                **around("over_fewest_ratio", 0.96, 0.1),
            )
        },
        says=[
            "Two workers are faster than one at every b, at best 1.67× (b = 32, one-worker step "
            "20.5 ms); four, sharing devices, at no b measurably faster (1.60×), not measurably "
            "less than two. Of one",
            "In short: Weak scaling: at best 1.67× with two workers and 1.60× with four, no "
            "measurable gain; strong is worse in three of six cells.",
        ],
    ),
    Case(
        "the most gain no more, not measurably but at one b",
        edits={
            "scaling": both(
                where(FOUR, **around("speedup_ratio", 1.6, 0.7)),
                where(FOUR | {"per_worker_batch": 128}, **around("speedup_ratio", 1.5, 0.7)),
                where({"workers": 4}, **around("over_fewest_ratio", 0.96, 0.1)),
                where(FOUR | {"per_worker_batch": 128}, **around("over_fewest_ratio", 0.9)),
            )
        },
        says=["devices, at no b measurably faster (1.60×), at b = 128 slower than two. Of one"],
    ),
    Case(
        "the most gain less at the same b, launch by launch, though intervals beside one overlap",
        edits={
            "scaling": both(
                where(
                    FOUR, **around("speedup_ratio", 1.3, 0.1), **around("over_fewest_ratio", 1, 0.1)
                ),
                where(
                    FOUR | {"per_worker_batch": 32},
                    **around("speedup_ratio", 1.62, 0.1),
                    **around("over_fewest_ratio", 0.9),
                ),
            )
        },
        says=["; so are four, sharing devices (1.62×), slower than two. Of one"],
    ),
    Case(
        "an interval that ends but just above one",
        edits={
            "scaling": where(launches=5),
            "speedup_lesson": where({"workers": 4}, best_ratio=1.3, best_ratio_low=1.0042),
        },
        says=["allow for it two reach 1.67× (1.61 to 1.72) and four 1.30× (1.004 to 2.87)."],
    ),
    Case(
        "faster by less than is rounded off",
        edits={
            "speedup_lesson": where(
                {"workers": 4}, best_ratio=1.004, best_ratio_low=1.002, best_ratio_high=1.006
            )
        },
        says=[
            "; so are four, sharing devices (1.004×, b = 128). At b = 32 two save 3.20 s and",
            "at best 1.67× with two workers and 1.004× with four",
            "With b fixed four workers come to 1.004×, sharing devices.",
        ],
        never=["1.00× as"],
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
            "In short: Weak scaling: at best 0.667× with two workers and 0.444× with four, "
            "sharing devices;",
            "Two workers are slower than one at every b, at best 0.667× (b = 32); so are "
            "four, sharing devices (0.444×), slower than two. Of one worker's 6.41 s two "
            "save 3.20 s and add 6.41 s, 3.59 s of it waiting. This",
        ],
    ),
    Case(
        "two slower, and four not slower than two at every b",
        lab={"two_worker_factor": 1.5},
        edits={
            "scaling": where(
                {"workers": 4, "per_worker_batch": 512}, **around("over_fewest_ratio", 1, 0.1)
            )
        },
        says=["sharing devices (0.444×), slower than two. Of one"],
    ),
    Case(
        "four faster than one at one b, slower at one and open at one",
        edits={
            "scaling": both(
                where(
                    {"kind": "weak", "workers": 4, "per_worker_batch": 32},
                    **around("speedup_ratio", 0.9),
                ),
                where(
                    {"kind": "weak", "workers": 4, "per_worker_batch": 128},
                    **around("speedup_ratio", 1.0),
                ),
                where({"kind": "weak", "workers": 4}, **around("over_fewest_ratio", 0.6)),
                where({"kind": "strong", "workers": [2, 4]}, **around("speedup_ratio", 0.1)),
                where(
                    {"kind": "weak", "workers": 4, "per_worker_batch": 512},
                    **around("speedup_ratio", 1.3),
                ),
            )
        },
        says=[
            "Two workers are faster than one at every b, at best 1.67× (b = 32, one-worker step "
            "20.5 ms); four, sharing devices, faster at some b (1.30×, b = 512), slower at b = "
            "32, and slower than two. At b",
            "Launch by launch four workers are measurably slower than two: 0.600× (0.594 to 0.606) "
            "at b = 32, ",
        ],
    ),
    Case(
        "one repeat",
        edits={"scaling": where(speedup_ratio_low=NAN, speedup_ratio_high=NAN)},
        says=[
            "Two workers are not comparable with one, timed too few times, at best 1.67× (b = 32); "
            "so are four, sharing devices (2.78×, b = 128). Of one",
            "strong is undecided for want of launches.",
            " undecided 1 2 128",
        ],
        never=["are faster", "is faster", "measurably faster"],
    ),
    Case(
        "more is saved than an equal share",
        edits={"speedup_losses": where(**around("added_s", -0.2))},
        says=[
            "Of one worker's 3.48 s four save more than the 2.61 s that equal shares explain. This"
        ],
        never=["and add "],
    ),
    Case(
        "nothing measurable is added",
        edits={"speedup_losses": where(added_s_low=-0.1)},
        says=["Of one worker's 3.48 s four save 2.61 s and add no measurable time. This"],
    ),
    Case(
        "what is added has no interval",
        edits={"speedup_losses": where(added_s_low=NAN, added_s_high=NAN)},
        says=["Of one worker's 3.48 s four save 2.61 s and add perhaps 382 ms. This"],
    ),
    Case(
        "waiting is the cause", edits=_cause("exposed"), says=["add 382 ms, 214 ms of it waiting."]
    ),
    Case(
        "waiting is the cause, and other parts are below zero",
        edits={
            "speedup_losses": both(
                _cause("exposed")["speedup_losses"], where(**around("exposed_s", 0.4))
            )
        },
        says=["add 382 ms, over half of it waiting."],
    ),
    Case(
        "loading is the cause",
        edits=_cause("loading"),
        says=["add 382 ms, over half of it loading."],
    ),
    Case("DDP is the cause", edits=_cause("overhead"), says=["over half of it overhead."]),
    Case("sharing is the cause", edits=_cause("contention"), says=["over half of it contention."]),
    Case(
        "waiting is the cause in the launches that timed every part, less than all",
        edits={"speedup_losses": both(_cause("exposed")["speedup_losses"], where(parts_s=0.3))},
        says=["add 382 ms (Q3.1: "],
        never=["over half of it"],
    ),
    Case(
        "no arms",
        lab={"direct": False},
        says=["3.48 s four save 2.61 s and add 382 ms. This is"],
        never=["Why: each", "over half", "382 ms ("],
    ),
    Case(
        "strong worse",
        edits=_strong(0.5),
        says=[
            "strong is worse everywhere.",
            "0.500× worse",
            "as often. It is nowhere measurably faster than one worker. With",
        ],
        never=["is better", "no different", "Where it is better"],
    ),
    Case(
        "strong better",
        edits=_strong(9.0),
        says=[
            "is better everywhere.",
            "It is faster than one worker in all six cells. Where it is better",
            "9.00× better",
        ],
        never=["worse", "no different", "undecided"],
    ),
    Case(
        "strong as weak in three",
        edits=_strong(2.78),
        says=[
            "strong is better in three of six cells.",
            "paid N times as often. In three cells its speed-up is not measurably different. It is "
            "faster than one worker in all six cells. Where it",
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
        says=["strong is worse in three of six cells."],
    ),
    *(
        Case(
            f"strong is faster than one worker {words}",
            edits=_faster(*cells),
            says=[f" as often. It is faster than one worker {words}. With N = 4"],
        )
        for words, cells in (
            (
                "only at N = 2, B = 128 with 1.30× (1.29 to 1.31)",
                [{"workers": 2, "global_batch": 128}],
            ),
            (
                "only at N = 4, B = 32 with 1.30× (1.29 to 1.31) and at N = 2, B = 128 with 1.30× "
                "(1.29 to 1.31)",
                [{"workers": 2, "global_batch": 128}, {"workers": 4, "global_batch": 32}],
            ),
            ("in three of six cells", [{"workers": 2}]),
        )
    ),
    Case(
        "strong both",
        edits={
            "scaling": both(
                where({"kind": "strong", "workers": 2}, **around("speedup_ratio", 0.5, 0)),
                where({"kind": "strong", "workers": 4}, **around("speedup_ratio", 9.0, 0)),
            )
        },
        says=["strong is worse in three of six cells, better in three."],
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
            "strong is worse in three of six cells. Each",
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
            "strong is worse in five of six cells. Each",
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
        says=["strong is not measurably different."],
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
        never=["Read the paired column", "of the medians"],
    ),
    Case(
        "launches",
        edits={"scaling": where(launches=5, launch_spread_frac=0.125)},
        says=[
            "Each time is the median of 5 launches, in processes of their own, and brackets",
            "Launches of one cell lie up to 12.5% apart.",
            "An epoch with everything included (medians of 5 launches) and its speed-up over one "
            "worker by both kinds of scaling, with B fixed at this b. 2 32",
            "Every cell of both kinds of scaling. b 1",
        ],
        never=["repeats in one launch", "Read the paired column", "instead of 95%"],
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
            "scaling, with B fixed at this b. Read the paired column: the machine's pace drifts "
            "between launches, so the quotient of the two medians is for checking only. 2 32",
            "Every cell of both kinds of scaling. Read the paired column",
        ],
        never=["instead of 95%"],
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
    Case(
        "nobody looks again", never=["are looked at", "Pocock", "launched again", "instead of 95%"]
    ),
    Case(
        "decided by further launches but for one, when the budget was spent",
        edits=looks(),
        says=[
            "Four of ten speed-ups were undecided after six launches: not shown to be above or "
            "below 1. Their bases, and all that is compared with them, were launched again, up to "
            "24 times in all and within 3 min. 27 more launches used up the time and left one "
            "undecided. The data are looked at up to three times; intervals of 97.9% at each look "
            "make 95% of all together"
        ],
    ),
    Case(
        "of parts too, some of which the further launches decide",
        edits=looks({"compared": 18, "opened": 7, "decided": 5}, decided=4),
        says=[
            "Four of ten speed-ups and seven of 18 parts of an epoch (Q3.1) were undecided after "
            "six launches: a speed-up not shown to be above or below 1, a part neither above or "
            "below zero nor within 5.00% of the epoch. Their bases,",
            "27 more launches used up the time and left no speed-up and two parts undecided. The",
        ],
    ),
    Case(
        "of parts alone",
        edits=looks(
            {"opened": 1, "decided": 1, "compared": 18}, opened=0, decided=0, looks_ended="decided"
        ),
        says=[
            "One of 18 parts of an epoch (Q3.1) was undecided after six launches: a speed-up not "
            "shown",
            "Its base, and all that is compared with it, was",
            "27 more launches left none undecided. The",
        ],
    ),
    Case(
        "one of each",
        edits=looks({}, compared=1, opened=1, decided=1, looks_ended="decided"),
        says=["One of one speed-up and one of one part of an epoch were undecided after six"],
    ),
    Case(
        "neither speed-ups nor parts are open",
        edits=looks(
            {"opened": 0, "decided": 0, "compared": 18}, opened=0, decided=0, looks_ended="decided"
        ),
        says=["None of ten speed-ups and 18 parts of an epoch (Q3.1) were undecided"],
        never=["launched again"],
    ),
    Case(
        "none is decided at the last look",
        edits=looks(opened=1, decided=0, again=12, looks_ended="launches"),
        says=[
            "One of ten speed-ups was undecided after six launches: not shown to be above or below "
            "1. Its base, and all that is compared with it, was launched again",
            "12 more launches, up to the last look, left one undecided.",
        ],
    ),
    Case(
        "all are decided",
        edits=looks(opened=2, decided=2, again=1, looks_ended="decided"),
        says=["One more launch left none undecided. The data"],
    ),
    Case(
        "a launch of the base opens one again",
        edits=looks(opened=3, decided=1, looks_ended="decided"),
        says=["27 more launches left two undecided. The data"],
    ),
    Case(
        "the further launches of a base open a speed-up",
        edits=looks(reopened=1),
        says=["left two undecided; one had been decided at an earlier look."],
    ),
    Case(
        "the further launches of bases open speed-ups",
        edits=looks(reopened=2),
        says=["left three undecided; two had been decided at an earlier look."],
    ),
    Case(
        "nothing was open",
        edits=looks(opened=0, decided=0, again=0, looks_ended="decided"),
        says=[
            "None of ten speed-ups were undecided after six launches: not shown to be above or "
            "below 1. The data"
        ],
        never=["launched again"],
    ),
    Case(
        "the looks are yet to come",
        edits=looks(opened=3, decided=0, again=0, looks_ended=None),
        says=[
            "Three of ten speed-ups were undecided after six launches: not shown to be above or "
            "below 1. What is undecided is yet to be"
        ],
    ),
    Case(
        "launches, of a look",
        edits=looks() | {"scaling": where(launches=6)},
        says=[
            "Student's t, from seven launches on two order statistics, and of differences within "
            "launches Wilcoxon's signed ranks.",
            "with B fixed at this b. Intervals are 97.9% instead of 95%. 2",
        ],
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
