"""Q3.2: what it says of bandwidths, the link and hooks turns round with the tables."""

import pytest

from builders import Tables, full_lab
from cases import Case, Edit, around, both, figures, only, plain, says, where, without
from dpscale.reporting.answer import Answer
from dpscale.studies import answer_one
from dpscale.studies.scaling.answers import bandwidth

NAN = float("nan")
NO_FIT = "the times do not grow with the bytes: no rate follows"
UNKNOWN_LINK = {"link_bytes_per_s": NAN, "link_source": None, "busbw_of_link_frac": NAN}


def _rates(batch: int, rate: float) -> Edit:
    return where({"per_worker_batch": batch}, **around("lab_bytes_per_s", rate))


def _no_interval(column: str) -> dict[str, float]:
    return {f"{column}_low": NAN, f"{column}_high": NAN}


def _part(cell: dict[str, object], column: str, seconds: float) -> Edit:
    """What the formula's time holds beside the transfer in a cell, give or take a tenth."""
    return where(cell, **around(column, seconds, 0.1))


def _no_rate(*found: tuple[dict[str, object], str]) -> dict[str, Edit]:
    """Cells whose time is none that a rate follows from, and why."""
    return {"bandwidth": both(*(where(cell, no_rate=why) for cell, why in found))}


def _of_link(rate: float, frac: float, source: str = "tcp") -> dict[str, Edit]:
    columns = around("busbw_bytes_per_s", rate) | {"busbw_of_link_frac": frac}
    return {"bandwidth": where(**columns, link_source=source)}


def small_message(*shares: float) -> Edit:
    """A message of 4,096 bytes, whose share of the time of the gradients' is this at N = 2, 4."""
    of_all = [
        where({"bytes": 4_000_000, "operation": "allreduce", "workers": workers}, **columns)
        for workers, share in zip((2, 4), shares, strict=True)
        for columns in [around("smallest_ratio", share)]
    ]
    return both(where({"bytes": 500_000}, bytes=4096), *of_all)


def _without_parameters() -> Tables:
    tidy = full_lab()
    return tidy | {"runs": tidy["runs"].assign(parameters=None)}


