"""Arms of a timed run: who trains, what is sent, and what a slow rank changes."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from dpscale.config.sections import ModelConfig
from dpscale.plan.spec import LinkProtocol, Timing
from dpscale.records import read_record
from dpscale.train.timed import COUNTED_STEPS

Launched = Callable[..., Any]
DIRECT = ("solo", "reference", "noop_hook", "buckets", "no_broadcast")
HOOKS = ("fp16", "bf16", "powersgd")
# 1,170 parameters and no buffers: what is sent is gradients and nothing else.
PLAIN = {"model": ModelConfig(name="mlp"), "per_worker_batch": 32}


def timing(*arms: str, **changes: Any) -> Timing:
    given = {"repeats": 5, "min_steps": 10, "warmup_steps": 10, "direct_steps": 10} | changes
    return Timing(arms=arms, **given)


@pytest.fixture(scope="module")
def two(launched: Launched) -> Any:
    return launched(
        "two",
        kind="timed",
        workers=2,
        per_worker_batch=32,
        timing=timing("with_loading", "without_loading", *DIRECT),
    )


def test_each_arm_has_its_steps_and_solo_those_of_rank_0_alone(two) -> None:
    sizes = two.steps.groupby(["arm", "rank"]).size()
    # An epoch of 646 images a worker has 20 full batches of 32; a direct arm 10 steps a repeat.
    for rank in (0, 1):
        assert sizes["without_loading", rank] == sizes["with_loading", rank] == 100
        assert all(sizes[arm, rank] == 50 for arm in DIRECT[1:])
    assert sizes["solo", 0] == 50
    assert ("solo", 1) not in sizes
    assert two.record.utilisation_frac is None  # a rank stood aside


def test_the_buckets_hold_the_gradient_and_fill_during_the_backward_pass(two) -> None:
    rows = two.record.buckets
    assert sum(row["bytes"] for row in rows) == two.record.payload_bytes
    ready = [row["ready_frac"] for row in rows]
    assert ready == sorted(ready)
    assert 0 < ready[-1] <= 1


@pytest.mark.ledger
def test_only_ddp_sends_and_it_sends_exactly_the_gradient_and_its_buffers(two) -> None:
    def sent(arm: str, purpose: str) -> int:
        rows = [row for row in two.record.collectives if row["timed_arm"] == arm]
        return sum(row["bytes"] for row in rows if row["purpose"] == purpose)

    for arm in ("without_loading", "no_broadcast"):
        assert sent(arm, "gradient bucket") == COUNTED_STEPS * two.record.payload_bytes
    assert sent("without_loading", "buffers") == COUNTED_STEPS * two.record.buffer_bytes > 0
    assert sent("no_broadcast", "buffers") == 0
    trained = {"without_loading", "no_broadcast"}
    assert {row["timed_arm"] for row in two.record.collectives} == trained


@pytest.mark.alone  # the interface is everybody's
def test_the_wire_carries_what_ddp_sends_and_nothing_of_a_hook_that_does_not(launched) -> None:
    few = timing("without_loading", "noop_hook", repeats=1, min_steps=1, direct_steps=1)
    record = launched("wire", kind="timed", workers=2, per_worker_batch=32, timing=few).record
    wire = pd.DataFrame(record.wire).groupby("timed_arm")["sent_bytes"].sum()
    predicted = COUNTED_STEPS * (2 * record.payload_bytes + record.buffer_bytes)
    assert wire["without_loading"] == pytest.approx(predicted, rel=0.05)
    assert wire.get("noop_hook", 0) < 0.05 * predicted  # the barriers around the steps


def test_spans_come_from_every_rank(two) -> None:
    spans = pd.DataFrame(two.record.spans)
    assert set(spans["rank"]) == {0, 1}
    assert (spans["span_s"] > 0).all()
    assert (spans["overlap_s"] <= spans["span_s"]).all()


@pytest.mark.ledger
def test_sixteen_bit_hooks_halve_the_bytes_and_powersgd_sends_fewer(launched) -> None:
    record = launched(
        "hooks",
        kind="timed",
        workers=2,
        per_worker_batch=32,
        model=ModelConfig(name="mnist_cnn"),
        timing=timing("without_loading", *HOOKS),
    ).record
    rows = pd.DataFrame(record.collectives)
    sent = rows[rows["purpose"] == "gradient bucket"].groupby("timed_arm")["bytes"].sum()
    assert sent["without_loading"] == COUNTED_STEPS * record.payload_bytes
    assert sent["fp16"] == sent["bf16"] == sent["without_loading"] / 2
    assert sent["powersgd"] < sent["fp16"]


def test_repeats_go_on_while_the_interval_is_wide_and_the_budget_lasts(launched) -> None:
    def timed(run: str, **changes: Any) -> tuple[int, float]:
        arms = timing("without_loading", "reference", "noop_hook", **changes)
        result = launched(run, kind="timed", workers=2, timing=arms, **PLAIN)
        return int(result.steps["repeat"].nunique()), result.record.wall_s

    repeats, run_s = timed("spent", interval_frac=1e-9, budget_s=1e-6)
    assert repeats == 5
    assert timed("wide", interval_frac=1e-9, budget_s=5 * run_s)[0] > 5
    assert timed("narrow", interval_frac=1e6, budget_s=1e6)[0] == 5


def test_ddp_around_one_worker_is_timed_in_a_group_of_one(launched) -> None:
    result = launched(
        "one", kind="timed", per_worker_batch=32, timing=timing("without_loading", "ddp_of_one")
    )
    assert set(result.steps["arm"]) == {"without_loading", "ddp_of_one"}
    assert result.record.collectives == []


SLEEPY = """
import os, runpy, sys, time
from dpscale.train.data import task
if os.environ["RANK"] == "1":
    loss, sleep_s = task.cross_entropy, float(sys.argv[1])
    task.cross_entropy = lambda *given: (time.sleep(sleep_s), loss(*given))[1]
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.alone
def test_a_sleep_in_one_rank_is_the_stragglers_and_not_the_wires(launcher, tmp_path) -> None:
    def steps_of(run: str, *through: str) -> pd.DataFrame:
        arms = timing("without_loading", *DIRECT)
        spec = launcher.spec(run=run, kind="timed", workers=2, timing=arms, **PLAIN)
        ended = launcher.start(spec, through=through)
        assert ended.status == 0, ended.log[-3000:]
        return launcher.result(spec).steps

    def straggling_s(steps: pd.DataFrame) -> float:
        own = steps[steps["arm"] == "reference"].groupby(["repeat", "step"])["step_s"]
        return float((own.max() - own.mean()).median())

    def step_s(steps: pd.DataFrame, arm: str) -> float:
        own = steps[steps["arm"] == arm].groupby(["repeat", "step"])["step_s"].max()
        return float(own.median())

    even = steps_of("even")
    sleep_s = max(0.05, 20 * step_s(even, "without_loading"))
    sleepy = tmp_path / "sleepy.py"
    sleepy.write_text(SLEEPY, encoding="utf-8")
    slow = steps_of("slow", str(sleepy), str(sleep_s))
    assert straggling_s(slow) == pytest.approx(sleep_s / 2, rel=0.3)  # one of two ranks sleeps
    assert straggling_s(even) < 0.2 * sleep_s
    assert abs(step_s(slow, "buckets") - step_s(even, "buckets")) < 0.3 * sleep_s
    exposed_s = step_s(slow, "without_loading") - step_s(slow, "noop_hook")
    assert exposed_s < 0.3 * sleep_s  # the sleep is in both


