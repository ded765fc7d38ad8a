"""Q3.2: what it says of bandwidths, link, hooks and what ifs turns round with the tables."""

import pytest

from builders import Tables, full_lab
from cases import Case, Edit, around, both, check, figures, only, where
from dpscale.reporting.answer import Answer, Table, Value
from dpscale.studies import answer_one

NAN = float("nan")
SPLIT = {"overhead_s": 0.001, "contention_s": 0.001, "exposed_s": 0.1, "buckets_s": 0.4}
CONTENDS = {"overhead_s": 0.1, "contention_s": 0.1, "exposed_s": 0.4, "buckets_s": 0.4}
NOTHING = dict.fromkeys(("step_s", "exposed_step_s", "speedup_ratio", "efficiency_frac"), NAN)
REFUSED = {"status": "refused", **NOTHING}
MISSED = "the model missed a measured number of workers by 28%"
NO_FIT = "the times do not grow with the bytes: no rate follows"
UNKNOWN_LINK = {"link_bytes_per_s": NAN, "link_source": None, "busbw_of_link_frac": NAN}


def _rates(batch: int, rate: float) -> Edit:
    return where({"per_worker_batch": batch}, **around("lab_bytes_per_s", rate))


def _no_interval(column: str) -> dict[str, float]:
    return {f"{column}_low": NAN, f"{column}_high": NAN}


def _apart(lab_rate: float, parts: dict[str, float]) -> dict[str, Edit]:
    """The lab's rate against 1 GB/s of the buckets, and the parts of the lab's time."""
    rates = around("lab_bytes_per_s", lab_rate) | around("busbw_bytes_per_s", 1e9)
    return {"bandwidth": where(**rates), "communication": where(**parts)}


def _of_link(rate: float, frac: float, source: str = "tcp") -> dict[str, Edit]:
    columns = around("busbw_bytes_per_s", rate) | {"busbw_of_link_frac": frac}
    return {"bandwidth": where(**columns, link_source=source)}


def _without_link_runs() -> Tables:
    tidy = full_lab()
    gone = tidy["runs"].loc[tidy["runs"]["study"] == "link", "run"]
    return {
        name: frame[~frame["run"].isin(gone)] if "run" in frame else frame
        for name, frame in tidy.items()
    }


