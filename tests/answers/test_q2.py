"""Q2: what it says of speed-up and of the other kind of scaling follows the measured cells."""

import pandas as pd

from cases import Case, Edit, around, both, only, says, where

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


def _strong(ratio: float) -> dict[str, Edit]:
    return {"scaling": where(STRONG, **around("speedup_ratio", ratio, 0))}


def _looks(**changes: object) -> dict[str, Edit]:
    row = pd.DataFrame([LOOKS | changes])
    return {"speedup_looks": lambda rows: row.reindex(columns=list(rows)).astype(dict(rows.dtypes))}


CASES = [
    Case(
        "two faster",
        says=[
            "Several workers are faster than one at every b: speed-up 1.67× with two and 2.78× "
            "with four. Each computes 1/N of an epoch; what that saves",
            "two workers are faster than one (speed-up 1.67× at b = 32",
            "With b fixed six of six cells are told faster than one worker, with B fixed five",
        ],
        never=["A larger b makes fewer"],
    ),
    Case(
        "faster at large b alone",
        edits={
            "scaling": both(
                where(
                    {"kind": "weak", "workers": [2, 4], "per_worker_batch": [32, 128]},
                    **around("speedup_ratio", 0.5),
                )
            )
        },
        says=[
            "Only at b = 512 are several workers faster than one: speed-up 1.67× (1.63 to 1.71) "
            "with two and 2.78× (2.71 to 2.84) with four. A larger b makes fewer iterations, "
            "and so fewer exchanges (Q3.1). Per iteration this"
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
            "Several workers are at no b told faster than one: speed-up 0.500× with two and "
            "1.00× with four."
        ],
    ),
    Case(
        "two equal",
        lab={"two_worker_factor": 1.0},
        says=[
            "Several workers are at no b told apart from one: speed-up 1.00×",
            "two workers are not told apart from one (speed-up 1.00× at b = 32",
        ],
    ),
    Case(
        "two slower",
        lab={"two_worker_factor": 1.5},
        # T_1 = 5.125 s: half of it saved by two workers; T_2 = 1.5 T_1 adds T_1
        says=[
            "Several workers are slower than one at every b: speed-up 0.667×",
            "two workers are slower than one (speed-up 0.667× at b = 32",
            "2.56 s saved of 5.13 s and 5.12 s added at N = 2, b = 32",
        ],
    ),
    Case(
        "one repeat",
        edits={"scaling": where(speedup_ratio_low=NAN, speedup_ratio_high=NAN)},
        says=[
            "not comparable with one for want of repeats",
            "Too few repeats compare several workers with one: speed-up 1.67×",
            "strong scaling (B fixed) is undecided in all six cells.",
            " undecided 2 128",
        ],
        never=["are faster", "is faster"],
    ),
    Case(
        "strong worse",
        edits=_strong(0.5),
        says=[
            "strong scaling (B fixed) is worse in all six cells.",
            "is thus paid N times as often",
        ],
        never=["is better", "not told apart", "Where it is better"],
    ),
    Case(
        "strong better",
        edits=_strong(9.0),
        says=["is better in all six cells.", "Where it is better", "9.00× (9.00 to 9.00) better"],
        never=["worse in", "not told apart", "undecided"],
    ),
    Case(
        "strong as weak in three",
        edits=_strong(2.78),
        says=[
            "is better in three of six cells and not told apart in three.",
            "2.78× (2.78 to 2.78) not told apart",
        ],
    ),
    Case(
        "no strong runs",
        edits={"scaling": only(kind="weak")},
        says=["strong scaling was not measured"],
    ),
    Case("oversubscribed", says=["The runs with N = 4 had more workers than", "b 1 32 32"]),
    Case(
        "a device each", edits={"scaling": where(oversubscribed=False)}, never=["(oversubscribed)"]
    ),
    Case("one launch", says=["Each time is the median of 5 repeats in one launch, and brackets"]),
    Case(
        "launches",
        edits={"scaling": where(launches=5, launch_spread_frac=0.125)},
        says=[
            "Each time is the median of 5 launches, in processes of their own, and brackets",
            "Launches of one cell lie up to 12.5% apart.",
        ],
        never=["repeats in one launch"],
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
            "After six launches four of ten speed-ups were open, not told from 1. Both cells of "
            "each were launched again, up to 24 launches each and within 3 min: three are decided "
            "by 27 further launches, and one stays open, for the time was spent. There are three "
            "looks at most; an interval is of 97.9% at each, so that all of them together hold 95%"
        ],
    ),
    Case(
        "none is decided at the last look",
        edits=_looks(opened=1, decided=0, again=12, looks_ended="launches"),
        says=[
            "one of ten speed-ups was open, not told from 1. Both cells of it were launched again",
            "none is decided by 12 further launches, and one stays open after the last look.",
        ],
    ),
    Case(
        "all are decided",
        edits=_looks(opened=2, decided=2, again=1, looks_ended="decided"),
        says=["two are decided by one further launch. There are"],
        never=["stays open", "stay open"],
    ),
    Case(
        "a launch of the base opens one again",
        edits=_looks(opened=3, decided=1, looks_ended="decided"),
        says=["one is decided by 27 further launches, and two stay open. There are"],
    ),
    Case(
        "the further launches of a base open a speed-up",
        edits=_looks(reopened=1),
        says=["One speed-up that was not open is so with the further launches of its base. There"],
    ),
    Case(
        "the further launches of bases open speed-ups",
        edits=_looks(reopened=2),
        says=["Two speed-ups that were not open are so with the further launches of their base."],
    ),
    Case(
        "nothing was open",
        edits=_looks(opened=0, decided=0, again=0, looks_ended="decided"),
        says=["After six launches none of ten speed-ups were open, not told from 1. There are"],
        never=["launched again"],
    ),
    Case(
        "the looks are yet to come",
        edits=_looks(opened=3, decided=0, again=0, looks_ended=None),
        says=["three of ten speed-ups were open, not told from 1. What is open is yet to be"],
    ),
    Case(
        "launches, of a look",
        edits=_looks() | {"scaling": where(launches=6)},
        says=["Student's t, or of seven launches and more two of them."],
    ),
]


test_what_q2_says = says("Q2", CASES)
