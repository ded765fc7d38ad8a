"""Two workers at the limit settings: DDP around a compiled network measures what it always does."""

import shutil
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from dpscale.config.sections import ModelConfig
from dpscale.plan.spec import Timing
from dpscale.train.timed import COUNTED_STEPS

ARMS = ("without_loading", "noop_hook", "buckets")
SETTINGS = {"precision": "bf16", "channels_last": True, "fused": True}
Launched = Callable[..., Any]


@pytest.mark.skipif(
    not (shutil.which("c++") or shutil.which("g++")), reason="torch.compile needs a C++ compiler"
)
@pytest.mark.ledger
def test_compiled_arms_time_count_and_log_as_others(launched) -> None:
    result = launched(
        "compiled",
        kind="timed",
        workers=2,
        per_worker_batch=32,
        model=ModelConfig(name="mlp"),
        training=SETTINGS | {"compile": True},
        timing=Timing(arms=ARMS, repeats=2, min_steps=5, warmup_steps=5, direct_steps=5),
    )
    record = result.record
    assert set(result.steps["arm"]) == set(ARMS)
    assert sum(row["bytes"] for row in record.buckets) == record.payload_bytes
    assert {row["rank"] for row in record.spans} == {0, 1}
    rows = pd.DataFrame(record.collectives)
    sent = rows[rows["purpose"] == "gradient bucket"].groupby("timed_arm")["bytes"].sum()
    assert sent["without_loading"] == COUNTED_STEPS * record.payload_bytes


def test_workers_at_the_limit_settings_keep_one_set_of_parameters(launched) -> None:
    record = launched("limit", workers=2, training=SETTINGS | {"epochs": 1}).record
    assert record.status == "complete"
    assert len({row["parameter_digest"] for row in record.replicas}) == 1