AS_MEASURED = Case(
    "as measured",
    says=["By Q3.1's subtraction the busiest worker sends 178 MB/s to 1.22 GB/s with two "
          "workers, 11.1% to 76.2% of the link's rate, and 121 MB/s to 831 MB/s with four, 7.58% "
          "to 52.0%. Bytes, not latency, take most of an all-reduce: 2.67 ms of 2.69 ms with two. "
          "The lab's time also holds contention and overhead.",
          "Each iteration all-reduces 1 000 000 parameters of 4 bytes, $S$ = 4 000 000 B.",
          "4 000 000 B at N = 2 and 6 000 000 B at N = 4. The first formula",
          "the bytes 2.67 ms at N = 2 and latency takes",
          "is what raw TCP reaches between the same workers, 1.60 GB/s (1.58 to 1.62) at N = 2 and",
          "The buckets alone are the same at every b: their",
          "GB/s at N = 2 differ by more than their intervals; those of 152 MB/s to",
          "at N = 2, from b = 32 to 512, it falls; at N = 4, from b = 32 to 512, it falls.",
          "Bytes over the exposed time of Q3.1 would be no bandwidth",
          # the made-up link has 10 us and 1.5 GB/s
          "at N = 2, $\\alpha$ is 10.0 µs (7.6 to 12.5) and $\\beta$ 1.50 GB/s (1.49 to 1.51), and",
          "%; at N = 4, $\\alpha$",
          "exchange at N = 2, b = 32: bf16 halves the bytes of the gradients as counted, and its "
          "step is faster here",
          "fp16 halves the bytes of the gradients as counted, and its step is slower here",
          "PowerSGD sends 10.0% of the gradients' bytes as counted, and its step is not told",
          "table of it is predicted, not measured",
          "training takes 1.00× as long as alone at b = 32 and 5.81× as long as alone at b = 512; "
          "that stretch is this machine's and not",
          "Predicted, not measured: efficiency, the speed-up over N", "80.5%", "0.137%",
          "than the training set from N = 512 on at b = 32 and from N = 32 on at b = 512: there,",
          "No prediction is made on this link from N = 16 on at b = 32 (pieces of",
          "In short: Reduced alone, the buckets reach"],
    never=["Where it", "not told from zero", "would help little", "too small to fill the link"],
)  # fmt: skip
NO_ARMS = Case(
    "without the arms", lab={"direct": False},
    says=["The bus bandwidth of the same buckets alone and the rate of the link are not measured, "
          "so it is not known how much", "Where it falls, the time in the denominator"],
    never=["Where it rises", "Reduced alone", "The lab's time also"],
)  # fmt: skip
NEGATIVE = Case(
    "a negative time", lab={"two_worker_factor": 0.4, "direct": False},
    says=["No bandwidth follows where the communication time is negative (N = 2 with b = 32, 128",
          "No bandwidth follows from Q3.1's communication time, which is negative. What the same "
          "buckets reach alone is open.",
          "so nothing stands in for the bandwidth that the subtraction lacks."],
)  # fmt: skip
BELOW_NOISE = Case(
    "a time below the noise", lab={"two_worker_factor": 0.5, "noise": 0.05, "direct": False},
    says=["No bandwidth follows where the communication time is not told from zero"],
)  # fmt: skip
WITHOUT_A_FIT = Case(
    "a link without a fit",
    edits={"link": where(beta_bytes_per_s=NAN, alpha_s=NAN, note=NO_FIT)},
    says=[f"No latency and bandwidth follow at N = 2: {NO_FIT}; N = 4: {NO_FIT}."],
    never=["An all-reduce costs a latency", "by the fitted formula", "take most of"],
)  # fmt: skip
NO_HOOKS = Case("no hooks", edits={"compression": only(hook="zip")}, never=["Compressed gradients"])
ONE_REFUSED = Case(
    "a batch refused on every link",
    edits={"what_if": where({"per_worker_batch": 512}, **REFUSED, note=MISSED)},
    says=["on this link, fast and slow from N = 2 on at b = 512 (the model missed"],
)  # fmt: skip
ALL_REFUSED = Case(
    "all what ifs refused",
    edits={"what_if": where(**REFUSED, note="the link has no fit at N = 2")},
    says=["would give is not predicted: the link has no fit at N = 2."],
    never=["Predicted"],
)  # fmt: skip
NO_LINK_RUNS = Case(
    "no link runs", lab=_without_link_runs,
    says=["is not predicted: the link has no fit at N = 2"], never=["The conclusion is withheld"],
)  # fmt: skip
CASES = [
    AS_MEASURED, NO_ARMS, NEGATIVE, BELOW_NOISE, WITHOUT_A_FIT, NO_HOOKS, ONE_REFUSED, ALL_REFUSED,
    NO_LINK_RUNS,
    Case("a time of one repeat", edits={"communication": where(**_no_interval("subtraction_s"))},
         says=["is not told from zero for want of repeats (N = 2 with b = 32, 128 and 512; N = 4"],
         never=["The lab's bandwidth"]),
    Case("one cell negative",
         edits={"communication": where({"workers": 2, "per_worker_batch": 32},
                                       **around("subtraction_s", -1.0))},
         says=["831 MB/s with four", "No bandwidth follows where the communication time is "
               "negative (N = 2 with b = 32)."]),
    Case("one cell", edits={"bandwidth": only(workers=2, per_worker_batch=32)},
         says=["sends 1.22 GB/s (1.07 to 1.42) with two workers, 76.2% of the link's rate. ",
               "In short: Reduced alone, the buckets reach 1.52 GB/s at the most; the lab's",
               "is below it in the one cell measured (N = 2, b = 32)"],
         never=["Every iteration moves the same bytes"]),
    Case("two cells", edits={"bandwidth": only(workers=2, per_worker_batch=[32, 128])},
         says=["is below it in both cells: "]),
    Case("level", edits={"bandwidth": where(**around("lab_bytes_per_s", 1e9))},
         says=["at N = 2, from b = 32 to 512, it is at no two b told apart;"]),
    Case("rising", lab={"direct": False},
         edits={"bandwidth": both(_rates(128, 5e9), _rates(512, 9e9))},
         says=["at N = 2, from b = 32 to 512, it rises;", "Where it rises, a larger part"],
         never=["Where it falls"]),
    Case("up and down", lab={"direct": False},
         edits={"bandwidth": _rates(512, 9e9)},
         says=["at N = 2, from b = 32 to 512, it goes up and down;"],
         never=["Where it falls", "Where it rises"]),
    Case("rates of one repeat", edits={"bandwidth": where(**_no_interval("lab_bytes_per_s"))},
         says=["from b = 32 to 512, it has no two-sided interval",
               "bandwidth has no two-sided interval to be compared with it in all six cells.",
               "Too few repeats compare it with the same buckets alone."]),
    Case("below, waits", edits=_apart(1e5, SPLIT),
         says=["is below it in all six cells: the time it divides by holds a transfer that takes",
               "Beside training a transfer takes longer than alone."]),
    Case("below, contends", edits=_apart(1e5, CONTENDS),
         says=["the time it divides by holds overhead and contention too"]),
    Case("above, hides", edits=_apart(1e12, SPLIT),
         says=["is above it in all six cells: the time it divides by misses",
               "The lab's time misses what the backward pass hides."]),
    Case("above, contends", edits=_apart(1e12, CONTENDS),
         says=["the time it divides by is shortened by overhead and contention that are below"]),
    Case("below, without a part", edits=_apart(1e5, {"overhead_s": NAN}),
         says=["The lab's bandwidth is below it in all six cells.",
               "Alone, the same buckets are faster."]),
    Case("agrees", edits=_apart(1e9, SPLIT),
         says=["The lab's bandwidth is not told apart from it in all six cells.",
               "Alone, the same buckets are not told faster.",
               "their 1.00 GB/s at N = 2 are not told apart; those of 1.00 GB/s at N = 4 are not"]),
    Case("agrees at N = 2",
         edits=_apart(1e9, SPLIT) | {"bandwidth": both(
             _apart(1e9, SPLIT)["bandwidth"],
             where({"workers": 4}, **around("lab_bytes_per_s", 1e5)))},
         says=["is not told apart from it in three of the six cells (N = 2 with b = 32, "
               "128 and 512); it is below it in three of the six cells (N = 4 with b = 32, 128"]),
    Case("buckets below the link", edits=_of_link(0.8e9, 0.5),
         says=["The buckets alone stay below it in all six cells, at 50.0% of it. An all-reduce"]),
    Case("buckets above the link", edits=_of_link(3.2e9, 2.0),
         says=["Raw TCP is timed while each worker sends", "The buckets alone exceed it in "
               "all six cells, at 200% of it, so raw TCP is no upper limit for these messages"]),
    Case("buckets as the link", edits=_of_link(1.6e9, 1.0),
         says=["The buckets alone are not told apart from it in all six cells. "]),
    Case("buckets of one repeat",
         edits={"bandwidth": where(**_no_interval("busbw_bytes_per_s"))},
         says=["Too few repeats decide where the buckets alone lie in all six cells.",
               "at N = 2 have too few repeats to be compared; those of"]),
    Case("a configured link", edits=_of_link(3.2e9, 2.0, "configured"),
         says=["The link's rate is the configured one, 1.60 GB/s at N = 2 and 1.60 GB/s at N = 4. "
               "The buckets alone exceed it", "of it, more than the configured link could carry, "
               "so that rate is not the true one."], never=["Raw TCP is timed"]),
    Case("two kinds of buckets",
         edits={"bandwidth": both(_of_link(0.8e9, 0.5)["bandwidth"],
                                  where({"workers": 4}, **around("busbw_bytes_per_s", 1.6e9)))},
         says=["50.0% of it; the buckets alone are not told apart from it in three of the six"]),
    Case("an unknown link", edits={"bandwidth": where(**UNKNOWN_LINK)},
         says=["The rate of the link is not measured, so that comparison is left out"],
         never=["of the link's rate"]),
    Case("buckets not measured", edits={"bandwidth": where(busbw_bytes_per_s=NAN)},
         says=["The bus bandwidth of the same buckets alone is not measured, so that comparison"],
         never=["Bytes over the exposed time"]),
    Case("fit below TCP", edits={"link": where(**around("beta_bytes_per_s", 1e9))},
         says=["The fitted bandwidth is below what raw TCP gives at N = 2 and 4."]),
    Case("fit above TCP", edits={"link": where(**around("beta_bytes_per_s", 9e9))},
         says=["The fitted bandwidth is above what raw TCP gives at N = 2 and 4."]),
    Case("fit as TCP", edits={"link": where(**around("beta_bytes_per_s", 1.6e9))},
         says=["is not told apart from what raw TCP gives at N = 2 and 4."]),
    Case("fit of one repeat", edits={"link": where(**_no_interval("beta_bytes_per_s"))},
         says=["is not comparable with raw TCP for want of repeats at N = 2 and 4."]),
    Case("two kinds of fit",
         edits={"link": where({"workers": 4}, **around("beta_bytes_per_s", 9e9))},
         says=["is below what raw TCP gives at N = 2 and above what raw TCP gives at N = 4."]),
    Case("no raw TCP",
         edits={"link": where(tcp_bytes_per_s=NAN), "bandwidth": where(**UNKNOWN_LINK)},
         never=["The fitted bandwidth is"]),
    Case("one fit", edits={"link": where({"workers": 4}, beta_bytes_per_s=NAN, note=NO_FIT)},
         says=[f"No latency and bandwidth follow at N = 4: {NO_FIT}."]),
    Case("latency of zero", edits={"link": where(alpha_s_low=0.0)},
         says=["10.0 µs (0.0 to 12.5), which is not told from zero, and"]),
    Case("latency outweighs", edits={"link": where(**around("level_bytes", 1e12))},
         says=["The message is too small to fill the link: latency takes 20.0 µs of 2.69 ms with",
               "for a message of $N \\alpha \\beta$, 1.00 TB at N = 2 and 1.00 TB at N = 4; more "
               "bytes per second alone would help little."], never=["Bytes, not latency"]),
    Case("neither outweighs",
         edits={"link": where(level_bytes_low=1e3, level_bytes_high=1e9)},
         says=["An all-reduce alone takes 2.69 ms with two by the fitted formula."],
         never=["would help little", "Bytes, not latency"]),
    Case("not half", edits={"compression": where(bytes_ratio=0.6)},
         says=["fp16 sends 60.0% of the gradients' bytes"], never=["halves"]),
    Case("as many bytes", edits={"compression": where(bytes_ratio=1.0)},
         says=["fp16 sends as many bytes as the gradients have, and"]),
    Case("more bytes", edits={"compression": where(bytes_ratio=1.5)},
         says=["fp16 sends 1.50× as many bytes as the gradients have, and"]),
    Case("bytes not counted", edits={"compression": where(bytes_ratio=NAN)},
         says=["fp16 has no counted bytes, and its step is slower"]),
    Case("steps not timed", edits={"compression": where(step_ratio=NAN)},
         says=["fp16 halves the bytes of the gradients as counted, and its step was not timed;"]),
    Case("steps of one repeat", edits={"compression": where(**_no_interval("step_ratio"))},
         says=["as counted, and too few repeats decide about its step, 1.10× as long;"]),
    Case("hooks in several cells",
         edits={"compression": where({"hook": "fp16"}, per_worker_batch=64)},
         says=["the plain exchange: bf16 at N = 2, b = 32 halves", "fp16 at N = 2, b = 64 halves"]),
    Case("within the training set", edits={"what_if": where(exceeds_dataset=False)},
         never=["larger than the training set"]),
    *(Case(f"{run} not run", lab={"not_run": (run,)},
           says=["withheld: one result that it needs is missing", ": not run yet"])
      for run in ("link-n2", "compression-n2")),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_q3_2_says(case: Case) -> None:
    check("Q3.2", case)


def answer(case: Case) -> Answer:
    return answer_one("Q3.2", case.inputs)


def table(found: Answer, words: str) -> Table:
    return next(one for one in found.tables if words in one.caption)


def test_bandwidth_is_bytes_of_the_epoch_over_its_communication_time() -> None:
    # 4 MB times 10000/64 iterations over 0.5125 s
    value = answer(AS_MEASURED).values["lab_bytes_per_s_n2_b32"]
    assert value.value == pytest.approx(4e6 * 156.25 / 0.5125)
    assert value.unit == "bytes/s"


@pytest.mark.parametrize(
    ("case", "reason"), [(NEGATIVE, "negative"), (BELOW_NOISE, "not told from zero")], ids=str
)
def test_what_is_no_time_gives_no_bandwidth(case: Case, reason: str) -> None:
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
)  # fmt: skip
def test_a_figure_stands_where_it_has_something_to_show(case: Case, absent: set[str]) -> None:
    found = answer(case)
    assert set(figures(found)) == {"bandwidth", "link_fit", "compression"} - absent
    assert [one.name for one in found.figures if not one.further] == ["bandwidth"]
    assert any("\\alpha" in formula for formula in found.formula) == ("link_fit" not in absent)
    assert any("MPICH" in work for work in found.references) == ("link_fit" not in absent)
    assert any("PowerSGD" in work for work in found.references) == ("compression" not in absent)


