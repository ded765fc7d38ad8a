"""Runs on the doubles of GPUs that the rehearsal gives, which the jobs of Slurm inherit.

A minute or two each: pytest -m slow tests/slurm/test_rehearsed_gpus.py.
"""

from collections.abc import Callable
from typing import Any

import pytest
from workflow import ROOT, Workflow

MakeWorkflow = Callable[[dict[str, Any]], Workflow]
REHEARSE = ROOT.parent / "shared/rehearsal/rehearse"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not REHEARSE.exists(), reason=f"needs the doubles of {REHEARSE.parent}"),
]
STUDIES = (
    "sweep",
    "scaling",
    "communication",
    "large_batch",
    "replicas",
    "ledger",
    "data_parallel",
)
CONFIG: dict[str, Any] = {
    **dict.fromkeys(STUDIES),
    "name": "rehearsed",
    "hardware": {"device": "cuda", "backend": "nccl", "workers_per_node": 2},
}


def rehearsed(make: MakeWorkflow, gpus: int, **studies: Any) -> Workflow:
    """A workflow whose nodes have so many GPUs; Slurm believes in two."""
    lab = make(CONFIG | studies)
    lab.before = (str(REHEARSE), "--gpus", str(gpus))
    return lab


def test_a_run_of_one_worker_takes_the_gpu_that_slurm_gives_it(workflow) -> None:
    scaling = {"workers": [1, 2], "per_worker_batches": [64], "strong": False, "repeats": 5}
    lab = rehearsed(workflow, 2, scaling=scaling | {"min_steps": 2})
    run = "scaling-n1-b64"
    assert lab.call(f"results/rehearsed/runs/{run}/record.json") == 0
    record = lab.record(run)
    assert record is not None
    assert record["status"] == "complete"
    assert record["oversubscribed"] is False
    assert "A100" in record["provenance"]["fingerprint"]


def test_a_job_that_sees_fewer_gpus_than_it_asked_for_is_tried_on_another_node(workflow) -> None:
    lab = rehearsed(workflow, 1, replicas={"workers": 2, "per_worker_batch": 16})
    run = "replicas-baseline-n2-b16"
    lab.skip_check()  # the node had both GPUs then
    assert lab.call(f"results/rehearsed/runs/{run}/record.json", "--retries", "1") == 1
    failures = [attempt["failure"] for attempt in lab.attempts(run)]
    assert [failure["cause"] for failure in failures] == ["device", "device"]
    assert [failure["node"] for failure in failures] == ["n1", "n2"]
    for failure in failures:
        assert "shows 1 CUDA devices of the 2 asked for" in failure["message"]
    assert lab.record(run) is None


def test_the_check_of_the_machine_names_what_a_node_lacks_before_anything_runs(workflow) -> None:
    lab = rehearsed(workflow, 1, replicas={"workers": 2, "per_worker_batch": 16})
    run = "replicas-baseline-n2-b16"
    assert lab.call(f"results/rehearsed/runs/{run}/record.json") == 1
    said = (lab.folder / "results/rehearsed/logs/check.log").read_text()
    assert "1 GPUs of the 2 asked for are visible; see gpu_name" in said
    assert lab.attempts(run) == []
