"""Where a GPU's memory ends: what is said there, and what a step costs just before.

Before the other tests: their process keeps a part of the memory once it has opened the GPU.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import needs  # noqa: F401
import pandas as pd
import pytest
import torch
from patience import HANG_S

from dpscale.plan.spec import Timing
from dpscale.records import Record, read_record

TIMING = Timing(arms=("without_loading",), repeats=3, min_steps=3, warmup_steps=2, max_steps=3)
SAMPLES = 2**17
FIRST, FACTOR = 2048, 4
SCRIPT = Path(__file__).resolve().parents[2] / "workflow/scripts/find_boundary.py"


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
    output = runs.folder / "boundary.json"
    probe = spec.model_copy(update={"study": "boundary"})
    subprocess.run(
        [sys.executable, str(SCRIPT), probe.model_dump_json(), "--resolution", "0.1",
         "--confirmations", "0", "--runs", str(runs.folder / "runs"), "--output", str(output),
         "--log", str(runs.folder / "boundary.log"), "--history", str(runs.folder / "boundary"),
         "--sweep", *(record.run for record in sweep)], check=True, timeout=HANG_S,
    )  # fmt: skip
    found = json.loads(output.read_text())
    probes = [read_record(runs.folder / "runs" / run / "record.json") for run in found["probes"]]
    failed = found["smallest_failed_batch"]
    (of_failed,) = [one for one in sweep + probes if one.spec["per_worker_batch"] == failed]
    return Boundary(found["largest_fit_batch"], of_failed)


def batch_of(runs: Any, batch: int) -> Any:
    """A short timed run with a batch, in fp32, as the lab trains."""
    return runs.spec(
        f"sweep-b{batch}", per_worker_batch=batch, timing=TIMING, data={"samples": SAMPLES}
    )


def test_the_boundary_is_a_real_out_of_memory(boundary: Boundary, measured: Any) -> None:
    measured("largest batch of ResNet-18 in fp32", boundary.fits, "samples")
    (gpu,), batch = boundary.failed.rank_devices, boundary.failed.spec["per_worker_batch"]
    measured(
        f"failed allocations at b = {batch}, which does not fit", gpu["num_ooms"], "1",
        str(boundary.failed.message),
    )  # fmt: skip
    assert boundary.failed.status == "out_of_memory"
    assert boundary.fits < batch
    assert gpu["num_ooms"] > 0


@pytest.mark.parametrize("share", [0.25, 0.5, 0.9, 1.0])
def test_rate_and_retries_near_the_boundary(
    runs: Any, boundary: Boundary, measured: Any, share: float
) -> None:
    batch = int(share * boundary.fits)
    record = runs.launch(batch_of(runs, batch))
    assert record.status == "complete", record.message
    steps = pd.read_parquet(runs.folder / "runs" / record.run / "steps.parquet")
    measured(
        f"ResNet-18 in fp32, {share:g} of the largest batch", batch / steps["step_s"].median(),
        "samples/s",
    )  # fmt: skip
    (gpu,) = record.rank_devices
    for name in ("num_ooms", "num_alloc_retries"):
        measured(f"{name}, {share:g} of the largest batch", gpu[name], "1")
    measured(f"peak memory, {share:g} of the largest batch", record.peak_memory_bytes, "bytes")
