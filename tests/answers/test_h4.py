"""H4: the losses that it names and what it says against them follow the measured shares."""

import pytest

from builders import on_two_devices
from cases import Case, Edit, around, both, only, plain, questions, says, text_of, where
from dpscale.reporting.inputs import Row
from dpscale.studies.assignment.answers import _soonest, at_pace

NAN = float("nan")
SPLIT = "assignment_split"
DIFFERENCE = "test_accuracy_difference_frac"
ENDS = ("", "_low", "_high")
LOSSES = {
    "load": ("loading", "Against that (not tried): load ahead"),
    "copy": ("the copy to the device", "Against that (not tried): pin memory"),
    "sharing": ("contention between workers", "Against that (not tried): give each worker a core"),
    "stragglers": ("stragglers", "Against that (not tried): give equal devices equal work"),
    "overhead": ("the overhead of DDP", "Twice the batch (b = 256, not 128) is 1.25× as fast but"),
    "exposed": (
        "waiting for communication",
        "Twice the batch (b = 256, not 128) is 1.25× as fast but",
    ),
}


def of_four(part: str, share: float, workers: int = 4, **behind: float) -> Edit:
    """A share of four workers, and how far the parts named are behind the largest one."""
    apart = {f"{one}_behind_frac{end}": by for one, by in behind.items() for end in ENDS}
    return where({"workers": workers}, **around(f"{part}_frac", share), **apart)


def largest(part: str, workers: int = 4) -> Edit:
    return of_four(part, 0.5, workers, **{one: 0.1 for one in LOSSES if one != part})


def best_in_h1(samples_per_s: float) -> Edit:
    """One worker trains fastest with b = 512 in H1, measurably faster than with 128."""
    return both(
        where(
            {"per_worker_batch": 512},
            **around("samples_per_s", samples_per_s),
            **around("rate_to_best_ratio", 1.0, 0.0),
        ),
        where({"per_worker_batch": 128}, **around("rate_to_best_ratio", 0.5)),
    )


def longer_steps(
    step_s: float = 1.0, contention_s: float = 2.0, waits_s: float = 0.4, width: float = 0.01
) -> dict[str, Edit]:
    """Waiting leads here; in Q3.1 contention does, and a step of one worker takes so long."""
    cell = {"workers": 4, "per_worker_batch": 128}
    epoch = around("base_epoch_s", step_s * 10_000 / 128, width)
    return {
        SPLIT: both(largest("exposed"), where({"workers": 4}, exposed_s=0.492)),
        "communication": where(cell, contention_s=contention_s, exposed_s=waits_s, **epoch),
        "split_causes": where(cause="contention"),
    }