def test_what_ifs_are_marked_as_predicted_and_go_further():
    found = table(answer(AS_MEASURED), "Predicted, not measured")
    assert found.further
    assert [one.caption for one in answer(ALL_REFUSED).tables if "Predicted" in one.caption] == []


def test_the_share_of_the_link_is_the_labs_rate_over_the_links() -> None:
    row = table(answer(AS_MEASURED), "busiest worker").rows[0]
    share, rate = row["lab_of_link_frac"], row["lab_bytes_per_s"]
    assert isinstance(share, Value)
    assert isinstance(rate, Value)
    assert share.value == pytest.approx(float(rate.value or 0) / 1.6e9, rel=0.02)
    assert set(rate.runs) < set(share.runs)


def test_a_cell_that_is_refused_shows_no_number() -> None:
    row = table(answer(AS_MEASURED), "Predicted, not measured").rows[0]
    assert row["link"] == "this link"
    cell = row["1024"]
    assert not isinstance(cell, (str, int, float))
    assert cell is not None
    assert (cell.value, cell.status) == (None, "refused")


def test_a_batch_that_every_link_refuses_has_no_row() -> None:
    shown = table(answer(ONE_REFUSED), "Predicted, not measured")
    assert {row["per_worker_batch"] for row in shown.rows} == {32}


@pytest.mark.parametrize("run", ["link-n2", "compression-n2"])
def test_a_planned_run_without_a_result_withholds_this_conclusion_alone(run: str) -> None:
    case = next(one for one in CASES if one.name == f"{run} not run")
    assert len(answer(case).missing) == 1
    assert answer_one("Q3.1", case.inputs).missing == []
