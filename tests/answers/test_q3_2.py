"""Q3.2: what it says of bandwidths, the link and hooks turns round with the tables."""

import pytest

from builders import Tables, full_lab
from cases import Case, Edit, around, both, figures, only, says, where
from dpscale.reporting.answer import Answer
from dpscale.studies import answer_one
from dpscale.studies.scaling.answers import bandwidth

NAN = float("nan")
SPLIT = {"other_s": 0.002, "waiting_s": -0.3}
CONTENDS = {"other_s": 0.2, "waiting_s": 0.0}
NO_FIT = "the times do not grow with the bytes: no rate follows"
UNKNOWN_LINK = {"link_bytes_per_s": NAN, "link_source": None, "busbw_of_link_frac": NAN}


def _rates(batch: int, rate: float) -> Edit:
    return where({"per_worker_batch": batch}, **around("lab_bytes_per_s", rate))


def _no_interval(column: str) -> dict[str, float]:
    return {f"{column}_low": NAN, f"{column}_high": NAN}


def _apart(lab_rate: float, parts: dict[str, float]) -> dict[str, Edit]:
    """The lab's rate against 1 GB/s of the buckets, and the parts of the lab's time."""
    rates = around("lab_bytes_per_s", lab_rate) | around("busbw_bytes_per_s", 1e9)
    return {"bandwidth": where(**rates, **parts)}


def _no_rate(*found: tuple[dict[str, object], str]) -> dict[str, Edit]:
    """Cells whose communication time is none that a rate follows from, and why."""
    return {"bandwidth": both(*(where(cell, no_rate=why) for cell, why in found))}


def _of_link(rate: float, frac: float, source: str = "tcp") -> dict[str, Edit]:
    columns = around("busbw_bytes_per_s", rate) | {"busbw_of_link_frac": frac}
    return {"bandwidth": where(**columns, link_source=source)}


def _without_parameters() -> Tables:
    tidy = full_lab()
    return tidy | {"runs": tidy["runs"].assign(parameters=None)}