CASES = [
    Case(
        "as measured",
        says=[
            "With four workers 51.6% of an epoch is computation, and the largest loss is loading "
            "(19.7%), next waiting for communication (17.1%). Against that (not tried): load "
            "ahead, with more loading processes, or keep the data ready in memory. Here a small",
            "with SGD, which with as many workers loses most to waiting for communication. The",
            "waiting that for communication (exposed). Stragglers are the time of the slowest copy "
            "less the mean of all; Q3.1 counts them as contention.",
            "With four workers the largest loss is loading. Where",
            "Here a small convolutional network with SGD is trained, in Q3.1 a small residual",
            "computation is $T_1/N$, less the copy, waiting",
            "Rest is the epoch less the sum of its parts. With four workers loading exceeds the "
            "next loss, waiting for communication, by 2.56% to 2.61% of the epoch, over five "
            "launches. Loading and",
            " 17.1% (16.9 to 17.3) 0.300%",
            "paired by launch",
        ],
        never=[
            "told",
            "oversubscribed",
            "Without a number",
            "why was not isolated",
            "By H1",
            "A larger batch",
            "In Q3.1 ",
            "uncertain",
            "the lead",
            "zero",
        ],
    ),
    Case(
        "a share that may be as large as the largest",
        edits={SPLIT: where({"workers": 4}, sharing_frac_low=-0.01, sharing_frac_high=0.2)},
        says=[
            "is loading (19.7%); contention between workers (3.98%) may be as large. Against that",
            "With four workers the largest loss is loading; contention between workers may be as "
            "large. Where",
            "In short: With four workers 51.6% of an epoch is computation, and which loss is the "
            "largest is open.",
        ],
        never=[", next "],
    ),
    Case(
        "a rest below zero, and a share that may be as large as the largest",
        edits={
            SPLIT: both(
                where({"workers": 4}, rest_frac=-0.02),
                where({"workers": 4}, sharing_frac_low=-0.01, sharing_frac_high=0.2),
            )
        },
        never=["lead stands"],
    ),
    Case(
        "the largest share has no interval",
        edits={
            SPLIT: where(
                {"workers": 4}, sharing_frac=0.45, sharing_frac_low=NAN, sharing_frac_high=NAN
            )
        },
        says=["is loading (19.7%); contention between workers (45.0%) may be as large. Against"],
        never=[", next "],
    ),
    Case(
        "a rest below zero, less than the lead but not than its lower end",
        edits={SPLIT: where({"workers": 4}, rest_frac=-0.0257, exposed_behind_frac_low=0.0256)},
        says=["a lead within the uncertainty of the shares. Against"],
    ),
    Case(
        "a share below zero",
        edits={SPLIT: of_four("overhead", -0.01)},
        says=[
            "With four workers the largest loss is loading; a part left of zero is negative: the "
            "epoch without it took longer. Where an epoch with loading goes: shares, which with "
            "the rest add up to all of it."
        ],
        never=["a rest left", "uncertain"],
    ),
    *[
        Case(
            f"twice the batch is {pace}, against {part}",
            edits={
                SPLIT: largest(part),
                "assignment_doubled": where(
                    speedup_ratio=ratio, speedup_ratio_low=low, speedup_ratio_high=high
                ),
            },
            says=[
                f"(50.0%), next loading (19.7%). Twice the batch (b = 256, not 128) {does}. Here "
                f"a small"
            ],
            never=["(not tried)"],
        )
        for part in ("exposed", "overhead")
        for pace, ratio, low, high, does in (
            (
                "faster",
                1.4,
                1.3,
                1.5,
                "is 1.40× as fast but costs 0.400 points of accuracy, and faster than two workers "
                "with b = 128 (4.80 s)",
            ),
            ("slower", 0.8, 0.7, 0.9, "is slower (0.800×)"),
            ("alike", 1.1, 0.9, 1.3, "is not measurably faster (1.10×)"),
            ("unsure", 1.1, None, None, "was 1.10× as fast, timed too few times"),
        )
    ],
    *[
        Case(
            f"twice the batch on four is {words or 'not compared'} by the fewer",
            edits={
                SPLIT: largest("exposed"),
                "assignment_doubled": where(
                    fewer_workers=workers, **around("fewer_speedup_ratio", ratio, width)
                ),
            },
            says=[f"is 1.25× as fast but costs 0.400 points of accuracy{words}. Here a"],
        )
        for workers, ratio, width, words in (
            (2, 1.1, 0.01, ", and faster than two workers with b = 128 (4.80 s)"),
            (2, 1.0, 0.01, ", yet not measurably faster than two workers with b = 128 (4.80 s)"),
            (1, 0.9, 0.01, ", yet slower than one worker with b = 128 (8.00 s)"),
            (2, 0.9, float("nan"), ""),
            (None, float("nan"), 0.01, ""),
        )
    ],
    *[
        Case(
            f"twice the batch on four beside one worker's best in H1: {rate}",
            edits={SPLIT: largest("exposed"), "assignment_utilisation": best_in_h1(rate)},
            says=[
                "By H1 (a training, in other launches) one worker with b = 512 takes "
                f"{words} four workers with b = 256 (2.30 s). Compressed",
                f"is 1.25× as fast but costs 0.400 points of accuracy{rival}. Here a",
            ],
        )
        for rate, words, rival in (
            (
                1600.0,
                "6.25 s an epoch, more than",
                ", and faster than two workers with b = 128 (4.80 s)",
            ),
            (
                4340.0,
                "2.30 s an epoch, no measurable difference from",
                ", yet at 2.30 s an epoch not measurably faster than one worker with b = 512 "
                "(2.30 s, H1)",
            ),
            (
                9000.0,
                "1.11 s an epoch, less than",
                ", yet at 2.30 s an epoch slower than one worker with b = 512 (1.11 s, H1)",
            ),
        )
    ],
    *[
        Case(
            f"twice the batch on four beside one worker's best in H1, and {words or 'faster'}",
            edits={
                SPLIT: largest("exposed"),
                "assignment_utilisation": best_in_h1(9000.0),
                "assignment_doubled": where(
                    fewer_workers=2, **around("fewer_speedup_ratio", ratio, 0.01)
                ),
            },
            says=[
                "1.25× as fast but",
                f", yet {words or at}slower than one worker with b = 512 (1.11 s, H1). Here a",
            ],
        )
        for at in ["at 2.30 s an epoch "]
        for ratio, words in (
            (1.1, ""),
            (1.0, "not measurably faster than two workers (4.80 s) and "),
            (0.9, "slower than two workers (4.80 s) and "),
        )
    ],
    Case(
        "one worker's best in H1, without an interval",
        edits={
            SPLIT: largest("exposed"),
            "assignment_utilisation": both(
                where({"per_worker_batch": 512}, rate_to_best_ratio=1.0),
                where(samples_per_s_low=float("nan")),
                where({"per_worker_batch": 128}, **around("rate_to_best_ratio", 0.5)),
            ),
            "assignment_doubled": where(epoch_s_low=float("nan")),
        },
        never=["By H1"],
    ),
    *[
        Case(
            f"twice the batch beside half of the waiting: {ratio}",
            edits={
                SPLIT: largest("exposed"),
                "assignment_doubled": where(**around("speedup_ratio", ratio, 0.05)),
            },
            says=[words],
        )
        for ratio, words in (
            (
                1.6,
                "Half the waiting for communication alone would give 1.33×; twice the batch also "
                "halves, per sample, every other fixed cost of a step. Compressed",
            ),
            (
                1.3,
                "Twice the batch gains about what half as much waiting for communication would, ",
            ),
            (1.1, "Twice the batch gains less than half as much waiting for communication would, "),
        )
    ],
    *[
        Case(
            f"twice the batch, which learns {verdict}",
            edits={
                SPLIT: largest("exposed"),
                "assignment_doubled": where(
                    **around("speedup_ratio", 1.4, 0.05), **around(DIFFERENCE, apart, width)
                ),
            },
            says=[lead, paragraph, "(0.008)"],
            never=["A larger batch", "not compared"],
        )
        for verdict, apart, width, lead, paragraph in (
            (
                "more",
                0.01,
                0.4,
                "as fast and 1.00 points more accurate, and faster than",
                "1.00 percentage points more than that of b = 128 by seed (0.600 to 1.40 points).",
            ),
            (
                "no less",
                -0.002,
                2.0,
                "as fast with no measurable loss of accuracy (up to 0.600 points may hide), and "
                "faster",
                "not measurably different from that of b = 128 by seed (−0.600 to 0.200 points).",
            ),
            (
                "less",
                -0.01,
                0.4,
                "as fast but costs 1.00 points of accuracy, and faster",
                "1.00 percentage points less than that of b = 128 by seed (−1.40 to −0.600 points)",
            ),
        )
    ],
    Case(
        "twice the batch whose training did not end",
        edits={
            SPLIT: largest("exposed"),
            "assignment_doubled": where(
                **around("speedup_ratio", 1.4, 0.05),
                **dict.fromkeys(["test_accuracy_frac", DIFFERENCE, f"{DIFFERENCE}_low"]),
            ),
        },
        says=["as fast (its accuracy not compared), and faster", "Q4.1 has what that can cost"],
        never=["trained with a rate"],
    ),
    Case(
        "twice the batch that was not planned",
        edits={SPLIT: largest("exposed"), "assignment_doubled": only(workers=1)},
        says=[
            "Against that (not tried): take a larger batch",
            "half as many messages an epoch.",
            "In Q3.1 waiting took four workers ",
        ],
    ),
    Case(
        "one worker at another pace",
        edits={SPLIT: where({"workers": 1}, **around("epoch_s", 100.0))},
        says=[
            "One worker's epoch takes 100 s here and 8.01 s in H1, whose trainings evaluate "
            "between epochs, in other launches: why was not isolated. With H1's, computation would "
            "be 0.512% of an epoch with four workers and contention 55.1% (56.0% with stragglers); "
            "the largest loss would be contention between workers. Two and four workers are 20.8× "
            "and 34.7× as fast as one by the epoch here and 1.67× and 2.78× by that of H1; H3 "
            "finds 1.60× and 2.51×."
        ],
    ),
    *(
        Case(
            f"one worker at a pace {other_s} s off",
            edits={SPLIT: where({"workers": 1}, **around("epoch_s", 8.0 + other_s))},
            says=[f"One worker's epoch takes {words} here and 8.01 s in H1, whose"],
            never=["With H1's"],
        )
        for other_s, words in ((-0.5, "7.50 s"), (0.5, "8.50 s"))
    ),
    Case(
        "one worker at nearly H1's pace",
        edits={SPLIT: where({"workers": 1}, **around("epoch_s", 8.3))},
        never=["why was not isolated"],
    ),
    Case(
        "one worker at a pace that changes no lead",
        edits={
            SPLIT: where({"workers": 1}, **around("epoch_s", 10.5)),
            "assignment": where({"workers": 2}, speedup_ratio=float("nan")),
        },
        says=[
            "contention 17.1% (18.0% with stragglers); the largest loss would still be loading. "
            "Two and four workers are",
            "2.78× by that of H1. Loading",
        ],
        never=["H3 finds"],
    ),
    Case(
        "one worker at a pace at which two losses together are more than the largest",
        edits={SPLIT: where({"workers": 1}, **around("epoch_s", 11.04))},
        says=[
            "of an epoch is computation; loading takes 19.7% and workers that slow each other down "
            "4.89%, or 20.1% by H1's pace of one worker: which is more is open. Against the former "
            "load ahead",
            "In short: With four workers 51.6% of an epoch is computation, and it is open whether "
            "loading (19.7%) or workers that slow each other down cost more.",
            "contention 19.2% (20.1% with stragglers); these two together would exceed loading, "
            "the largest single loss.",
        ],
        never=["the largest loss would"],
    ),
    Case(
        "one worker alone, at another pace",
        edits={SPLIT: both(where({"workers": 1}, **around("epoch_s", 100.0)), only(workers=1))},
        says=["why was not isolated."],
        never=["With H1's"],
    ),
    *(
        Case(
            f"Q3.1 loses most to {words}",
            edits={"split_causes": where(cause=cause)},
            says=[f"with SGD, which with as many workers loses most to {words}. The"],
        )
        for cause, words in (
            ("contention", "contention"),
            ("exposed", "waiting for communication"),
            ("overhead", "the overhead of DDP"),
        )
    ),
    Case(
        "Q3.1 loses to several",
        edits={"split_causes": where(cause=None)},
        says=["in Q3.1 a small residual network for 8×8 images with SGD, whose shares differ. The"],
    ),
    Case(
        "Q3.1 without parts",
        edits={"split_causes": only(workers=99)},
        says=["in Q3.1 a small residual network for 8×8 images with SGD, whose shares differ. The"],
    ),
    *(
        Case(
            f"{part} is half",
            edits={SPLIT: largest(part)},
            says=[
                "With four workers 51.6% of an epoch is computation, and the largest loss is "
                f"{words} (50.0%), next {behind}. {remedy}"
            ],
            never=["load ahead"] if part != "load" else ["pin memory"],
        )
        for part, (words, remedy) in LOSSES.items()
        for behind in ["waiting for communication (17.1%)" if part == "load" else "loading (19.7%)"]
    ),
    Case(
        "two alike",
        edits={SPLIT: of_four("exposed", 0.198, load=-0.001, copy=0.1)},
        says=[
            "the largest losses, alike within error, are waiting for communication (19.8%) and "
            "loading (19.7%). Here a small",
            "Against waiting for communication: twice the batch (b = 256, not 128) is 1.25× as "
            "fast but costs 0.400 points of accuracy, and faster than two workers with b = 128 "
            "(4.80 s).",
            "Against loading: load ahead",
            "Compressed gradients were measured in Q3.2, with its network at N = 2: a step with "
            "bf16 is shorter; with fp16 is longer; with PowerSGD shows no measurable difference.",
        ],
    ),
    Case(
        "overlapping shares whose paired difference tells",
        edits={SPLIT: both(of_four("exposed", 0.21, load=0.01), of_four("load", 0.197))},
        says=["the largest loss is waiting for communication (21.0%)"],
        never=["alike"],
    ),
    Case("no copy", edits={SPLIT: where(copy_s=0.0)}, says=["computation is $T_1/N$, waiting"]),
    Case(
        "a rest below zero",
        edits={SPLIT: where({"workers": 4}, rest_frac=-0.02)},
        says=[
            "the sum of its parts. Where it is below zero, the parts together exceed the epoch: "
            "the epoch was timed with loading, all parts but loading and the copy without it. So "
            "the shares are uncertain by as much. With",
            "over five launches. The rest with four workers is smaller than that, so the lead "
            "stands. ",
            "loading; a rest left of zero is negative: the parts together exceed the epoch. Where",
        ],
        never=["within the uncertainty", "a part left"],
    ),
    Case(
        "a rest below zero of fewer workers",
        edits={SPLIT: where({"workers": 2}, rest_frac=-0.2)},
        says=["is smaller than that, so the lead stands. "],
    ),
    Case(
        "a rest below zero, larger than the lead",
        edits={SPLIT: where({"workers": 4}, rest_frac=-0.03, copy_s=0.0)},
        says=[
            "the largest loss is loading (19.7%), next waiting for communication (17.1%), a lead "
            "within the uncertainty of the shares. Against that (not tried): load ahead",
            "all parts but loading without it. So",
            "The rest with four workers is no smaller than that, so the lead is within the "
            "uncertainty. ",
            "With four workers the largest loss is loading, a lead within the uncertainty of the "
            "shares; a rest",
            "In short: With four workers 51.6% of an epoch is computation, and the largest loss is "
            "loading (19.7%), a lead within the uncertainty of the shares.",
        ],
        never=["lead stands"],
    ),
    Case(
        "a rest below zero, larger than the lead of what twice the batch helps against",
        edits={
            SPLIT: both(
                of_four("exposed", 0.21, load=0.01),
                of_four("load", 0.197),
                where({"workers": 4}, rest_frac=-0.03),
            ),
            "assignment_doubled": where(**around(DIFFERENCE, -0.002, 2.0)),
        },
        says=[
            "next loading (19.7%), a lead within the uncertainty of the shares. Twice the batch "
            "(b = 256, not 128) is 1.25× as fast with no measurable loss of accuracy, and faster "
            "than two workers (4.80 s). Here"
        ],
    ),
    Case(
        "a rest above zero, larger than the lead",
        edits={SPLIT: where({"workers": 4}, rest_frac=0.03)},
        says=[
            "(17.1%), a lead within the uncertainty of the shares. Against",
            "The rest with four workers is no smaller than that, so the lead is within the unc",
        ],
        never=["Where it is below zero"],
    ),
    Case(
        "a rest below zero, and another lead by H1's pace",
        edits={
            SPLIT: both(
                where({"workers": 1}, **around("epoch_s", 100.0)),
                where({"workers": 4}, rest_frac=-0.02),
            )
        },
        says=["So the shares are uncertain", "over five launches. One worker's epoch takes"],
        never=["lead stands"],
    ),
    Case(
        "a rest below zero, and two losses together are more by H1's pace",
        edits={
            SPLIT: both(
                where({"workers": 1}, **around("epoch_s", 11.04)),
                where({"workers": 4}, rest_frac=-0.02),
            )
        },
        says=["So the shares are uncertain", "over five launches. One worker's epoch takes"],
        never=["lead stands"],
    ),
    Case(
        "a rest below zero, and the same lead by H1's pace",
        edits={
            SPLIT: both(
                where({"workers": 1}, **around("epoch_s", 10.5)),
                where({"workers": 4}, rest_frac=-0.02),
            )
        },
        says=["so the lead stands. One worker's epoch takes"],
    ),
    Case(
        "a rest below zero, and two alike",
        edits={
            SPLIT: both(
                of_four("exposed", 0.198, load=-0.001, copy=0.1),
                where({"workers": 4}, rest_frac=-0.02),
            )
        },
        says=["So the shares are uncertain by as much. "],
        never=["lead"],
    ),
    Case(
        "two alike have no next",
        edits={SPLIT: of_four("exposed", 0.198, load=-0.001, copy=0.1)},
        never=["exceeds the next"],
    ),
    Case(
        "Q3.1 waits as long with a larger batch",
        edits={
            SPLIT: largest("exposed"),
            "assignment_doubled": only(workers=1),
            "communication": where(exposed_s_high=9.0),
        },
        never=["In Q3.1 waiting took"],
    ),
    Case(
        "Q3.1 has longer steps",
        edits=longer_steps(),
        says=[
            "with SGD, which with as many workers loses most to contention. The",
            "In Q3.1 steps are longer: one worker's takes 1.00 s without loading, here 103 ms with "
            "it (H1). Of an epoch of as many steps (four workers, b = 128) waiting takes 400 ms "
            "there and 492 ms here, contention 2.00 s and 141 ms.",
        ],
    ),
    *(
        Case(
            f"Q3.1: {name}",
            edits=longer_steps(**other),
            says=["with SGD, which with as many workers loses most to contention. The"],
            never=["In Q3.1 steps"],
        )
        for name, other in (
            ("steps as long", {"step_s": 0.1}),
            ("steps of no interval", {"width": float("nan")}),
            ("contention that is no more", {"contention_s": 0.1}),
            ("waits that grow as much", {"waits_s": 9.0}),
            ("no contention known", {"contention_s": float("nan")}),
        )
    ),
    Case(
        "Q3.1 has longer steps and loses otherwise",
        edits=longer_steps() | {"split_causes": where(cause="overhead")},
        says=["loses most to the overhead of DDP."],
        never=["In Q3.1 steps"],
    ),
    Case(
        "Q3.1 has longer steps, and loading leads here",
        edits={name: edit for name, edit in longer_steps().items() if name != SPLIT},
        never=["In Q3.1 steps"],
    ),
    Case(
        "compression without intervals",
        edits={
            SPLIT: largest("exposed"),
            "compression": where(step_ratio_low=float("nan"), step_ratio_high=float("nan")),
        },
        says=["a step with bf16, fp16 and PowerSGD has no interval."],
    ),
    Case(
        "compression not measured",
        lab={"direct": True},
        edits={SPLIT: largest("exposed"), "compression": lambda rows: rows[:0]},
        says=[
            "Whether compressed gradients help was not measured here. Twice the batch makes half "
            "as many messages and updates: trained with a rate in proportion (0.008) it reaches"
        ],
    ),
    Case(
        "across zero",
        edits={
            SPLIT: where(
                {"workers": 4}, exposed_frac=0.5, exposed_frac_low=-0.1, exposed_frac_high=0.9
            )
        },
        says=["and the largest loss is loading (19.7%)"],
    ),
    Case(
        "none above zero",
        edits={SPLIT: where(**{f"{part}_frac_low": -0.1 for part in LOSSES})},
        says=[
            "of an epoch is computation, and no other part is measurably above zero. Here a",
            "With four workers no other part is measurably above zero. Where",
            "Which part costs time is open; twice the batch (b = 256, not 128) is 1.25× as fast",
        ],
        never=["Against"],
    ),
    Case(
        "the network of Q3.1",
        edits={SPLIT: where(model="resnet_8x8", optimizer="sgd")},
        says=["Here a small residual network for 8×8 images with SGD is trained. The parts"],
        never=["loses most to", "so its shares differ"],
    ),
    Case(
        "on shared cores",
        edits={SPLIT: where({"workers": [2, 4]}, oversubscribed=True)},
        says=["With four workers, sharing devices, 51.6% of"],
    ),
    *(
        Case(
            f"four share devices that two do not, {name}",
            edits={SPLIT: both(edit, where({"workers": 4}, oversubscribed=True))},
            says=[words, short],
        )
        for name, edit, words, short in (
            (
                "alike",
                where(),
                "At b = 128 the largest loss is loading: 19.9% of an epoch with two workers, "
                "19.7% with four, sharing devices. Against that (not tried): load",
                "In short: Loading takes 19.9% and 19.7%, computation 62.7% and 51.6% of an epoch "
                "with two workers and four, sharing devices.",
            ),
            (
                "with another loss",
                largest("sharing"),
                "The largest loss with two workers is loading, 19.9% of an epoch, with four, "
                "sharing devices, contention between workers, 50.0%. Against the latter (not "
                "tried): give each worker a core",
                "In short: Computation is 62.7% of an epoch with two workers and 51.6% with four, "
                "sharing devices.",
            ),
            (
                "and tried",
                largest("exposed"),
                "sharing devices, waiting for communication, 50.0%. With four, twice the batch (b "
                "= 256, not 128) is 1.25× as fast but costs",
                "In short: Computation is 62.7% of",
            ),
            (
                "waiting with both",
                both(largest("exposed"), largest("exposed", workers=2)),
                "communication: 50.0% of an epoch with two workers, 50.0% with four, sharing "
                "devices. With four",
                "In short: Waiting for communication takes 50.0% and 50.0%, computation 62.7% and ",
            ),
            (
                "two unclear",
                where({"workers": 2}, sharing_frac_low=-0.01, sharing_frac_high=0.2),
                "With four workers, sharing devices, 51.6% of an epoch is computation, and the",
                "In short: With four workers 51.6% of an epoch is computation, and",
            ),
        )
    ),
    Case(
        "waiting beside shared devices",
        edits={SPLIT: both(largest("exposed"), where({"workers": 4}, oversubscribed=True))},
        says=[
            "Waiting may not all be transfer: workers that share devices may also wait for their "
            "turn."
        ],
    ),
    Case(
        "a device each",
        edits={SPLIT: largest("exposed")},
        never=["sharing devices", "wait for their turn"],
    ),
    Case(
        "four workers on two devices that lose nothing to sharing them",
        lab=on_two_devices,
        edits={SPLIT: where({"workers": 4}, **around("sharing_frac", -0.2))},
        never=["take turns"],
    ),
    Case(
        "four workers on two devices",
        lab=on_two_devices,
        says=[
            "Four workers take turns on two devices: where one keeps a device busy, that alone "
            "adds 51.6% of the epoch; contention and stragglers take 4.89%."
        ],
    ),
    Case(
        "one without memory",
        edits={SPLIT: where({"workers": 4}, status="out_of_memory")},
        says=[
            "Without a number, for its outcome, is N = 4 (out of memory).",
            "With two workers 62.7% of an epoch",
        ],
        never=["ith four workers"],
    ),
    Case(
        "two nodes",
        lab={"two_nodes": True},
        says=["With four workers on two nodes 51.6% of an epoch is computation"],
    ),
    Case(
        "not split",
        edits={SPLIT: where(rest_frac=float("nan"))},
        says=["Missing: assignment_split: no number of workers was split."],
    ),
]


