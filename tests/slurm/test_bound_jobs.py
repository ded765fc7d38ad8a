"""Slurm binds a job to its cores and shows it its GPUs: what the workers of a run find there."""

import json
from pathlib import Path
from typing import Any

import pytest

# run.py of these runs: each rank says what it sees; the first one leaves what makes a run whole.
TELL = """
import json, os, sys
from pathlib import Path

folder, rank = Path(sys.argv[1]).parent, os.environ.get("RANK", "0")
seen = {
    "node": os.environ["SLURMD_NODENAME"],
    "cores": len(os.sched_getaffinity(0)),
    "gpus": os.environ.get("CUDA_VISIBLE_DEVICES"),
}
(folder.parent / f"{folder.name}.{rank}.json").write_text(json.dumps(seen))
if rank == "0":
    (folder / "steps.parquet").touch()
    (folder / "record.json").touch()
"""
STUDIES = ("sweep", "scaling", "communication", "large_batch", "ledger", "data_parallel")
RUN = "replicas-baseline-n2-b16"
CONFIG: dict[str, Any] = {
    "name": "bound",
    "hardware": {"device": "cuda", "backend": "nccl", "workers_per_node": 1},
    "data": {"loader_workers": 1},  # a core for the worker and one for the process that loads
    "replicas": {"workers": 2, "per_worker_batch": 16},
    **dict.fromkeys(STUDIES),
}


def test_workers_see_all_cores_of_their_job_and_the_gpus_that_it_asked_for(workflow) -> None:
    lab = workflow(CONFIG)
    lab.skip_check()  # its GPUs are but files
    (lab.folder / "workflow/scripts/run.py").write_text(TELL)
    runs = Path("results/bound/runs")
    assert lab.call(str(runs / RUN / "record.json")) == 0
    seen = [json.loads(path.read_text()) for path in sorted((lab.folder / runs).glob("*.json"))]
    # One of the two GPUs of each node, both of its cores.
    assert seen == [{"node": node, "cores": 2, "gpus": "0"} for node in ("n1", "n2")]


@pytest.mark.slow
def test_a_worker_has_as_many_cores_on_one_node_as_on_two(workflow) -> None:
    scaling = {"workers": [1, 2], "per_worker_batches": [16], "strong": False, "repeats": 5}
    lab = workflow(
        {
            "name": "alike",
            "hardware": {"workers_per_node": 1, "allow_oversubscription": True},
            **dict.fromkeys(("replicas", *STUDIES)),
            "scaling": scaling | {"min_steps": 2},
        }
    )
    lab.skip_check()
    runs = ["scaling-n1-b16", "scaling-n2-b16"]
    assert lab.call(*(f"results/alike/runs/{run}/record.json" for run in runs)) == 0
    records = [lab.record(run) for run in runs]
    assert [[len(cores) for cores in record["rank_cores"]] for record in records] == [[1], [1, 1]]
