"""The ring model: its fit, the overlap of buckets, predictions of unseen N, and what-ifs."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import direct_builders as made
from builders import derived_lab, full_lab, table
from dpscale.derive import ring
from dpscale.derive.formulas import device_share, ring_allreduce_seconds, sharing_seconds
from dpscale.derive.ring import (
    Observed,
    Transfer,
    averaging_seconds,
    exposed_seconds,
    observe,
    transfer,
)
from dpscale.studies import derived_of
from dpscale.studies.scaling.derive.link import fit_ring, link
from dpscale.studies.scaling.derive.prediction import LOCAL_STEPS


def test_the_ring_takes_a_latency_a_message_and_the_bytes_over_the_rate():
    # N = 4: 6 messages of 1 ms, and 6/4 of 4 MB at 1 GB/s
    assert ring_allreduce_seconds(4e6, 4, 1e-3, 1e9) == pytest.approx(6e-3 + 6e-3)
    assert ring_allreduce_seconds(4e6, 1, 1e-3, 1e9) == 0


def test_workers_share_a_device_only_when_there_are_more_of_them():
    assert device_share(4.0, 2.0) == 2
    assert device_share(1.0, 2.0) == 1
    # T_1 = 8 s: a quarter is 2 s, and two devices need 4 s.
    assert sharing_seconds(2.0, 4.0, 2.0) == 8 / 2 - 8 / 4
    assert sharing_seconds(2.0, 1.0, 2.0) == 0


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_the_fit_gives_back_latency_and_rate(workers):
    sizes = made.MESSAGE_BYTES
    times = {size: ring_allreduce_seconds(float(size), workers, 3e-4, 2e8) for size in sizes}
    fit = fit_ring(times, workers)
    assert fit.alpha_s == pytest.approx(3e-4)
    assert fit.beta_bytes_per_s == pytest.approx(2e8)


def test_a_fit_never_gives_a_negative_latency():
    fit = fit_ring({1_000_000: 0.9e-3, 2_000_000: 2.2e-3, 4_000_000: 4.6e-3}, 2)
    assert fit.alpha_s == 0
    assert fit.beta_bytes_per_s > 0


def test_times_that_do_not_grow_with_the_bytes_give_no_rate():
    lab = full_lab()
    messages = lab["messages"].assign(seconds=1e-3)
    rows = link(messages, lab["runs"])
    assert rows["beta_bytes_per_s"].isna().all()
    assert rows["note"].str.contains("do not grow").all()


def test_the_true_values_lie_within_the_intervals():
    rng = np.random.default_rng(1)
    lab = full_lab()
    messages = lab["messages"].assign(
        seconds=lab["messages"]["seconds"] * rng.normal(1, 0.003, len(lab["messages"]))
    )
    for _, row in link(messages, lab["runs"]).iterrows():
        assert row["alpha_s_low"] <= made.ALPHA_S <= row["alpha_s_high"]
        assert row["beta_bytes_per_s_low"] <= made.BETA_BYTES_PER_S <= row["beta_bytes_per_s_high"]
        assert row["residual_frac"] < 0.02
        assert (row["smallest_bytes"], row["largest_bytes"]) == (500_000, 4_000_000)


def test_the_interval_of_a_link_is_over_its_launches():
    """Rates of 1.0, 1.1 and 1.3 GB/s in three launches of many repeats each."""
    lab = full_lab()
    link_runs = lab["runs"][lab["runs"]["run"] == "link-n2"]
    names = ["link-n2", "link-n2-launch2", "link-n2-launch3"]
    runs = pd.concat([link_runs.assign(run=name) for name in names])
    rates = zip(names, (1.0e9, 1.1e9, 1.3e9), strict=True)
    messages = pd.DataFrame(
        [row for name, beta in rates for row in made.message_rows(name, 2, beta=beta)]
    )
    (row,) = link(messages, runs).to_dict("records")
    assert row["launches"] == 3
    assert row["beta_bytes_per_s"] == pytest.approx(1.1e9)
    # Logarithms 0, 0.0953 and 0.2624 of 1e9: mean 0.1192, deviation 0.1328, times 4.3027 / sqrt(3).
    assert row["beta_bytes_per_s_low"] == pytest.approx(1e9 * 0.8099, rel=1e-3)
    assert row["beta_bytes_per_s_high"] == pytest.approx(1e9 * 1.5670, rel=1e-3)
    assert row["runs"] == " ".join(names)


def test_the_share_of_latency_follows_from_the_latency_and_the_rate_that_are_given():
    """Of three launches 60, 40 and 120 kB, of which 60 is the median; of the medians it is 80."""
    lab = full_lab()
    link_runs = lab["runs"][lab["runs"]["run"] == "link-n2"]
    names = ["link-n2", "link-n2-launch2", "link-n2-launch3"]
    links = dict(zip(names, [(1e-5, 3e9), (2e-5, 1e9), (3e-5, 2e9)], strict=True))
    runs = pd.concat([link_runs.assign(run=name) for name in links])
    messages = pd.DataFrame(
        [
            row
            for name, (alpha_s, beta) in links.items()
            for row in made.message_rows(name, 2, alpha_s=alpha_s, beta=beta)
        ]
    )
    (row,) = link(messages, runs).to_dict("records")
    level = 2 * row["alpha_s"] * row["beta_bytes_per_s"]  # N = 2
    assert row["level_bytes"] == pytest.approx(level)
    assert level == pytest.approx(2 * 2e-5 * 2e9, rel=0.02)
    assert row["level_bytes_low"] <= level <= row["level_bytes_high"]


def test_what_twice_the_rate_saves_is_of_the_payload_here_and_of_the_labs():
    rows = derived_lab(noise=0.0)["ring_times"].set_index(["workers", "payload"])
    own, lab = (rows.loc[(2, payload)] for payload in ("here", "lab"))
    # 2 * 10 us * 1.5 GB/s are 30 kB: beside 4 MB, and beside 11,173,962 numbers of 4 bytes.
    assert own["saving_frac"] == pytest.approx(0.5 * 4e6 / 4.03e6)
    assert lab["payload_bytes"] == 44_695_848
    assert lab["latency_frac"] == pytest.approx(3e4 / (3e4 + 44_695_848))


def test_one_size_of_message_is_no_fit():
    lab = full_lab()
    messages = lab["messages"][lab["messages"]["bytes"] == 500_000]
    rows = link(messages, lab["runs"])
    assert rows["alpha_s"].isna().all()
    assert set(rows["note"]) == {"1 sizes of message; a fit needs 2"}


def test_a_link_that_was_not_run_is_a_row_with_its_status():
    tables = derived_lab(not_run=("link-n2", "link-n4"))
    assert list(tables["link"]["status"]) == ["not run yet"] * 2
    assert tables["link"]["beta_bytes_per_s"].isna().all()
    assert list(tables["message_times"]["status"]) == ["not run yet"] * 2
    assert tables["bandwidth"]["link_bytes_per_s"].isna().all()
    assert tables["prediction"]["predicted_step_s"].isna().all()
    assert set(tables["prediction"]["note"]) == {"the link has no fit at N = 2"}
    assert set(tables["what_if"]["status"]) == {"refused"}


def test_the_smallest_message_is_set_beside_the_others_launch_by_launch():
    made = derived_lab()["message_times"].query("operation == 'allreduce' and workers == 2")
    ratios = made.set_index("bytes")["smallest_ratio"]
    # 2 (10 us + 0.5 MB / 2 / 1.5 GB/s) over 2 (10 us + 4 MB / 2 / 1.5 GB/s)
    assert ratios[4_000_000] == pytest.approx((10e-6 + 0.25 / 1.5e3) / (10e-6 + 2 / 1.5e3))
    assert pd.isna(ratios[500_000])


@pytest.mark.parametrize(
    ("ready_s", "bucket_s", "backward_s", "exposed_s"),
    [
        ([10.0], [4.0], 10.0, 4.0),  # one bucket, full at the end: nothing hides
        ([2.0], [4.0], 10.0, 0.0),  # full early: all of it hides
        ([2.0, 10.0], [4.0, 3.0], 10.0, 3.0),  # the first hides, the last shows
        ([2.0, 4.0, 6.0], [4.0, 4.0, 4.0], 10.0, 4.0),  # 2 to 14: each waits for the one before
        ([0.0, 0.0], [8.0, 8.0], 10.0, 6.0),
        ([], [], 10.0, 0.0),
    ],
)
def test_buckets_go_one_after_another_as_they_fill(ready_s, bucket_s, backward_s, exposed_s):
    found = transfer(ready_s, bucket_s, backward_s)
    assert found == Transfer(sum(bucket_s), exposed_s)
    assert found.hidden_s == sum(bucket_s) - exposed_s


def test_overlap_is_the_share_of_what_could_be_hidden():
    ideal = Transfer(total_s=10.0, exposed_s=4.0)
    assert observe(ideal, 4.0) == Observed(1, 1)
    assert observe(ideal, 10.0) == Observed(0, 1)
    assert observe(ideal, 7.0) == pytest.approx(Observed(0.5, 1))
    assert observe(ideal, -1.0) == Observed(1, 1)  # noise does not hide more than there is
    assert observe(ideal, 25.0) == Observed(0, 2.5)  # more than the transfer alone
    assert observe(Transfer(3.0, 3.0), 3.0) == Observed(1, 1)
    assert observe(Transfer(0.0, 0.0), 3.0) == Observed(1, 1)


@pytest.mark.parametrize("exposed_s", [4.0, 7.0, 10.0, 25.0])
def test_a_transfer_that_behaves_as_observed_is_exposed_as_measured(exposed_s):
    ideal = Transfer(total_s=10.0, exposed_s=4.0)
    assert exposed_seconds(ideal, observe(ideal, exposed_s)) == pytest.approx(exposed_s)


WAITED = st.floats(1e-6, 1e3)


@given(WAITED, st.floats(0, 1), WAITED, st.integers(2, 1000))
def test_waiting_falls_with_the_local_steps_by_no_more_than_the_traffic(
    total_s, exposed_frac, measured_s, every
):
    ideal = Transfer(total_s, exposed_frac * total_s)
    observed = observe(ideal, measured_s)
    waiting_s = averaging_seconds(ideal, observed, every)
    assert waiting_s * every >= exposed_seconds(ideal, observed) * (1 - 1e-9)
    assert waiting_s * every == pytest.approx(observed.stretch_ratio * total_s)


def stretched_lab() -> dict[str, pd.DataFrame]:
    """Return a lab whose messages take longer beside training than alone."""
    lab = full_lab(noise=0.0)
    messages = lab["messages"].assign(seconds=lab["messages"]["seconds"] / 20)
    return lab | {"messages": messages}


def test_a_stretch_holds_for_every_number_of_local_steps_and_on_no_other_link(monkeypatch):
    monkeypatch.setattr(ring, "LARGEST_ERROR", math.inf)
    table = derived_of(stretched_lab())["what_if"].dropna(subset="step_s")
    assert (table.loc[table["link"] != "this link", "stretch_ratio"] == 1).all()
    own = table[table["link"] == "this link"]
    assert (own["stretch_ratio"] > 1).all()
    assert len(own)
    cell = ["link", "workers", "per_worker_batch"]
    waiting = table.pivot_table("exposed_step_s", cell, "variant")
    for every in LOCAL_STEPS:
        assert (waiting[f"local_{every}"] * every >= waiting["none"] * (1 - 1e-9)).all()


def model_lab(*, devices: int = 4, extra: float = 1.0) -> dict[str, pd.DataFrame]:
    """Return a lab whose N = 4 cells behave as the model says from N = 2, times `extra`."""
    lab = full_lab(noise=0.0)
    runs = lab["runs"]
    runs["devices_per_machine"] = runs["devices_per_machine"].where(
        runs["devices_per_machine"].isna(), devices
    )
    predicted = derived_of(lab)["prediction"].set_index("per_worker_batch")
    steps = lab["steps"].copy()
    for batch, row in predicted.iterrows():
        own = (steps["run"] == f"scaling-n4-b{batch}") & (steps["arm"] == "without_loading")
        steps.loc[own, "step_s"] = row["predicted_step_s"] * extra
    return lab | {"steps": steps}


def test_the_step_of_four_workers_follows_from_that_of_two_by_hand():
    tables = derived_lab(noise=0.0)
    row = tables["prediction"].set_index("per_worker_batch").loc[32]
    # b = 32: one worker's step 16.4 ms; N = 2: 19.68 ms, of which 0.7 of the 3.28 ms rest exposed
    compute_s = 0.01968 - 0.7 * 0.00328
    assert row["compute_step_s"] == pytest.approx(compute_s)
    # the ring of two: 1 and 3 MB; the step_rows' backward share is 0.55/0.95
    two = [2 * made.ALPHA_S + size / made.BETA_BYTES_PER_S for size in (1e6, 3e6)]
    backward_s = compute_s * 0.55 / 0.95
    ideal = transfer([0.4 * backward_s, backward_s], two, backward_s)
    overlap = (ideal.total_s - 0.7 * 0.00328) / ideal.hidden_s
    assert row["overlap_frac"] == pytest.approx(overlap)
    four = [6 * made.ALPHA_S + 1.5 * size / made.BETA_BYTES_PER_S for size in (1e6, 3e6)]
    unseen = transfer([0.4 * backward_s, backward_s], four, backward_s)
    exposed_s = unseen.total_s - overlap * unseen.hidden_s
    assert row["communication_step_s"] == pytest.approx(sum(four))
    assert row["exposed_step_s"] == pytest.approx(exposed_s)
    assert row["predicted_step_s"] == pytest.approx(compute_s + exposed_s)
    assert row["measured_step_s"] == pytest.approx(0.36 * 0.0164 * 4)
    assert row["error_frac"] == pytest.approx((compute_s + exposed_s) / (0.36 * 0.0656) - 1)
    assert (row["workers"], row["fit_workers"]) == (4, 2)


def test_workers_that_share_devices_compute_as_many_times_slower():
    alone = derived_of(model_lab(devices=4))["prediction"].set_index("per_worker_batch")
    shared = derived_of(model_lab(devices=2))["prediction"].set_index("per_worker_batch")
    assert list(shared["compute_step_s"]) == pytest.approx(list(2 * alone["compute_step_s"]))


def test_a_world_that_behaves_as_the_model_is_predicted_exactly():
    table = derived_of(model_lab())["prediction"]
    assert list(table["error_frac"]) == pytest.approx([0, 0, 0], abs=1e-12)


def test_predictions_need_the_arms():
    table = derived_lab(direct=False)["prediction"]
    assert table["predicted_step_s"].isna().all()
    assert set(table["note"]) == {"no smaller number of workers was measured arm by arm"}


def test_what_ifs_are_predicted_where_the_model_was_right_and_refused_where_it_was_not():
    right = derived_of(model_lab())["what_if"]
    named = right[right["link"] != "this link"]
    assert set(named["status"]) == {"predicted"}
    assert sorted(set(named["workers"])) == [2**power for power in range(1, 11)]
    assert set(named["per_worker_batch"]) == {32, 512}
    wrong = derived_of(model_lab(extra=2.0))["what_if"]
    assert set(wrong["status"]) == {"refused"}
    assert wrong["step_s"].isna().all()
    assert set(wrong["note"]) == {"the model missed a measured number of workers by over 25%"}


def test_a_fit_of_workers_that_share_a_device_carries_nothing():
    table = derived_of(model_lab(devices=1))["what_if"]
    assert set(table["note"]) == {"the 2 workers of the fit shared a device"}


def test_the_measured_link_is_not_extended_to_pieces_that_it_never_saw():
    table = derived_of(model_lab())["what_if"]
    own = table[(table["link"] == "this link") & (table["variant"] == "none")]
    # mean bucket 2 MB over N; the smallest message gave pieces of 0.5 MB / 2
    refused = own[own["status"] == "refused"]
    assert sorted(set(refused["workers"])) == [16, 32, 64, 128, 256, 512, 1024]
    assert refused["note"].str.contains("below the fit's smallest").all()


def test_a_what_if_by_hand():
    tables = derived_of(model_lab())
    rows = tables["what_if"].query("link == 'slow' and workers == 8 and per_worker_batch == 32")
    by_variant = rows.set_index("variant")
    compute_s = 0.01968 - 0.7 * 0.00328
    # local SGD: two buckets, each 14 messages of 20 ms, 14/8 of 4 MB at 125 MB/s, every 4 steps
    whole_s = 2 * 14 * 0.02 + 1.75 * 4e6 / 1.25e8
    assert by_variant.loc["local_4", "step_s"] == pytest.approx(compute_s + whole_s / 4)
    ratio = 8 * 0.0164 / (compute_s + whole_s / 4)
    assert by_variant.loc["local_4", "speedup_ratio"] == pytest.approx(ratio)
    assert by_variant.loc["local_4", "efficiency_frac"] == pytest.approx(ratio / 8)
    assert by_variant.loc["local_16", "step_s"] < by_variant.loc["local_4", "step_s"]
    assert by_variant.loc["bf16", "exposed_step_s"] < by_variant.loc["none", "exposed_step_s"]
    # fp16 is as small, and 10% of 19.68 ms slower by its own work
    gap = by_variant.loc["fp16", "step_s"] - by_variant.loc["bf16", "step_s"]
    assert gap == pytest.approx(0.1 * 0.01968)


def test_a_slower_link_never_gives_a_better_speed_up():
    rows = derived_of(model_lab())["what_if"].query("variant == 'none'")
    by_link = rows.pivot_table("speedup_ratio", ["per_worker_batch", "workers"], "link")
    assert (by_link["fast"] > by_link["slow"]).all()


def test_batches_beyond_the_dataset_are_marked():
    rows = derived_lab()["what_if"].query("per_worker_batch == 512 and link == 'fast'")
    # D = 10,000: 16 * 512 = 8,192 fits and 32 * 512 does not
    beyond = set(rows.loc[rows["exceeds_dataset"], "workers"])
    assert beyond == {32, 64, 128, 256, 512, 1024}


def test_no_named_links_leave_the_measured_one():
    lab = full_lab()
    tables = derived_of(lab | {"links": table("links")})
    assert set(tables["what_if"]["link"]) == {"this link"}