test_what_h4_says = says("H4", CASES)


def test_half_an_epoch_of_one_worker_moves_half_of_it_to_contention() -> None:
    """Half of computation and copy, 0.4 together."""
    shares = dict.fromkeys([*LOSSES, "computation"], 0.1) | {"computation": 0.3}
    found = at_pace({f"{part}_frac": share for part, share in shares.items()}, 0.5)
    assert (found["computation"], found["sharing"]) == pytest.approx((0.1, 0.3))
    assert {part: found[part] for part in LOSSES if part != "sharing"} == pytest.approx(
        {part: 0.1 for part in LOSSES if part != "sharing"}
    )
    assert sum(found.values()) == pytest.approx(sum(shares.values()))


def _assigned(kept: tuple[str | None, str | None]) -> list[Row]:
    """Epochs with the assignment's batch, and what two and four workers keep of the accuracy."""
    epochs = ((1, 1.2), (2, 0.9), (4, 1.0))
    return [
        Row(
            workers=workers,
            per_worker_batch=512,
            epoch_s=epoch_s,
            runs="",
            accuracy_kept=one,
            pace="above",
            test_accuracy_frac=1 - workers / 100,
        )
        for (workers, epoch_s), one in zip(epochs, (None, *kept), strict=True)
    ]


def test_epochs_with_the_assignments_batch_stand_beside_those_with_twice_the_batch() -> None:
    question = questions()["H4"]
    case = next(case for case in CASES if str(case).startswith("twice the batch on four is"))
    facts = case.facts(question)
    listed = " one worker takes 1.20 s, two 900 ms and four 1.00 s"
    for kept, words in (
        ((None, None), f"; with b = 512 (H3, accuracy not measured){listed}."),
        (("unknown", "loses"), f"; with b = 512 (H3){listed} (less accurate)."),
        (
            ("loses", "loses"),
            ". Take one worker with b = 512 (H3): 1.20 s; two take 900 ms (less accurate) and four "
            "1.00 s (less accurate).",
        ),
        (
            ("open", "keeps"),
            ". Take two workers with b = 512 (H3): 900 ms, no measurable loss; one takes 1.20 s "
            "and four 1.00 s.",
        ),
        (("open", "unknown"), f"; with b = 512 (H3){listed}."),
    ):
        facts.said["assigned"] = _assigned(kept)
        facts.said["soonest"] = _soonest(facts.said["assigned"], facts.said["tried"])
        said = plain(text_of(question.worded(facts)))
        assert f": 2.30 s an epoch{words}" in said
        assert "By H1" not in said