def test_two_agents_leave_the_same_columns_and_two_nodes(launcher, two) -> None:
    spec = launcher.spec(
        run="two_agents",
        kind="timed",
        workers=2,
        per_worker_batch=32,
        timing=timing("with_loading", "without_loading", *DIRECT),
    )
    ended = launcher.start_agents(spec)
    assert [one.status for one in ended] == [0, 0], ended
    record = read_record(launcher.folder / "two_agents/record.json")
    assert record.nodes == 2
    assert two.record.nodes == 1
    # One kernel holds both agents' workers: their devices are shared.
    assert record.workers_per_machine == two.record.workers_per_machine == 2
    steps = pd.read_parquet(launcher.folder / "two_agents/steps.parquet")
    assert list(steps.columns) == list(two.steps.columns)
    assert len(steps) == len(two.steps)
    assert {name for name, value in record if value is not None} == {
        name for name, value in two.record if value is not None
    }


def test_a_link_run_times_messages_of_several_sizes_and_raw_tcp(launched) -> None:
    record = launched(
        "link",
        kind="link",
        workers=2,
        per_worker_batch=32,
        protocol=LinkProtocol(bytes=(), repeats=5, budget_s=20.0),
    ).record
    rows = pd.DataFrame(record.messages)
    sizes = rows[rows["operation"] == "allreduce"].groupby("bytes").size()
    assert len(sizes) >= 3
    assert (sizes >= 5).all()
    # One of latency, and then the model's one bucket, below the cap.
    assert list(sizes.index[:2]) == [4096, record.payload_bytes]
    assert (rows["seconds"] > 0).all()
    assert "tcp" in set(rows["operation"])
