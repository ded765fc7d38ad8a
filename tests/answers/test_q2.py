"""Q2: what it says of speed-up and of the other kind of scaling follows the measured cells."""

import pytest

from cases import Case, Edit, around, both, check, only, where

NAN = float("nan")
STRONG = {"kind": "strong", "workers": [2, 4]}


def _strong(ratio: float) -> dict[str, Edit]:
    return {"scaling": where(STRONG, **around("speedup_ratio", ratio, 0))}


CASES = [
    Case("two faster", says=["the speed-up of an epoch is 1.67× at N = 2 and", "faster in all six",
                             "Four workers are faster than one at b = 512", " faster 2 128"]),
    Case("two equal", lab={"two_worker_factor": 1.0},
         says=["the speed-up of an epoch is 1.00× at N = 2", "not told apart from one in all six",
               " not told apart 2 128", "Four workers are not told apart from one at"]),
    Case("two slower", lab={"two_worker_factor": 1.5},
         # T_1 = 5.125 s: half of it saved by two workers; T_2 = 1.5 T_1 adds T_1
         says=["is 0.667× at N = 2", "slower in all six cells", " slower 2 128",
               "Four workers are slower than one at",
               "2.56 s saved of 5.13 s and 5.12 s added at N = 2, b = 32"]),
    Case("one repeat", edits={"scaling": where(speedup_ratio_low=NAN, speedup_ratio_high=NAN)},
         says=["undecided for want of repeats in all six cells", " undecided 2 128 256",
               "Four workers are not comparable with one for want",
               "strong scaling is undecided in all six cells", " undecided 2 128"],
         never=["faster"]),
    Case("strong worse", edits=_strong(0.5),
         says=["strong scaling is worse in all six cells", "is thus paid N times as often"],
         never=["scaling is better", "Where it is better"]),
    Case("strong better", edits=_strong(9.0),
         says=["strong scaling is better in all six cells", "Where it is better",
               "9.00× (9.00 to 9.00) better"],
         never=["scaling is worse", "undecided"]),
    Case("strong as weak in three", edits=_strong(2.78),
         says=["strong scaling is better in three of six cells",
               "2.78× (2.78 to 2.78) not told apart"]),
    Case("no strong runs", edits={"scaling": only(kind="weak")},
         says=["strong scaling was not measured"]),
    Case("oversubscribed", says=["The runs with N = 4 had more workers than"]),
    Case("a device each", edits={"scaling": where(oversubscribed=False)},
         never=["(oversubscribed)"]),
    Case("one launch", says=["Each time is the median of 5 repeats in one launch, and brackets"]),
    Case("launches", edits={"scaling": where(launches=5, launch_spread_frac=0.125)},
         says=["Each time is the median of 5 launches, in processes of their own, and brackets",
               "Launches of one cell lie up to 12.5% apart."], never=["repeats in one launch"]),
    Case("one timed repeat", edits={"scaling": where(repeats=1)},
         says=["Each time is that of one repeat in one launch, which gives no interval."],
         never=["brackets hold"]),
    Case("cells without a time",
         edits={"scaling": both(where({"workers": 4}, status="out_of_memory", speedup_ratio=NAN))},
         says=[" no time 4 128", " the base 1 128",
               "At N = 4 four cells have no time: their outcome is out of memory."]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_q2_says(case: Case) -> None:
    check("Q2", case)
