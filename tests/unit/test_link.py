"""Sizes on the link: the buckets of a payload, and the messages the ring model is fitted to."""

import pytest

from dpscale.config import ConfigError
from dpscale.studies import configured_rows, load_config, planned_runs
from dpscale.train.communication.counted import sent_between
from dpscale.train.communication.link import BUCKET_BYTES, ddp_bucket_bytes, message_bytes


def test_a_payload_is_cut_as_ddp_cuts_it():
    mib = 2**20
    assert ddp_bucket_bytes(400) == [400]
    assert ddp_bucket_bytes(3 * mib) == [mib, 2 * mib]
    assert ddp_bucket_bytes(44_695_848) == [mib, 25 * mib, 44_695_848 - 26 * mib]
    assert sum(ddp_bucket_bytes(200 * mib + 4)) == 200 * mib + 4


@pytest.mark.parametrize("payload_bytes", [0, -4, 10])
def test_a_payload_of_no_whole_items_is_refused(payload_bytes):
    with pytest.raises(ValueError, match="positive multiple of 4"):
        ddp_bucket_bytes(payload_bytes)


@pytest.mark.parametrize("payload_bytes", [4_680, 311_016, 44_695_848])
def test_messages_reach_from_the_models_bucket_to_the_cap_after_one_of_latency(payload_bytes):
    sizes = message_bytes(payload_bytes)
    assert len(sizes) == 5
    assert sizes == sorted(set(sizes))
    assert all(size % 4 == 0 for size in sizes)
    assert sizes[0] == 4096
    assert sizes[1] == min(payload_bytes, BUCKET_BYTES // 8)
    assert sizes[-1] == BUCKET_BYTES


def test_a_model_smaller_than_the_message_of_latency_has_none_beside_its_own():
    assert message_bytes(2_000)[0] == 2_000
    assert len(message_bytes(2_000)) == 4


def test_bytes_are_summed_over_namespaces_by_interface():
    before = {"a": {"eth0": 100, "lo": 5}, "b": {"eth0": 1000}}
    after = {"a": {"eth0": 130, "lo": 5}, "b": {"eth0": 1070, "new": 3}}
    assert sent_between(before, after) == {"eth0": 100, "new": 3}


CONFIG = {
    "name": "test",
    "hardware": {"allow_oversubscription": True},
    "scaling": {"per_worker_batches": [32, 128]},
}


def test_weak_cells_of_several_workers_get_the_direct_arms():
    plan = planned_runs(load_config(CONFIG))
    direct = {"solo", "reference", "noop_hook", "buckets", "no_broadcast"}
    assert direct <= set(plan["scaling-n4-b128"].protocol.timing.arms)
    assert plan["scaling-n1-b128"].protocol.timing.arms[-1] == "ddp_of_one"
    assert plan["scaling-n4-b8"].protocol.timing.arms == ("with_loading", "without_loading")
    assert {"link-n2", "link-n4", "compression-n2"} <= set(plan)


def test_the_arm_without_the_broadcast_is_of_q3_alone():
    plan = planned_runs(load_config(CONFIG | {"assignment": {}}))
    named = {
        spec.study
        for spec in plan.values()
        if spec.kind == "timed" and "no_broadcast" in spec.protocol.timing.arms
    }
    assert named == {"scaling"}
    assert "buckets" in plan["assignment-split-n2"].protocol.timing.arms


def test_what_has_no_buffers_is_not_timed_without_their_broadcast():
    plan = planned_runs(load_config(CONFIG | {"model": {"name": "mlp"}}))
    assert plan["scaling-n4-b128"].protocol.timing.arms[-1] == "buckets"


def test_a_configuration_without_the_study_times_what_the_lab_asks():
    plan = planned_runs(load_config(CONFIG | {"communication": None}))
    assert {
        run.protocol.timing.arms for name, run in plan.items() if name.startswith("scaling")
    } == {("with_loading", "without_loading")}
    assert not [name for name in plan if name.startswith(("link", "compression"))]
    assert "links" not in configured_rows(load_config(CONFIG | {"communication": None}))


def test_a_known_rate_of_the_link_is_a_row_and_makes_no_run_stale():
    known = load_config(CONFIG | {"communication": {"link_bytes_per_s": 1.25e9}})
    own = configured_rows(known)["links"][0]
    assert (own["own"], own["bytes_per_s"]) == (True, 1.25e9)
    assert planned_runs(known) == planned_runs(load_config(CONFIG))


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"hooks": ["fp16", "fp16"]}, "communication.hooks"),
        ({"hooks": ["fp8"]}, "did you mean fp16"),
        (
            {"links": [{"name": "a", "bytes_per_sec": 1.0, "latency_s": 0.0}]},
            r"communication.links.0.bytes_per_sec: unknown key; did you mean communication.links.",
        ),
        ({"links": [{"name": "a", "bytes_per_s": 1.0, "latency_s": 0.0}] * 2}, "name of its own"),
        ({"budget_s": 0.0}, "communication.budget_s"),
    ],
)
def test_wrong_settings_are_named(section, words):
    with pytest.raises(ConfigError, match=words):
        load_config(CONFIG | {"communication": section})
