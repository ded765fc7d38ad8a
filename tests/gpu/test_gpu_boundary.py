"""Where a GPU's memory ends: what is said there, and what a step costs just before.

Before the other tests: their process keeps a part of the memory once it has opened the GPU.
"""

import json
from typing import Any, NamedTuple

import needs  # noqa: F401
import pandas as pd
import pytest
import torch

from dpscale.plan.spec import Timing
from dpscale.records import Record, read_record
from dpscale.studies.sweep.config import BoundaryProtocol
from dpscale.studies.sweep.plan import BY_SEARCH

TIMING = Timing(arms=("without_loading",), repeats=3, min_steps=3, warmup_steps=2, max_steps=3)
SAMPLES = 2**16
FIRST, FACTOR = 2048, 4


class Boundary(NamedTuple):
    """The largest batch that fits, and the record of the smallest that failed."""

    fits: int
    failed: Record


@pytest.fixture(scope="module")
def boundary(runs: Any) -> Boundary:
    assert not torch.cuda.is_initialized(), "memory of this process is in use: run this file alone"
    sweep: list[Record] = []
    while not sweep or sweep[-1].status == "complete":
        spec = batch_of(runs, FIRST * FACTOR ** len(sweep))
        sweep.append(runs.launch(spec))
    assert sweep[-1].status == "out_of_memory", sweep[-1].message
    facts = {"dataset": "synthetic", "train_samples": SAMPLES}
    facts |= {"validation_samples": 0, "test_samples": 0}
    (runs.folder / "dataset.json").write_text(json.dumps(facts))
    protocol = BoundaryProtocol(resolution_frac=0.2, confirmations=0, memory_budget_bytes=None)
    search = runs.spec(
        "boundary",
        kind="boundary",
        per_worker_batch=None,
        data={"samples": SAMPLES},
        protocol=protocol,
        completed_by=BY_SEARCH,
    )
    found = runs.launch(search, earlier=[record.run for record in sweep])
    probes = (runs.folder / "runs/boundary/probes").glob("*/record.json")
    failed = [one for one in [*sweep, *map(read_record, probes)] if one.status == "out_of_memory"]
    least = min(failed, key=lambda record: record.spec["per_worker_batch"])
    return Boundary(found.spec["per_worker_batch"], least)


def batch_of(runs: Any, batch: int) -> Any:
    """A short timed run with a batch, in fp32, as the lab trains."""
    return runs.spec(
        f"sweep-b{batch}", per_worker_batch=batch, timing=TIMING, data={"samples": SAMPLES}
    )


def test_the_boundary_is_a_real_out_of_memory(boundary, measured) -> None:
    measured("largest batch of ResNet-18 in fp32", boundary.fits, "samples")
    (gpu,), batch = boundary.failed.rank_devices, boundary.failed.spec["per_worker_batch"]
    measured(
        f"failed allocations at b = {batch}, which does not fit",
        gpu["num_ooms"],
        "1",
        str(boundary.failed.message),
    )
    assert boundary.failed.status == "out_of_memory"
    assert boundary.fits < batch
    assert gpu["num_ooms"] > 0


@pytest.mark.parametrize("share", [0.25, 0.9, 1.0])
def test_rate_and_retries_near_the_boundary(runs, boundary, measured, share) -> None:
    batch = int(share * boundary.fits)
    record = runs.launch(batch_of(runs, batch))
    assert record.status == "complete", record.message
    steps = pd.read_parquet(runs.folder / "runs" / record.run / "steps.parquet")
    measured(
        f"ResNet-18 in fp32, {share:g} of the largest batch",
        batch / steps["step_s"].median(),
        "samples/s",
    )
    (gpu,) = record.rank_devices
    for name in ("num_ooms", "num_alloc_retries"):
        measured(f"{name}, {share:g} of the largest batch", gpu[name], "1")
    measured(f"peak memory, {share:g} of the largest batch", record.peak_memory_bytes, "bytes")