def test_the_advice_stands_with_the_loss_that_it_escapes() -> None:
    """Where workers with a device each and those that share one lose most by the same part."""
    question = questions()["H4"]
    case = next(
        case
        for case in CASES
        if str(case).startswith("four share devices that two do not, waiting with both")
    )
    facts = case.facts(question)
    for kept, words in (
        (
            ("loses", "loses"),
            ": take one with b = 512. An epoch then takes 1.20 s (H3), not 8.00 s; two workers "
            "take "
            "900 ms (less accurate) and four 1.00 s (less accurate).",
        ),
        (
            ("open", "keeps"),
            ": take two with b = 512. An epoch then takes 900 ms (H3), not 4.80 s, with no "
            "measurable loss of accuracy (98.0%, one worker 99.0%); one worker takes 1.20 s, not "
            "8.00 s, and four 1.00 s.",
        ),
    ):
        facts.said["assigned"] = _assigned(kept)
        facts.said["soonest"] = _soonest(facts.said["assigned"], facts.said["tried"])
        said = plain(text_of(question.worded(facts)))
        assert words in said
        assert "With four workers b = 256 is 1.25× as fast as 128." in said


def test_workers_that_are_not_measurably_faster_are_not_advised() -> None:
    one, two = (
        Row(workers=n, epoch_s=epoch_s, pace=pace, accuracy_kept=kept)
        for n, epoch_s, pace, kept in (
            (1, 1.2, "indistinct", None),
            (2, 0.9, "indistinct", "keeps"),
        )
    )
    tried = Row(epoch_s=2.3)
    assert _soonest([one, two], tried) is one
    assert _soonest([one, faster := two | {"pace": "above"}], tried) == faster
    assert _soonest([one, two], Row(epoch_s=1.0)) is None
    assert _soonest([], tried) is None
