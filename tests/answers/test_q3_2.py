"""Q3.2: what it says of bandwidths, link, hooks and what ifs turns round with the tables."""

import pytest

from builders import Tables, full_lab
from cases import Case, Edit, around, both, check, figures, only, where, without
from dpscale.reporting.answer import Answer, Table
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
    says=["give ranges from 121 MB/s (113 to 130) at N = 4, b = 512 to 1.22 GB/s",
          "; the same buckets reduced alone reach from 152 MB/s at N = 4, b = 512 to 1.52 GB/s at",
          "b = 32, 9.48% to 95.3% of the link's rate.",
          "$S$ is 4 000 000 B in every iteration, of which the busiest worker sends 4 000 000 B at "
          "N = 2 and 6 000 000 B at N = 4. An epoch",
          "at N = 2, from b = 32 to 512, it falls; at N = 4, from b = 32 to 512, it falls.",
          "Bytes over the exposed time of Q3.1 would be no bandwidth",
          # the made-up link has 10 us and 1.5 GB/s
          "at N = 2, $\\alpha$ is 10.0 µs (7.6 to 12.5) and $\\beta$ 1.50 GB/s (1.49 to 1.51); the",
          "%. At N = 4, $\\alpha$",
          "exchange at N = 2, b = 32: bf16 halves the bytes of the gradients as counted, and its "
          "step is faster here",
          "fp16 halves the bytes of the gradients as counted, and its step is slower here",
          "PowerSGD sends 10.0% of the gradients' bytes as counted, and its step is not told",
          "two tables of it are predicted, not measured",
          "$\\kappa$ = 1.00× as long as alone at b = 32 and $\\kappa$ = 5.81× as long as alone at "
          "b = 512, and all averages with it; that stretch is this machine's and not",
          "At b = 512, at least 50% of the ideal speed-up is predicted on this link up to N = 8 "
          "(76.0% at N = 8) and on fast up to N = 1 024 (80.5% at N = 1 024); less on slow "
          "(0.137% at N = 1 024) at every N. On slow some numbers",
          "than the training set from N = 512 on at b = 32 and from N = 32 on at b = 512: there,",
          "No prediction is made on this link from N = 16 on at b = 32 (pieces of",
          "bf16 gradients (15.9%), fp16 gradients (15.9%), PowerSGD (16.4%), averaging every 4 "
          "steps (41.2%) and averaging every 16 steps (71.3%) raise it.",
          "on slow at N = 8, b = 512. gradients as they are",
          "1.60 GB/s (1.58 to 1.62) raw TCP"],
    never=["Where it", "not told from zero", "on latency than on bytes"],
)  # fmt: skip
NO_ARMS = Case(
    "without the arms", lab={"direct": False},
    says=["The bus bandwidth of the same buckets alone and the rate of the link are not measured, "
          "so it is not known how much", "Where it falls, the time in the denominator"],
    never=["Where it rises", "the same buckets reduced alone reach"],
)  # fmt: skip
NEGATIVE = Case(
    "a negative time", lab={"two_worker_factor": 0.4, "direct": False},
    says=["No bandwidth follows where the communication time is negative (N = 2 with b = 32, 128",
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
    never=["What an all-reduce of any size takes"],
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
         says=["is not told from zero for want of repeats (N = 2 with b = 32, 128 and 512; N = 4",
               "; the same buckets"], never=["The lab's bandwidth"]),
    Case("one cell negative",
         edits={"communication": where({"workers": 2, "per_worker_batch": 32},
                                       **around("subtraction_s", -1.0))},
         says=["to 831 MB/s (770 to 903) at N = 4, b = 32; no bandwidth follows where the "
               "communication time is negative (N = 2 with b = 32); the same"]),
    Case("one cell", edits={"bandwidth": only(workers=2, per_worker_batch=32)},
         says=["time give is 1.22 GB/s (1.07 to 1.42) at N = 2, b = 32; the same buckets reduced "
               "alone reach 1.52 GB/s at N = 2, b = 32, 95.3% of the link's rate.",
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
               "bandwidth has no two-sided interval to be compared with it in all six cells."]),
    Case("below, waits", edits=_apart(1e5, SPLIT),
         says=["is below it in all six cells: the time it divides by holds a transfer that takes"]),
    Case("below, contends", edits=_apart(1e5, CONTENDS),
         says=["the time it divides by holds overhead and contention too"]),
    Case("above, hides", edits=_apart(1e12, SPLIT),
         says=["is above it in all six cells: the time it divides by misses"]),
    Case("above, contends", edits=_apart(1e12, CONTENDS),
         says=["the time it divides by is shortened by overhead and contention that are below"]),
    Case("below, without a part", edits=_apart(1e5, {"overhead_s": NAN}),
         says=["The lab's bandwidth is below it in all six cells."]),
    Case("agrees", edits=_apart(1e9, SPLIT),
         says=["The lab's bandwidth is not told apart from it in all six cells."]),
    Case("agrees at N = 2",
         edits=_apart(1e9, SPLIT) | {"bandwidth": both(
             _apart(1e9, SPLIT)["bandwidth"],
             where({"workers": 4}, **around("lab_bytes_per_s", 1e5)))},
         says=["is not told apart from it in three of the six cells (N = 2 with b = 32, "
               "128 and 512); it is below it in three of the six cells (N = 4 with b = 32, 128"]),
    Case("buckets below the link", edits=_of_link(0.8e9, 0.5),
         says=["The buckets alone stay below it in all six cells, at 50.0% of it. An all-reduce",
               "50.0% of the link's rate."]),
    Case("buckets above the link", edits=_of_link(3.2e9, 2.0),
         says=["when each sends to the next one at the same time. The buckets alone exceed it in "
               "all six cells, at 200% of it, so raw TCP is no upper limit for these messages",
               "200% of the link's rate."],
         never=["An all-reduce also adds"]),
    Case("buckets as the link", edits=_of_link(1.6e9, 1.0),
         says=["The buckets alone are not told apart from it in all six cells. ",
               "100% of the link's rate."]),
    Case("buckets of one repeat",
         edits={"bandwidth": where(**_no_interval("busbw_bytes_per_s"))},
         says=["Too few repeats decide where the buckets alone lie in all six cells."]),
    Case("a configured link", edits=_of_link(3.2e9, 2.0, "configured"),
         says=["The link's rate is the configured one. The buckets alone exceed it", "of it, more "
               "than the configured link could carry, so that rate is not the true one.",
               "1.60 GB/s (1.60 to 1.60) configured"]),
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
         says=[f"gives at N = 2. No latency and bandwidth follow at N = 4: {NO_FIT}."]),
    Case("latency of zero", edits={"link": where(alpha_s_low=0.0)},
         says=["10.0 µs (0.0 to 12.5), which is not told from zero, and"]),
    Case("latency outweighs", edits={"link": where(**around("level_bytes", 1e12))},
         says=["bytes, 1.00 TB at N = 2 and 1.00 TB at N = 4. There, all of $S$ is less",
               "spend more of their time on latency than on bytes"]),
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
    Case("low efficiency", edits={"what_if": where(efficiency_frac=0.3)},
         says=["less than 50% of the ideal speed-up is predicted on this link (30.0% at N = "]),
    Case("high efficiency", edits={"what_if": where(efficiency_frac=0.9)},
         says=["at least 50% of the ideal speed-up is predicted on this link up to N = "],
         never=["at every N"]),
    Case("never slower than one", edits={"what_if": where({"link": "slow"}, speedup_ratio=2.0)},
         never=["predicted to be slower than one"]),
    Case("within the training set", edits={"what_if": where(exceeds_dataset=False)},
         never=["larger than the training set"]),
    Case("a variant lowers",
         edits={"what_if": where({"variant": "powersgd"}, efficiency_frac=0.0001)},
         says=["PowerSGD (0.0100%) lowers it"]),
    Case("a variant leaves", edits={"what_if": both(
             where(efficiency_frac=0.5),
             where({"variant": "local_4", "workers": 8}, efficiency_frac=0.6))},
         says=["for gradients as they are: bf16 gradients (50.0%), fp16 gradients (50.0%), "
               "PowerSGD (50.0%) and averaging every 16 steps (50.0%) leave it as it is; "
               "averaging every 4 steps (60.0%) raises it."]),
    Case("no variant gains", edits={"what_if": where(efficiency_frac=0.5)},
         never=["Fewer bytes matter most"]),
    Case("no compressed variants", edits={"what_if": without(variant=["fp16", "bf16"])},
         says=["for gradients as they are: PowerSGD (16.4%), averaging every 4"]),
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
    [(AS_MEASURED, set()), (WITHOUT_A_FIT, {"link_fit"}), (NO_HOOKS, {"compression"}),
     (ALL_REFUSED, {"what_if"})],
    ids=str,
)  # fmt: skip
def test_a_figure_stands_where_it_has_something_to_show(case: Case, absent: set[str]) -> None:
    found = answer(case)
    assert set(figures(found)) == {"bandwidth", "link_fit", "compression", "what_if"} - absent
    assert any("\\alpha" in formula for formula in found.formula) == ("link_fit" not in absent)
    assert any("MPICH" in work for work in found.references) == ("link_fit" not in absent)
    assert any("PowerSGD" in work for work in found.references) == ("compression" not in absent)


def test_what_ifs_are_marked_as_predicted_in_their_captions() -> None:
    captions = [one.caption for one in answer(AS_MEASURED).tables[-3:]]
    assert all(caption.startswith("Predicted, not measured") for caption in captions)


def test_a_cell_that_is_refused_shows_no_number() -> None:
    row = table(answer(AS_MEASURED), "speed-up over one worker").rows[0]
    assert row["link"] == "this link"
    cell = row["1024"]
    assert not isinstance(cell, (str, int, float))
    assert cell is not None
    assert (cell.value, cell.status) == (None, "refused")


def test_a_batch_that_every_link_refuses_has_no_row() -> None:
    shown = table(answer(ONE_REFUSED), "speed-up over one worker")
    assert {row["per_worker_batch"] for row in shown.rows} == {32}


@pytest.mark.parametrize("run", ["link-n2", "compression-n2"])
def test_a_planned_run_without_a_result_withholds_this_conclusion_alone(run: str) -> None:
    case = next(one for one in CASES if one.name == f"{run} not run")
    assert len(answer(case).missing) == 1
    assert answer_one("Q3.1", case.inputs).missing == []
