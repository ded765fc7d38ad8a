"""The two observers of collectives, hooks and profiler, see the same calls."""

import json
import os
import subprocess
import sys
from pathlib import Path

from dpscale.train.collectives import _call, purpose

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow/scripts"
BOTH = """
import json, os, sys
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from dpscale.train.collectives import HookObserver, ProfilerObserver

dist.init_process_group("gloo")
seen = {}
for kind in (HookObserver, ProfilerObserver):
    if not kind.available():
        continue
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(10, 10), nn.BatchNorm1d(10), nn.Linear(10, 10))
    observer = kind()
    with observer.watching():
        observer.start("construction")
        model = DistributedDataParallel(module)
        for iteration, phase in enumerate(("first", "rebuild", "steady")):
            observer.start(phase, iteration)
            model(torch.randn(4, 10)).sum().backward()
            observer.start("outside")
            dist.barrier()
    seen[kind.__name__] = observer.rows
if dist.get_rank() == 0:
    print(json.dumps(seen))
sys.stdout.flush()
os._exit(0)
"""


def test_hooks_and_profiler_see_the_same_collectives(tmp_path: Path) -> None:
    script = tmp_path / "both.py"
    script.write_text(BOTH, encoding="utf-8")
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(SCRIPTS)}
    ended = subprocess.run(
        [*launch, str(script)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        check=True,
    )
    line = next(line for line in ended.stdout.splitlines() if line.startswith("{"))
    seen = json.loads(line)

    def calls(rows: list[dict[str, object]]) -> list[tuple[object, ...]]:
        keys = ("phase", "operation", "purpose", "dtype", "bytes")
        return sorted(tuple(row[key] for key in keys) for row in rows)

    profiled = calls(seen["ProfilerObserver"])
    # 240 parameters of 4 bytes in one bucket; 20 running statistics and one counter of 8 bytes.
    for phase in ("first", "rebuild", "steady"):
        assert (phase, "allreduce", "gradient bucket", "float32", 960) in profiled
        assert (phase, "broadcast", "buffers", "float32", 80) in profiled
        assert (phase, "broadcast", "buffers", "int64", 8) in profiled
    if "HookObserver" in seen:
        assert calls(seen["HookObserver"]) == profiled


def test_an_event_of_nccl_gives_operation_type_and_bytes() -> None:
    facts = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 240}
    event = {"name": "record_param_comms", "args": facts}
    assert [str(part) for part in _call(event) or ()] == ["allreduce", "torch.float32", "960"]


def test_purposes_follow_from_operation_type_and_phase() -> None:
    assert purpose("allreduce", "float32", "steady") == "gradient bucket"
    assert purpose("broadcast", "int32", "rebuild") == "bucket rebuild"
    assert purpose("broadcast", "float32", "steady") == "buffers"
    assert purpose("broadcast", "float32", "construction").startswith("parameters")
