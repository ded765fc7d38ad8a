"""Q3.2: what is said of bandwidths and the link follows the tables, and turns round with them."""

import pytest

from answer_checks import answers, around, edited, lab, of_factor, text_of


def test_bandwidth_is_bytes_of_the_epoch_over_its_communication_time():
    # 4 MB times 10000/64 iterations over 0.5125 s
    value = of_factor(0.6)["Q3.2"].values["lab_bytes_per_s_n2_b32"]
    assert value.value == pytest.approx(4e6 * 156.25 / 0.5125)
    assert value.unit == "bytes/s"


@pytest.mark.parametrize(
    ("factor", "noise", "reason"), [(0.4, 0.02, "negative"), (0.5, 0.05, "below the noise")]
)
def test_no_bandwidth_follows_from_what_is_no_time(factor, noise, reason):
    answer = of_factor(factor, noise=noise, direct=False)["Q3.2"]
    assert answer.sentence.startswith(
        f"No bandwidth follows where the communication time is {reason}"
    )
    value = answer.values["lab_bytes_per_s_n2_b32"]
    assert (value.value, value.status) == (None, reason)


def test_a_bandwidth_that_depends_on_the_batch_is_said_to_and_one_that_does_not_is_not():
    assert "at N = 2, from b = 32 to 512, it falls" in text_of(of_factor(0.6)["Q3.2"])
    level = edited("bandwidth", **around("lab_bytes_per_s", 1e9))["Q3.2"]
    assert "at N = 2, from b = 32 to 512, it does not change" in text_of(level)
    assert "Where it" not in text_of(of_factor(0.6)["Q3.2"])
    assert "Where it falls" in text_of(of_factor(0.6, direct=False)["Q3.2"])


def test_without_the_arms_no_other_rate_stands_in():
    answer = of_factor(0.6, direct=False)["Q3.2"]
    assert "The bus bandwidth of the same buckets alone and the rate of the link are not" in (
        text_of(answer)
    )
    assert (answer.missing, answer.figures, len(answer.tables)) == ([], ["bandwidth"], 1)


@pytest.mark.parametrize(
    ("lab_rate", "claim"),
    [
        (1e5, "The lab's bandwidth is below it in all six cells: the time it divides by holds"),
        (1e12, "The lab's bandwidth is above it in all six cells: the time it divides by misses"),
        (1e9, "The lab's bandwidth agrees with it within the intervals in all six cells."),
    ],
)
def test_the_labs_bandwidth_against_the_buckets_alone_turns_round(lab_rate, claim):
    columns = around("lab_bytes_per_s", lab_rate) | around("busbw_bytes_per_s", 1e9)
    derived, tidy = lab()
    split = derived["communication"].assign(
        overhead_s=0.001, contention_s=0.001, exposed_s=0.1, buckets_s=0.4
    )
    changed = {"communication": split, "bandwidth": derived["bandwidth"].assign(**columns)}
    assert claim in text_of(answers(derived | changed, tidy)["Q3.2"])


def test_the_reason_for_a_low_bandwidth_is_the_larger_of_the_two():
    few = {"overhead_s": 0.01, "contention_s": 0.01, "buckets_s": 0.1}
    waits = edited("communication", exposed_s=0.4, **few)["Q3.2"]
    assert "holds a transfer that takes longer beside training than alone" in text_of(waits)
    contends = edited("communication", exposed_s=0.1, **few)["Q3.2"]
    assert "holds overhead and contention too" in text_of(contends)


@pytest.mark.parametrize(
    ("rate", "frac", "claim"),
    [
        (0.8e9, 0.5, "The buckets alone stay below it in all six cells, at 50.0% of it"),
        (3.2e9, 2.0, "at 200% of it, so raw TCP is no upper limit for these messages here"),
        (1.6e9, 1.0, "The buckets alone reach it within the intervals in all six cells"),
    ],
)
def test_the_buckets_alone_against_the_link_turn_round(rate, frac, claim):
    columns = around("busbw_bytes_per_s", rate) | {"busbw_of_link_frac": frac}
    answer = edited("bandwidth", **columns)["Q3.2"]
    assert claim in text_of(answer)
    assert f"{100 * frac:.3g}"[:3] in answer.sentence