AS_MEASURED = Case(
    "as measured",
    says=[
        "Bandwidth, not latency, limits all-reduces of 4.00 MB: a fit puts latency at 0.744% to "
        "1.48% of their time, 0.0671% to 0.134% for the lab's 44.7 MB. Timed alone, the buckets "
        "reach 152 MB/s to 1.52 GB/s, 9.48% to 95.3% of plain TCP. The lab's formula gives 121 "
        "MB/s to 1.22 GB/s, since the buckets alone take 80.0% of what it calls communication. "
        "Each",
        "(utilisation: 1.60 GB/s at N = 2 and 1.60 GB/s at N = 4), the bandwidth of the same",
        "all-reduces $X$ = 1 000 000 gradients of 4 bytes, $S$ = 4 000 000 B. The busiest worker",
        "4 000 000 B at N = 2 and 6 000 000 B at N = 4. Contention and overhead take 30.0% of the "
        "formula's time at N = 2 and 30.0% at N = 4; the backward pass hides some transfer at N = "
        "4. At N = 2 the lab's rate falls as b grows: from b = 32 to 512 an epoch's bytes fall to "
        "6.25%, the formula's time only to 42.8%; at N = 4 time only to 42.8%. By the third "
        "formula, with",
        # the made-up link has 10 us and 1.5 GB/s
        "takes 2.69 ms at N = 2, 20.0 µs of it latency (two rounds of 10.0 µs) and 2.67 ms bytes "
        "(at 1.50 GB/s); 4.06",
        # 4 MB in 2.69 ms and 6 MB in 4.06 ms
        "The fit gives 1.49 GB/s at N = 2 (alone 222 MB/s to 1.52 GB/s) and "
        "1.48 GB/s "
        "at N = 4 (152 MB/s to 1.04 GB/s; overstated by 42.2% to 875%, why is not known). At",
        "Would fewer bytes help? With some ways. At N = 2, b = 32 a step takes 0.900× as long with "
        "bf16 (50.0% of the bytes), 1.10× with fp16 (50.0%) and 1.00× with PowerSGD (10.0%). "
        # 2.67 of 2.69 ms are bytes, and all but 0.13% of the lab's
        "By the fit half the bytes save 49.6% of an all-reduce at N = 2 (1.33 ms of 19.7 ms a "
        "step) and 49.3% at N = 4 (of the lab's 49.9% to 50.0%). A",
        "At N = 2 and 4 the fitted rate is 93.",  # 93.75%, to either side
        "% of plain TCP's.",
        "fast 450 GB/s 5.00 µs",
        "Bytes over the exposed time of Q3.1 would be no bandwidth",
        "A step is faster with bf16; slower with fp16; not measurably different with PowerSGD. "
        "Bytes",
        "the latency is where the fitted line meets no bytes. No training ran beside; the "
        "formula misses none by more than",
        "10.0 µs (9.9 to 10.1) 1.50 GB/s (1.49 to 1.51)",
        "1.60 GB/s (1.58 to 1.62)",
    ],
    never=[
        "told",
        "mostly latency",
        "loopback",
        "the lab's falls",
        "aiting beyond the transfer takes",
        "What limits all-reduces",
    ],
)
NO_ARMS = Case(
    "without the arms",
    lab={"direct": False},
    says=[
        "The lab's formula gives 121 MB/s to 1.22 GB/s. Each",
        "the lab's falls as b grows at N = 2 and 4.",
        "The bus bandwidth of the same buckets alone and the rate of the link are not measured, so "
        "it is not known how much",
    ],
    never=["the buckets reach", "By a fit", "Utilisation"],
)
NEGATIVE = Case(
    "a negative time",
    lab={"two_worker_factor": 0.4, "direct": False},
    says=[
        "No bandwidth follows from the lab's formula, whose time is negative. Each",
        "so nothing stands in for the bandwidth that the subtraction lacks.",
        "No bandwidth follows from the lab's formula.",
    ],
)
BELOW_NOISE = Case(
    "a time below the noise",
    lab={"two_worker_factor": 0.5, "noise": 0.05, "direct": False},
    says=["from the lab's formula, whose time is possibly zero."],
)
WITHOUT_A_FIT = Case(
    "a link without a fit",
    edits={"link": where(beta_bytes_per_s=NAN, alpha_s=NAN, note=NO_FIT)},
    says=[
        f"No latency and bandwidth follow at N = 2: {NO_FIT}; N = 4: {NO_FIT}.",
        "95.3% of plain TCP. The lab's formula gives 121 MB/s to 1.22 GB/s, since the buckets "
        "alone take",
    ],
    never=["third formula,", "twice as fast", "By a fit"],
)
NO_HOOKS = Case("no hooks", edits={"compression": only(hook="zip")}, never=["ompressed gradients"])
CASES = [
    AS_MEASURED,
    *(
        Case(
            f"a fitted rate of {rate:g}, give or take {width:g}",
            edits={"link": where(**around("beta_bytes_per_s", rate, width))},
            says=[f"At N = 2 and 4 the fitted rate {words}."],
        )
        for rate, width, words in (
            (0.8e9, 0.01, "is 50.0% of plain TCP's"),
            (3.2e9, 0.01, "is 200% of plain TCP's, which is then no upper limit"),
            (1.6e9, 0.01, "does not measurably differ from plain TCP's"),
            (0.9e9, NAN, "cannot be compared with plain TCP's, for want of repeats"),
        )
    ),
    Case(
        "a fitted rate below plain TCP's at one N",
        edits={"link": where({"workers": 4}, **around("beta_bytes_per_s", 1.6e9))},
        says=[
            "At N = 2 the fitted rate is 93.",
            "% of plain TCP's; at N = 4 it does not measurably differ from plain TCP's.",
        ],
    ),
    Case(
        "plain TCP not measured",
        edits={"link": where(tcp_bytes_per_s=NAN)},
        never=["the fitted rate"],
    ),
    Case(
        "a falling rate",
        edits={
            "bandwidth": both(
                where(**around("lab_bytes_per_s", 1e8)),
                _rates(128, 0.8e8),
                _rates(512, 0.5e8),
                where({"workers": 2}, **around("lab_bytes_per_s", 1e8)),
            )
        },
        says=[
            "At N = 4 the lab's rate falls as b grows: from b = 32 to 512 an epoch's bytes fall to "
            "6.25%, the formula's time only to 12.5%. By"
        ],
        never=["At N = 2 the lab's rate"],
    ),
    Case(
        "a falling rate with fewer batches at one N",
        edits={"bandwidth": without(workers=4, per_worker_batch=512)},
        says=["only to 42.8%; at N = 4 from b = 32 to 128 bytes to 25.0%, time only to"],
    ),
    Case(
        "a falling rate whose time grows",
        edits={"bandwidth": both(where(**around("lab_bytes_per_s", 1e8)), _rates(512, 0.5e7))},
        says=["bytes fall to 6.25%, the formula's time grows to 125%;"],
    ),
    NO_ARMS,
    NEGATIVE,
    BELOW_NOISE,
    WITHOUT_A_FIT,
    NO_HOOKS,
    *(
        Case(
            f"fewer bytes: {words}",
            edits={"compression": where(**around("step_ratio", ratio))},
            says=[f"Would fewer bytes help? {words} At N = 2, b = 32 a step"],
        )
        for words, ratio in (("Yes.", 0.5), ("No.", 2.0), ("Not measurably.", 1.0))
    ),
    *(
        Case(
            f"fewer bytes: between {low} and {high}",
            edits={"compression": where(step_ratio=1.0, step_ratio_low=low, step_ratio_high=high)},
            says=[f"Would fewer bytes help? {words} At N = 2, b = 32 a step"],
        )
        for low, high, words in (
            (0.91, 1.09, "Not measurably."),
            (0.75, 1.05, "Undecided."),
            (0.95, 1.25, "Undecided."),
        )
    ),
    Case(
        "fewer bytes: undecided where the fit saves little",
        edits={
            "compression": where(
                step_ratio=1.0, step_ratio_low=0.75, step_ratio_high=1.1, base_step_s=0.2
            )
        },
        says=[  # 1.33 ms of 200 ms
            "Would fewer bytes help? Hardly, by the fit: half of them save 0.667% of a step; "
            "measured, it is undecided. At N = 2, b = 32 a step takes"
        ],
    ),
    Case(
        "fewer bytes: by the widest of the intervals",
        edits={
            "compression": both(
                where(step_ratio=1.0, step_ratio_low=0.8, step_ratio_high=1.1),
                where({"hook": "bf16"}, step_ratio_low=0.9, step_ratio_high=1.3),
                where({"hook": "fp16"}, **around("step_ratio", 2.0)),
            )
        },
        says=[
            "help? Undecided; fp16 slows steps. At N = 2, b = 32 a step takes "
            "1.00× (0.90 to 1.30) as long with bf16",
            "2.00× (1.98 to 2.02) with fp16 (50.0%) and 1.00× (0.80 to 1.10) with Pow",
        ],
    ),
    Case(
        "fewer bytes: one way helps",
        edits={
            "compression": both(
                where(step_ratio=1.0, step_ratio_low=0.8, step_ratio_high=1.1),
                where({"hook": "fp16"}, **around("step_ratio", 0.5)),
            )
        },
        says=["Would fewer bytes help? With some ways. At"],
    ),
    Case(
        "fewer bytes: timed once",
        edits={"compression": where(**_no_interval("step_ratio"))},
        says=["Would fewer bytes help? Undecided. At N = 2, b = 32 a step takes 0.900× as"],
    ),
    Case(
        "a time of one repeat",
        edits=_no_rate(({}, "possibly zero, for want of repeats")),
        says=[
            "1.48% of their time. Timed alone, the buckets reach 152 MB/s to 1.52 GB/s, 9.48% to "
            "95.3% of plain TCP. No bandwidth follows from the lab's formula, whose time is "
            "possibly zero, for want of repeats. Each"
        ],
    ),
    Case(
        "one cell negative",
        edits=_no_rate(({"workers": 2, "per_worker_batch": 32}, "negative")),
        says=[
            "to 831 MB/s (none in one of six cells), since the buckets alone",
            "negative negative 1.52 GB/s (1.51 to 1.54) negative negative negative 2 128",
        ],
    ),
    Case(
        "one cell",
        edits={"bandwidth": only(workers=2, per_worker_batch=32)},
        says=[
            "latency at 0.744% of their time, 0.0671% for the lab's 44.7 MB. Timed alone, the "
            "buckets reach 1.52 GB/s, 95.3% of plain TCP. The lab's formula gives 1.22 GB/s, "
            "since the buckets alone take 80.0% of what it calls communication"
        ],
        never=["$S$ is the same at every b"],
    ),
    *(
        Case(
            f"over {medium}",
            edits={"bandwidth": where(medium=medium)},
            says=[f"9.48% to 95.3% of plain TCP {words}. The lab's formula gives"],
            never=[] if medium == "loopback" else ["loopback"],
        )
        for medium, words in (
            ("loopback", "over loopback"),
            ("machine", "within this machine"),
            ("network", "between the nodes"),
        )
    ),
    Case(
        "loopback is no network",
        edits={"bandwidth": where(medium="loopback")},
        says=["All this is loopback, not a network."],
    ),
    Case(
        "parameters not known", lab=_without_parameters, says=["all-reduces $S$ = 4 000 000 B. The"]
    ),
    Case(
        "level",
        lab={"direct": False},
        edits={"bandwidth": where(**around("lab_bytes_per_s", 1e9))},
        says=["the lab's shows no trend with b at N = 2 and 4."],
    ),
    Case(
        "rising",
        lab={"direct": False},
        edits={"bandwidth": both(_rates(128, 5e9), _rates(512, 9e9))},
        says=["the lab's rises as b grows at N = 2 and 4."],
    ),
    Case(
        "up and down",
        lab={"direct": False},
        edits={"bandwidth": _rates(512, 9e9)},
        says=["the lab's goes up and down with b at N = 2 and 4."],
    ),
    Case(
        "rates of one repeat",
        lab={"direct": False},
        edits={"bandwidth": where(**_no_interval("lab_bytes_per_s"))},
        says=["the lab's has no two-sided interval at N = 2 and 4."],
    ),
    *(
        Case(
            f"transfers of {least:g} and {most:g} of the time",
            edits={
                "bandwidth": both(
                    where(transfer_frac=least), where({"workers": 2}, transfer_frac=most)
                )
            },
            says=[f"to 1.22 GB/s{words}. Each"],
        )
        for least, most, words in (
            (
                0.25,
                0.4,
                ", since the buckets alone take only 25.0% to 40.0% of what it calls communication",
            ),
            (
                0.25,
                0.5,
                ", since the buckets alone take 25.0% to 50.0% of what it calls communication",
            ),
            (0.25, 1.1, ""),
            (0.25, NAN, ""),
        )
    ),
    Case(
        "transfers of less than half of the time, of which one may be all of it",
        edits={
            "bandwidth": both(
                where(transfer_frac=0.25),
                where({"workers": 2}, lab_bytes_per_s_low=1.0, lab_bytes_per_s_high=9e9),
            )
        },
        says=[
            "to 1.22 GB/s; by medians the buckets alone take 25.0% of what it calls "
            "communication. Each"
        ],
    ),
    *(
        Case(
            f"a rate above that of the buckets alone, with waiting of {waiting_s:g} s",
            edits={
                "bandwidth": where(**around("lab_bytes_per_s", rate), transfer_frac=1.1),
                "communication": _part({"workers": [2, 4]}, "waiting_s", waiting_s),
            },
            says=[f"The lab's formula gives {words}. Each"],
        )
        for rate, waiting_s, words in (
            (1e12, -0.2, "1.00 TB/s, since its time misses what the backward pass hides"),
            (1e12, 0.2, "1.00 TB/s"),
            (1e5, -0.2, "100 kB/s"),
        )
    ),
    Case(
        "contention and overhead in all cells but one",
        edits={
            "communication": both(
                _part({"workers": [2, 4]}, "waiting_s", 0.0),
                _part({"workers": [2, 4]}, "other_s", 0.2),
                _part({"workers": 4, "per_worker_batch": 128}, "other_s", 0.0),
            ),
            "bandwidth": where(other_frac=0.5),
        },
        says=[
            "Contention and overhead take 50.0% of the formula's time at N = 2 and 50.0% at N = 4, "
            "b = 32 and 512 (undecided at b = 128). At N = 2"
        ],
    ),
    Case(
        "beside the transfer the formula's time holds waiting where buffers are sent",
        edits={
            "communication": _part({"workers": [2, 4]}, "waiting_s", 0.2),
            "bandwidth": where(waiting_frac=0.1),
            "waiting_phases": where(**around("forward_wait_s", 0.2)),
        },
        says=["Waiting beyond the transfer (Q3.1: in part where buffers are sent) takes 10.0% of"],
        never=["no arm isolates"],
    ),
    *(
        Case(
            f"beside the transfer the formula's time holds {words}",
            edits={
                "communication": both(
                    _part({"workers": [2, 4]}, "waiting_s", 0.2 if waits else 0.0),
                    _part({"workers": [2, 4]}, "other_s", -0.2),
                    *(_part({"workers": 4, "per_worker_batch": b}, "other_s", 0.2) for b in sizes),
                ),
                "bandwidth": both(
                    where(waiting_frac=0.1, other_frac=0.5), where({"workers": 4}, waiting_frac=0.4)
                ),
            },
            says=[f"6 000 000 B at N = 4. {words}At N = 2 the lab's rate"],
        )
        for waits, sizes, words in (
            (False, [], ""),
            (
                True,
                [],
                "Waiting beyond the transfer (no arm isolates why) takes 10.0% of the formula's "
                "time at N = 2 and 40.0% at N = 4. ",
            ),
            (
                False,
                [32, 512],
                "Contention and overhead take 50.0% of the formula's time at N = 4, b = 32 and "
                "512. ",
            ),
            (
                True,
                [32, 128, 512],
                "Waiting beyond the transfer (no arm isolates why) takes 10.0% of the formula's "
                "time at N = 2 and 40.0% at N = 4; contention and overhead take 50.0% at N = 4. ",
            ),
        )
    ),
    Case(
        "buckets above the link",
        edits=_of_link(3.2e9, 2.0),
        says=[
            "200% of the link's rate.",
            "when each sends to the next one at the same time.",
            "The buckets alone exceed the link's rate in all six cells, so plain TCP is no upper "
            "limit for these messages",
        ],
    ),
    Case(
        "buckets of one repeat",
        edits={"bandwidth": where(**_no_interval("busbw_bytes_per_s"))},
        says=[
            "Too few repeats decide whether the buckets alone reach the link's rate in all six "
            "cells."
        ],
    ),
    Case(
        "a configured link",
        edits=_of_link(3.2e9, 2.0, "configured"),
        says=[
            "the buckets reach 3.20 GB/s, 200% of the configured rate. The lab's",
            "The buckets alone exceed the link's rate in all six cells, more than it could carry, "
            "so the configured rate is not the true one.",
        ],
        never=["plain TCP's", "plain TCP reaches"],
    ),
    Case(
        "two kinds of buckets",
        edits={
            "bandwidth": both(
                _of_link(0.8e9, 0.5)["bandwidth"],
                where({"workers": 4}, **around("busbw_bytes_per_s", 1.6e9)),
            )
        },
        says=[
            "stay below the link's rate in three of the six cells (N = 2 with b = 32, 128 and "
            "512); the buckets alone do not measurably differ from the link's rate in three of the"
        ],
    ),
    Case(
        "an unknown link",
        edits={"bandwidth": where(**UNKNOWN_LINK)},
        says=[
            "the buckets reach 152 MB/s to 1.52 GB/s. The lab's formula gives 121 MB/s to 1.22 "
            "GB/s, since the buckets alone take 80.0% of what it calls communication",
            "The rate of the link is not measured, so that comparison is left out",
        ],
        never=["of the link's rate", "tilisation"],
    ),
    Case(
        "buckets not measured",
        edits={"bandwidth": where(busbw_bytes_per_s=NAN, transfer_frac=NAN)},
        says=[
            "The bus bandwidth of the same buckets alone is not measured, so that comparison",
            "1.48% of their time, 0.0671% to 0.134% for the lab's 44.7 MB. The lab's formula "
            "gives "
            "121 MB/s to 1.22 GB/s, at most 76.2% of plain TCP. Each",
        ],
        never=["Bytes over the exposed time"],
    ),
    Case(
        "latency of zero",
        edits={"link": where(alpha_s_low=0.0)},
        says=["The latency at N = 2 may be zero. The latency at N = 4 may be zero."],
    ),
    Case(
        "the fit's own intervals explain how far it misses the buckets",
        edits={"link": where(alpha_s_high=0.1)},
        says=[
            "1.48 GB/s at N = 4 (152 MB/s to 1.04 GB/s; overstated by 42.2% to 875%, the "
            "intervals meet). At"
        ],
    ),
    Case(
        "the fit is below the buckets",
        edits={"bandwidth": where(**around("busbw_bytes_per_s", 3e9))},
        says=["(alone 3.00 GB/s; understated by 50.4%, why is not known) and"],
    ),
    Case(
        "latency outweighs",
        edits={"link": where(**around("level_bytes", 1e12), alpha_s=1.0)},
        says=[
            "message of $N \\alpha \\beta$ bytes, 1.00 TB at N = 2 and 1.00 TB at N = 4.",
            "Latency, not bandwidth, limits all-reduces of 4.00 MB: a fit puts latency at 100% of "
            "their time, 100% for the lab's 44.7 MB. Timed",
        ],
    ),
    *(
        Case(
            f"a small message takes {shares} of the time, and latency is {alpha_s} s",
            edits={
                "link": where(**around("level_bytes", level), alpha_s=alpha_s),
                "message_times": small_message(*shares),
            },
            says=words,
            never=never,
        )
        for shares, alpha_s, level, words, never in [
            (
                (0.73, 0.94),
                1.0,
                1e12,
                [
                    "Latency, not bandwidth, limits all-reduces of 4.00 MB: 4.10 kB take "
                    "73.0% (72.3 to 73.7) as long at N = 2 and 94.0% (93.1 to 94.9) at N = 4. "
                    "Timed",
                    "An all-reduce of 4.10 kB takes 73.0% (72.3 to 73.7) of the time of one of $S$ "
                    "at N = 2 and 94.0% (93.1 to 94.9) at N = 4.",
                ],
                ["a fit puts"],
            ),
            (
                (0.02, 0.04),
                1e-5,
                1e4,
                [
                    "Bandwidth, not latency, limits all-reduces of 4.00 MB: 4.10 kB take "
                    "2.00% (1.98 to 2.02) as long at N = 2 and 4.00% (3.96 to 4.04) at N = 4. Timed"
                ],
                ["a fit puts"],
            ),
            ((0.4, 0.94), 1.0, 1e12, ["of 4.00 MB: a fit puts latency at 100%"], ["4.10 kB"]),
            ((0.02, 0.6), 1e-5, 1e4, ["of 4.00 MB: a fit puts latency at"], ["4.10 kB"]),
            ((0.73, NAN), 1.0, 1e12, ["of 4.00 MB: a fit puts latency at 100%"], ["4.10 kB"]),
        ]
    ),
    Case(
        "latency outweighs at N = 2",
        edits={"link": where({"workers": 2}, **around("level_bytes", 1e12), alpha_s=1.0)},
        says=[
            "not measured) at N = 2 that is mostly latency (100%); at N = 4 that is mostly bytes (",
            "What limits all-reduces of 4.00 MB is by a fit latency at N = 2 and bandwidth at N = "
            "4. Timed",
        ],
    ),
    *(
        Case(
            f"bandwidth limits at N = 4 alone: {words}",
            edits={"link": where({"workers": 2}, **level)},
            says=[f"4.00 MB is by a fit {words} at N = 2 and bandwidth at N = 4. Timed"],
        )
        for words, level in (
            ("undecided", around("level_bytes", 4e6)),
            ("undecided for want of repeats", _no_interval("level_bytes")),
        )
    ),
    Case(
        "latency as bytes",
        edits={"link": where(**around("level_bytes", 4e6))},
        says=[
            "It is open whether latency or bandwidth limits all-reduces of 4.00 MB: a fit "
            "puts latency at 50.0% of their time, 8.21% for the lab's 44.7 MB. Timed"
        ],
    ),
    Case(
        "latency as bytes with the lab's network",
        edits={"link": where(**around("level_bytes", 44.7e6))},
        says=["ResNet-18 (44.7 MB, not measured) latency (50.0%) and bytes do not measurably diff"],
    ),
    Case(
        "the fit is somewhat above the buckets, and among their intervals",
        edits={
            "bandwidth": where(
                busbw_bytes_per_s=1.3e9, busbw_bytes_per_s_low=1e9, busbw_bytes_per_s_high=2e9
            )
        },
        says=["at N = 4 (1.30 GB/s; overstated by 13.7%, the intervals meet). At"],
    ),
    Case(
        "the fit is next to the buckets",
        edits={"bandwidth": where(**around("busbw_bytes_per_s", 1.45e9))},
        says=["1.49 GB/s at N = 2 (alone 1.45 GB/s) and 1.48 GB/s at N = 4 (1.45 GB/s)."],
    ),
    Case(
        "latency of one repeat",
        edits={"link": where(**_no_interval("level_bytes"))},
        says=[
            "whether latency (",
            "Too few repeats leave open whether latency or bandwidth limits all-",
        ],
    ),
    Case(
        "bytes not counted",
        edits={"compression": where(bytes_ratio=NAN)},
        says=["1.10× with fp16 (bytes not counted) and"],
    ),
    Case(
        "steps not timed",
        edits={"compression": where(step_ratio=NAN)},
        says=[
            "A step is not timed with bf16, fp16 and PowerSGD. Bytes",
            "a step is not timed with bf16 (50.0% of the bytes), fp16 (50.0%) and PowerSGD (10.0%)",
        ],
    ),
    Case(
        "steps of one repeat",
        edits={"compression": where(**_no_interval("step_ratio"))},
        says=[
            "A step is undecided for want of repeats with bf16, fp16 and PowerSGD. Bytes",
            "Undecided. At N = 2, b = 32 a step takes 0.900× as long with bf16 (50.0%",
        ],
    ),
    Case(
        "hooks in several cells",
        edits={"compression": where({"hook": "fp16"}, per_worker_batch=64)},
        says=[
            "help? With some ways. A step takes 0.900× as long with bf16 at N = 2, b = 32 (50.0%",
            "with fp16 at N = 2, b = 64 (50",
        ],
    ),
    Case(
        "one step not timed",
        edits={"compression": where({"hook": "fp16"}, step_ratio=NAN)},
        says=[
            "as long with bf16 (50.0% of the bytes) and 1.00× with PowerSGD (10.0%); it is not "
            "timed with fp16 (50.0%)."
        ],
    ),
    *(
        Case(
            f"{run} not run",
            lab={"not_run": (run,)},
            says=["withheld: one result that it needs is missing", ": not run yet"],
        )
        for run in ("link-n2", "compression-n2")
    ),
]


