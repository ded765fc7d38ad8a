"""The observer sees every collective of DDP, with its phase, its purpose and its bytes."""

import json

import pytest

from dpscale.train.communication.collectives import purpose

OBSERVED = """
import json
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from dpscale.train.communication.collectives import Observer

dist.init_process_group("gloo")
module = nn.Sequential(nn.Linear(10, 10), nn.BatchNorm1d(10), nn.Linear(10, 10))
observer = Observer()
with observer.watching():
    observer.start("construction")
    model = DistributedDataParallel(module)
    for iteration, phase in enumerate(("first", "rebuild", "steady")):
        observer.start(phase, iteration)
        model(torch.randn(4, 10)).sum().backward()
        observer.start("outside")
        dist.barrier()
if dist.get_rank() == 0:
    print(json.dumps(observer.rows))
dist.destroy_process_group()
"""


@pytest.mark.ledger
def test_every_collective_of_ddp_is_seen_with_its_bytes(launcher, tmp_path) -> None:
    script = tmp_path / "observed.py"
    script.write_text(OBSERVED, encoding="utf-8")
    ended = launcher.torchrun([str(script)], workers=2)
    assert ended.status == 0, ended.log
    line = next(line for line in ended.log.splitlines() if line.startswith("[{"))
    keys = ("phase", "operation", "purpose", "dtype", "bytes")
    calls = [tuple(row[key] for key in keys) for row in json.loads(line)]
    # 240 parameters of 4 bytes in one bucket; 20 running statistics and one counter of 8 bytes.
    for phase in ("first", "rebuild", "steady"):
        assert calls.count((phase, "allreduce", "gradient bucket", "float32", 960)) == 1
        assert calls.count((phase, "broadcast", "buffers", "float32", 80)) == 1
        assert calls.count((phase, "broadcast", "buffers", "int64", 8)) == 1
    rebuilt = [call for call in calls if call[2] == "bucket rebuild"]
    assert {call[0] for call in rebuilt} <= {"first", "rebuild"}
    built = [call for call in calls if call[0] == "construction"]
    assert sum(call[4] for call in built if call[2].startswith("parameters")) == 960 + 80


def test_purposes_follow_from_operation_type_and_phase() -> None:
    assert purpose("allreduce", "float32", "steady") == "gradient bucket"
    assert purpose("allreduce", "int32", "steady") == "used parameters"
    assert purpose("broadcast", "int32", "rebuild") == "bucket rebuild"
    assert purpose("broadcast", "int32", "steady") == "buffers"
    assert purpose("broadcast", "float32", "steady") == "buffers"
    assert purpose("broadcast", "float32", "construction").startswith("parameters")