def test_a_configured_rate_is_named_and_cannot_be_exceeded():
    columns = around("busbw_bytes_per_s", 3.2e9) | {"busbw_of_link_frac": 2.0}
    answer = edited("bandwidth", link_source="configured", **columns)["Q3.2"]
    assert "The link's rate is the configured one" in text_of(answer)
    assert "so that rate is not the true one" in text_of(answer)


def test_an_unknown_link_leaves_the_comparison_out():
    nan = float("nan")
    columns = {"link_bytes_per_s": nan, "link_source": None, "busbw_of_link_frac": nan}
    answer = edited("bandwidth", **columns)["Q3.2"]
    assert "The rate of the link is not measured, so that comparison is left out" in text_of(answer)
    assert "of the link's rate" not in answer.sentence


def test_bytes_over_the_exposed_time_are_never_a_bandwidth():
    answer = answers(*lab())["Q3.2"]
    assert "Bytes over the exposed time of Q3.1 would be no bandwidth" in text_of(answer)
    keys = {column.key for table in answer.tables for column in table.columns}
    assert "exposed_s" not in keys


def test_latency_and_bandwidth_of_the_link_stand_with_their_formula():
    # the made-up link has 10 us and 1.5 GB/s
    answer = answers(*lab())["Q3.2"]
    assert "at N = 2, $\\alpha$ is 10.0\u00a0µs" in text_of(answer)
    assert "$\\beta$ 1.50\u00a0GB/s" in text_of(answer)
    assert any("\\alpha" in formula for formula in answer.formula)
    assert "link_fit" in answer.figures


@pytest.mark.parametrize(
    ("rate", "claim"),
    [
        (1e9, "The fitted bandwidth is below what raw TCP gives at N = 2 and 4"),
        (9e9, "The fitted bandwidth is above what raw TCP gives at N = 2 and 4"),
        (1.6e9, "is equal to what raw TCP gives within the intervals at N = 2 and 4"),
    ],
)
def test_the_fitted_bandwidth_against_raw_tcp_turns_round(rate, claim):
    assert claim in text_of(edited("link", **around("beta_bytes_per_s", rate))["Q3.2"])


def test_a_latency_whose_interval_reaches_zero_is_not_told_from_it():
    answer = edited("link", alpha_s_low=0.0)["Q3.2"]
    assert "which is not told from zero" in text_of(answer)
    assert "not told from zero" not in text_of(answers(*lab())["Q3.2"])


def test_latency_outweighs_bytes_only_where_the_whole_payload_is_small():
    slow = text_of(edited("link", **around("level_bytes", 1e12))["Q3.2"])
    assert "spend more of their time on latency than on bytes" in slow
    assert "on latency than on bytes" not in text_of(answers(*lab())["Q3.2"])


def test_a_link_without_a_fit_says_why():
    nan = float("nan")
    note = "the times do not grow with the bytes: no rate follows"
    answer = edited("link", beta_bytes_per_s=nan, alpha_s=nan, note=note)["Q3.2"]
    assert f"No latency and bandwidth follow at N = 2: {note}; N = 4: {note}." in text_of(answer)
    assert "link_fit" not in answer.figures


@pytest.mark.parametrize("run", ["link-n2", "compression-n2"])
def test_a_planned_link_or_compression_run_without_a_result_withholds_the_conclusion(run):
    found = answers(*lab(not_run=(run,)))
    assert len(found["Q3.2"].missing) == 1
    assert found["Q3.2"].missing[0].endswith("not run yet")
    assert found["Q3.1"].missing == []