test_what_q3_2_says = says("Q3.2", CASES)


def answer(case: Case) -> Answer:
    return answer_one("Q3.2", case.inputs)


def test_bandwidth_is_bytes_of_the_epoch_over_its_communication_time() -> None:
    # 4 MB times 10000/64 iterations over 0.5125 s
    value = answer(AS_MEASURED).values["lab_bytes_per_s_n2_b32"]
    assert value.value == pytest.approx(4e6 * 156.25 / 0.5125)
    assert value.unit == "bytes/s"


@pytest.mark.parametrize(
    ("case", "reason"), [(NEGATIVE, "negative"), (BELOW_NOISE, "possibly zero")], ids=str
)
def test_what_is_no_time_gives_no_bandwidth(case, reason) -> None:
    value = answer(case).values["lab_bytes_per_s_n2_b32"]
    assert (value.value, value.status) == (None, reason)


def test_without_the_arms_no_other_rate_stands_in() -> None:
    found = answer(NO_ARMS)
    assert (found.missing, figures(found), len(found.tables)) == ([], ["bandwidth"], 1)


def test_bytes_over_the_exposed_time_are_never_a_bandwidth() -> None:
    keys = {column.key for one in answer(AS_MEASURED).tables for column in one.columns}
    assert "exposed_s" not in keys