AS_MEASURED = Case(
    "as measured",
    says=[
        "An all-reduce uses 7.58% to 76.2% of the link, at most 1.22 GB/s (1.07 to 1.42) by the "
        "lab's communication time. That time also holds overhead and contention; a message this "
        "large is mostly transfer (98.5% to 99.3%). It is a rate of the whole exchange, not of "
        "the wire.",
        "all-reduces $X$ = 1 000 000 gradients of 4 bytes, $S$ = 4 000 000 B. The busiest worker",
        "Lemma 4), 4 000 000 B at N = 2 and 6 000 000 B at N = 4. Over Q3.1's communication time "
        "that is 178 MB/s to 1.22 GB/s at N = 2, 11.1% to 76.2% of raw TCP's 1.60 GB/s; 121 MB/s",
        # the made-up link has 10 us and 1.5 GB/s
        "takes 2.69 ms at N = 2, 20.0 µs of it latency (two rounds of 10.0 µs) and 2.67 ms "
        "bytes; 4.06",
        "$S$ is large enough to fill the link",
        "same buckets reduced alone reach 152 MB/s to 1.52 GB/s, 9.48% to 95.3% of the link's",
        "the lab's falls as b grows at N = 2 and 4.",
        "Bytes over the exposed time of Q3.1 would be no bandwidth",
        "formula misses none by more than",
        "at N = 2, b = 32 a step is faster with bf16 (50.0% of the bytes, 0.9",
        "slower with fp16 (50.0% of the bytes, 1.10× as long); not told from a plain one with "
        "PowerSGD (10.0% of",
        "10.0 µs (7.6 to 12.5) 1.50 GB/s (1.49 to 1.51)",
        "1.60 GB/s (1.58 to 1.62)",
    ],
    never=["Where it", "not told from zero", "mostly latency"],
)
NO_ARMS = Case(
    "without the arms",
    lab={"direct": False},
    says=[
        "By the lab's communication time an all-reduce reaches at most 1.22 GB/s (1.08 to 1.40).",
        "The bus bandwidth of the same buckets alone and the rate of the link are not measured.",
        "are not measured, so it is not known how much",
        "Where it falls, the time in the",
    ],
    never=[
        "Where it rises",
        "same buckets reduced alone",
        "the same buckets alone reach",
        "Utilisation",
    ],
)
NEGATIVE = Case(
    "a negative time",
    lab={"two_worker_factor": 0.4, "direct": False},
    says=[
        "No bandwidth follows: the communication time is negative. ",
        "so nothing stands in for the bandwidth that the subtraction lacks.",
        "No bandwidth follows from the lab's communication time.",
    ],
)
BELOW_NOISE = Case(
    "a time below the noise",
    lab={"two_worker_factor": 0.5, "noise": 0.05, "direct": False},
    says=["No bandwidth follows: the communication time is not told from zero."],
)
WITHOUT_A_FIT = Case(
    "a link without a fit",
    edits={"link": where(beta_bytes_per_s=NAN, alpha_s=NAN, note=NO_FIT)},
    says=[f"No latency and bandwidth follow at N = 2: {NO_FIT}; N = 4: {NO_FIT}."],
    never=["By the third formula", "message this"],
)
NO_HOOKS = Case("no hooks", edits={"compression": only(hook="zip")}, never=["ompressed gradients"])
CASES = [
    AS_MEASURED,
    NO_ARMS,
    NEGATIVE,
    BELOW_NOISE,
    WITHOUT_A_FIT,
    NO_HOOKS,
    Case(
        "a time of one repeat",
        edits=_no_rate(({}, "not told from zero for want of repeats")),
        says=[
            "No bandwidth follows: the communication time is not told from zero for want of "
            "repeats. The same buckets reduced alone reach 152 MB/s to 1.52 GB/s, 9.48% to "
            "95.3% of the link's rate."
        ],
        never=["The lab's bandwidth"],
    ),
    Case(
        "one cell negative",
        edits=_no_rate(({"workers": 2, "per_worker_batch": 32}, "negative")),
        says=[
            "of the link, at most 831 MB/s (770 to 903) by",
            "No rate follows at N = 2, b = 32: that time is negative.",
        ],
    ),
    Case(
        "one cell",
        edits={"bandwidth": only(workers=2, per_worker_batch=32)},
        says=[
            "An all-reduce uses 76.2% of the link, 1.22 GB/s (1.07 to 1.42) by the lab's",
            "is below theirs in the one cell measured (N = 2, b = 32)",
        ],
        never=["$S$ is the same at every b"],
    ),
    Case(
        "two cells",
        edits={"bandwidth": only(workers=2, per_worker_batch=[32, 128])},
        says=["is below theirs in both cells: "],
    ),
    Case(
        "parameters not known", lab=_without_parameters, says=["all-reduces $S$ = 4 000 000 B. The"]
    ),
    Case(
        "level",
        edits={"bandwidth": where(**around("lab_bytes_per_s", 1e9))},
        says=["the lab's is at no two b told apart at N = 2 and 4."],
    ),
    Case(
        "rising",
        lab={"direct": False},
        edits={"bandwidth": both(_rates(128, 5e9), _rates(512, 9e9))},
        says=["the lab's rises as b grows at N = 2 and 4.", "Where it rises, a larger part"],
        never=["Where it falls"],
    ),
    Case(
        "up and down",
        lab={"direct": False},
        edits={"bandwidth": _rates(512, 9e9)},
        says=["the lab's goes up and down with b at N = 2 and 4."],
        never=["Where it falls", "Where it rises"],
    ),
    Case(
        "rates of one repeat",
        edits={"bandwidth": where(**_no_interval("lab_bytes_per_s"))},
        says=[
            "the lab's has no two-sided interval at N = 2 and 4.",
            "bandwidth has no two-sided interval to be compared with theirs in all six cells.",
        ],
    ),
    Case(
        "below, waits",
        edits=_apart(1e5, SPLIT),
        says=[
            "is below theirs in all six cells: its time holds a transfer that takes",
            "A transfer takes longer beside training; a message this large",
        ],
    ),
    Case(
        "below, contends",
        edits=_apart(1e5, CONTENDS),
        says=[
            "its time holds overhead and contention too",
            "time. That time also holds overhead and contention; a message",
        ],
    ),
    Case(
        "above, hides",
        edits=_apart(1e12, SPLIT),
        says=[
            "is above theirs in all six cells: its time misses",
            "That time misses what the backward pass hides; a message",
        ],
    ),
    Case(
        "above, contends",
        edits=_apart(1e12, CONTENDS),
        says=[
            "its time is shortened by overhead and contention that are below",
            "Overhead and contention below zero shorten that time; a message",
        ],
    ),
    Case(
        "below, without a part",
        edits=_apart(1e5, {"other_s": NAN}),
        says=["The lab's bandwidth is below theirs in all six cells.", "A message this large"],
    ),
    Case(
        "agrees in one cell of N = 2",
        edits=_apart(1e5, SPLIT)
        | {
            "bandwidth": both(
                _apart(1e5, SPLIT)["bandwidth"],
                where({"workers": 2, "per_worker_batch": 32}, **around("lab_bytes_per_s", 1e9)),
            )
        },
        says=[
            "is not told from theirs at N = 2, b = 32; it is below theirs in five of the "
            "six cells: its time",
            "time. In five of the six cells a transfer takes longer beside training;",
        ],
    ),
    Case(
        "buckets above the link",
        edits=_of_link(3.2e9, 2.0),
        says=[
            "200% of the link's rate.",
            "when each sends to the next one at the same time.",
            "The buckets exceed the link's rate in all six cells, so raw TCP is no upper "
            "limit for these messages",
        ],
    ),
    Case(
        "buckets of one repeat",
        edits={"bandwidth": where(**_no_interval("busbw_bytes_per_s"))},
        says=["Too few repeats decide whether the buckets reach the link's rate in all six cells."],
    ),
    Case(
        "a configured link",
        edits=_of_link(3.2e9, 2.0, "configured"),
        says=[
            "of the configured 1.60 GB/s; ",
            "The buckets exceed the link's rate in all six cells, more "
            "than it could carry, so the configured rate is not the true one.",
        ],
        never=["raw TCP's", "raw TCP reaches"],
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
            "stay below the link's rate at N = 2; the buckets are not told from the "
            "link's rate at N = 4."
        ],
    ),
    Case(
        "an unknown link",
        edits={"bandwidth": where(**UNKNOWN_LINK)},
        says=[
            "The rate of the link is not measured. ",
            "The rate of the link is not measured, so that comparison is left out",
        ],
        never=["of the link's rate", "tilisation"],
    ),
    Case(
        "buckets not measured",
        edits={"bandwidth": where(busbw_bytes_per_s=NAN)},
        says=["The bus bandwidth of the same buckets alone is not measured, so that comparison"],
        never=["Bytes over the exposed time"],
    ),
    Case(
        "latency of zero",
        edits={"link": where(alpha_s_low=0.0)},
        says=["The latency at N = 2 is not told from zero. The latency at N = 4 is not"],
    ),
    Case(
        "latency outweighs",
        edits={"link": where(**around("level_bytes", 1e12), alpha_s=1.0)},
        says=[
            "message of $N \\alpha \\beta$ bytes, 1.00 TB at N = 2 and 1.00 TB at N = 4.",
            "At N = 2 and 4 $S$ is too small to fill the link, and more bytes per second alone",
            "; a message this small is mostly latency (99.9%).",
        ],
    ),
    Case(
        "latency outweighs at N = 2",
        edits={"link": where({"workers": 2}, **around("level_bytes", 1e12), alpha_s=1.0)},
        says=[
            "At N = 2 $S$ is too small to fill the link, and more bytes per second alone "
            "would help little. At N = 4 $S$ is large enough to fill the link, and more",
            "; a message this small is mostly latency (99.9% at N = 2).",
        ],
        never=["mostly transfer"],
    ),
    Case(
        "latency as bytes",
        edits={"link": where(**around("level_bytes", 4e6))},
        says=["At N = 2 and 4 it is not told whether latency or bytes take longer."],
        never=["message this"],
    ),
    Case(
        "latency of one repeat",
        edits={"link": where(**_no_interval("level_bytes"))},
        says=["At N = 2 and 4 too few repeats tell whether latency or bytes take longer."],
        never=["message this"],
    ),
    Case(
        "bytes not counted",
        edits={"compression": where(bytes_ratio=NAN)},
        says=["slower with fp16 (bytes not counted, 1.10× as long)"],
    ),
    Case(
        "steps not timed",
        edits={"compression": where(step_ratio=NAN)},
        says=[
            "a step is not timed with bf16 (50.0% of the bytes), fp16 (50.0% of the bytes) and "
            "PowerSGD (10.0% of the bytes)."
        ],
    ),
    Case(
        "steps of one repeat",
        edits={"compression": where(**_no_interval("step_ratio"))},
        says=["a step is undecided for want of repeats with bf16 (50.0%"],
    ),
    Case(
        "hooks in several cells",
        edits={"compression": where({"hook": "fp16"}, per_worker_batch=64)},
        says=[
            "gradients a step is faster with bf16 at N = 2, b = 32 (50",
            "with fp16 at N = 2, b = 64 (50",
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
    ("case", "reason"), [(NEGATIVE, "negative"), (BELOW_NOISE, "not told from zero")], ids=str
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
        moved = 2 * (workers - 1) / workers * 4e6
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
    assert answer(NO_ARMS).figures[0].caption.startswith("Lines are")


def test_more_workers_on_other_links_are_a_further_table_of_predictions() -> None:
    answer = answer_one("Q3.2", Case("").inputs)
    (table,) = [one for one in answer.tables if "other links" in one.caption]
    assert table.further
    assert "Predicted, not measured" in table.caption
    assert "are predicted, not measured: from this machine's computation" in answer.method[0]
    refused = answer_one("Q3.2", Case("", edits={"what_if": where(efficiency_frac=NAN)}).inputs)
    assert not [one for one in refused.tables if "other links" in one.caption]
