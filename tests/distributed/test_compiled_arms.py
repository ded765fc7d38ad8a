"""Compiled arms of one process are each what they would be alone, whichever is compiled first."""

import json

from dpscale.config.sections import ModelConfig

# Counts the operators of each graph that is handed to the compiler, and runs the graph as it is.
COUNTED = """
import json, sys
from pathlib import Path
import torch, torch._inductor
from dpscale.studies import read_spec
from dpscale.train.clock import HostClock
from dpscale.train.data import build_loader, load_dataset
from dpscale.train.loop import train_epoch
from dpscale.train.communication.sync import AllReduce, Solo
from dpscale.train.worker import build_replica, join_workers

graphs = []
def count(graph, inputs, options=None):
    graphs.append(sum(node.op.startswith("call") for node in graph.graph.nodes))
    return graph.forward
torch._inductor.compile = count

spec = read_spec(Path(sys.argv[1]).read_bytes())
with join_workers(spec) as place:
    dataset = load_dataset(spec.data)
    loader = build_loader(dataset.train, dataset, loader="resident", batch=2, workers=2,
                          rank=place.rank, seed=0, augment=False, device=place.device)
    batch = next(loader.batches(0))
    found = []
    for name in sys.argv[2:]:
        sync = {"ddp": AllReduce, "solo": Solo}[name]()
        replica = build_replica(spec, dataset, place, seed=0, steps_per_epoch=1, sync=sync)
        graphs.clear()
        for _ in range(2):
            train_epoch(replica, [batch], HostClock())
        found.append(list(graphs))
if place.leads:
    print(json.dumps(found))
"""


def test_no_arm_runs_a_graph_that_was_compiled_for_another(launcher, tmp_path) -> None:
    spec = launcher.spec(
        workers=2,
        per_worker_batch=2,
        model=ModelConfig(name="resnet18_cifar"),
        training={"compile": True},
    )
    (tmp_path / "spec.json").write_text(spec.model_dump_json())
    (tmp_path / "counted.py").write_text(COUNTED)
    words = [str(tmp_path / "counted.py"), str(tmp_path / "spec.json"), "ddp", "solo", "ddp"]
    ended = launcher.torchrun(words, workers=2)
    assert ended.status == 0, ended.log[-3000:]
    graphs = json.loads(next(row for row in ended.log.splitlines() if row.startswith("[[")))
    first, solo, second = graphs
    # DDP's buckets cut the network in three; a bare one is whole.
    assert len(first) == 3
    assert solo == [sum(first)]
    assert second == first