@pytest.mark.parametrize(
    ("case", "absent"),
    [(AS_MEASURED, set()), (WITHOUT_A_FIT, {"link_fit"}), (NO_HOOKS, {"compression"})],
    ids=str,
)
def test_a_figure_stands_where_it_has_something_to_show(case, absent) -> None:
    found = answer(case)
    assert set(figures(found)) == {"bandwidth", "link_fit", "compression"} - absent
    assert any("\\alpha" in formula for formula in found.formula) == ("link_fit" not in absent)
    assert any("MPICH" in work for work in found.references) == ("link_fit" not in absent)
    assert any("PowerSGD" in work for work in found.references) == ("compression" not in absent)


def test_utilisation_is_bandwidth_over_the_rate_of_the_link_and_names_the_runs_of_both() -> None:
    found = answer(AS_MEASURED)
    rate, share = (found.values[f"lab_{name}_n2_b32"] for name in ("bytes_per_s", "of_link_frac"))
    rows = AS_MEASURED.inputs.rows("bandwidth", workers=2, per_worker_batch=32)
    assert share.value == pytest.approx(rate.value / rows[0]["link_bytes_per_s"])
    assert set(rate.runs) | {"link-n2"} == set(share.runs)


def test_a_fitted_all_reduce_is_its_latency_and_its_bytes() -> None:
    for row in bandwidth.facts_q3_2(AS_MEASURED.inputs).said["fits"]:
        workers = row["workers"]
        assert row["latency_s"] == pytest.approx(2 * (workers - 1) * row["alpha_s"])
        moved = 2 * (workers - 1) / workers * row["payload_bytes"]
        assert row["transfer_s"] == pytest.approx(moved / row["beta_bytes_per_s"])
        assert row["whole_s"] == pytest.approx(row["latency_s"] + row["transfer_s"])


@pytest.mark.parametrize("run", ["link-n2", "compression-n2"])
def test_a_planned_run_without_a_result_withholds_this_conclusion_alone(run) -> None:
    case = next(one for one in CASES if one.name == f"{run} not run")
    assert len(answer(case).missing) == 1
    assert answer_one("Q3.1", case.inputs).missing == []


def test_the_caption_of_the_rates_says_how_much_of_the_link_they_are() -> None:
    caption = answer(AS_MEASURED).figures[0].caption
    assert caption.startswith(
        "The lab's communication time gives 7.58% to 76.2% and the same buckets alone 9.48% to "
        "95.3% of the link's rate. Lines are"
    )
    assert caption.endswith("Lines are 95% intervals.")
    assert answer(NO_ARMS).figures[0].caption.startswith("Lines are")
    alone = Case("", edits=_no_rate(({}, "possibly zero, for want of repeats")))
    assert "The same buckets alone give 9.48% to" in answer(alone).figures[0].caption
    open_ended = Case("", edits={"bandwidth": where(lab_bytes_per_s_high=NAN)})
    assert "dotted to the edge" in answer(open_ended).figures[0].caption


def test_more_workers_on_other_links_are_a_further_table_of_predictions() -> None:
    answer = answer_one("Q3.2", Case("").inputs)
    (table,) = [one for one in answer.tables if "other links" in one.caption]
    assert table.further
    assert "Batches of more than the D = 10 000 samples here need a larger dataset." in plain(
        table.caption
    )
    marked = {(row["workers"].value, row["exceeds_dataset"]) for row in table.rows}
    assert marked == {(8, 0), (64, 1), (1024, 1)}
    enough = {"what_if": where(exceeds_dataset=False)}
    (table,) = [
        one
        for one in answer_one("Q3.2", Case("", edits=enough).inputs).tables
        if "other links" in one.caption
    ]
    assert table.caption.endswith("other links.")
    assert "exceeds_dataset" not in {column.key for column in table.columns}
    assert "Predicted, not measured" in table.caption
    assert "A further table predicts more workers on other links; it assumes" in answer.method[0]
    refused = answer_one("Q3.2", Case("", edits={"what_if": where(efficiency_frac=NAN)}).inputs)
    assert not [one for one in refused.tables if "other links" in one.caption]
