"""What breaks on a cluster ends soon, says who and why, and is made good by the same command.

Each takes a minute or more; those marked slow have a quick twin in tests/distributed or
tests/workflow, or wait for Slurm's own patience: pytest -m slow tests/slurm.
"""

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from cluster import Cluster
from patience import HANG_S
from workflow import Workflow

MakeWorkflow = Callable[[dict[str, Any]], Workflow]
RUN = "replicas-baseline-n4-b16"
TARGET = f"results/faults/runs/{RUN}/record.json"
STUDIES = ("sweep", "scaling", "communication", "large_batch", "ledger", "data_parallel")
CONFIG: dict[str, Any] = {
    "name": "faults",
    "hardware": {"workers_per_node": 2, "allow_oversubscription": True},
    "replicas": {"workers": 4, "per_worker_batch": 16, "epochs": 40, "seeds": [0]},
    **dict.fromkeys(STUDIES),
}


@pytest.fixture
def faults(workflow: MakeWorkflow) -> Workflow:
    """One run of four workers on two nodes, long enough to break."""
    made = workflow(CONFIG)
    made.skip_check()
    return made


def failure_of(workflow: Workflow, number: int = 1) -> dict[str, Any]:
    found: dict[str, Any] = workflow.attempts(RUN)[number - 1]["failure"]
    return found


def assert_done_at_attempt(workflow: Workflow, number: int) -> None:
    record = workflow.record(RUN)
    assert record is not None
    assert record["status"] == "complete"
    assert record["nodes"] == 2
    assert len(workflow.attempts(RUN)) == number
    assert workflow.call(TARGET) == 0
    assert "Nothing to be done" in workflow.output()


@pytest.mark.slow
def test_a_killed_rank_is_named_and_its_run_made_again(workflow) -> None:
    faults = workflow(CONFIG | {"replicas": CONFIG["replicas"] | {"epochs": 10}})
    faults.skip_check()
    call = faults.start(TARGET)
    ranks = faults.wait_for_workers(RUN, 4)
    assert [len(os.sched_getaffinity(ranks[rank])) for rank in range(4)] == [2, 2, 2, 2]
    os.kill(ranks[2], signal.SIGKILL)
    assert call.wait(HANG_S) == 0
    failure = failure_of(faults)
    assert (failure["cause"], failure["rank"], failure["node"]) == ("killed", 2, "n2")
    assert "SIGKILL" in failure["message"]
    assert f"{RUN} failed: attempt 1: rank 2 on n2: Signal 9 (SIGKILL)" in faults.output()
    assert_done_at_attempt(faults, 2)


@pytest.mark.slow
def test_a_stopped_rank_is_named_within_the_silence_allowed(faults) -> None:
    call = faults.start(TARGET, DPSCALE_SILENCE_S="10")
    ranks = faults.wait_for_workers(RUN, 4)
    os.kill(ranks[1], signal.SIGSTOP)
    assert call.wait(HANG_S) == 0
    failure = failure_of(faults)
    assert (failure["cause"], failure["rank"], failure["node"]) == ("silent", 1, "n1")
    assert "has not answered for" in failure["message"]
    assert_done_at_attempt(faults, 2)


@pytest.mark.slow
def test_a_cancelled_job_is_submitted_again(faults, cluster) -> None:
    call = faults.start(TARGET)
    faults.wait_for_workers(RUN, 4)
    (job,) = cluster.jobs("RUNNING")
    cluster.run("scancel", job)
    assert call.wait(HANG_S) == 0
    failure = failure_of(faults)
    assert failure["cause"] == "cancelled"
    assert f"job {job} was cancelled or preempted" in failure["message"]
    assert_done_at_attempt(faults, 2)


@pytest.mark.slow
def test_a_preempted_job_runs_when_its_nodes_are_free(faults, cluster) -> None:
    call = faults.start(TARGET)
    faults.wait_for_workers(RUN, 4)
    urgent = ["sbatch", "--parsable", "--partition=urgent", "--nodes=2", "--exclusive"]
    cluster.run(*urgent, "--output=/dev/null", "--wrap=sleep 5")
    assert call.wait(HANG_S) == 0
    record = faults.record(RUN)
    assert record is not None
    assert record["status"] == "complete"


@pytest.mark.slow
def test_a_killed_snakemake_leaves_nothing_that_the_next_call_needs_help_with(
    faults, cluster
) -> None:
    call = faults.start(TARGET)
    faults.wait_for_workers(RUN, 4)
    (job,) = cluster.jobs("RUNNING")
    os.killpg(call.pid, signal.SIGKILL)
    call.wait()
    assert faults.call(TARGET) == 0
    output = faults.output()
    assert "was killed; its lock is removed" in output
    assert f"cancelling jobs of an earlier snakemake: {job}" in output
    assert_done_at_attempt(faults, 1)


@pytest.mark.slow
def test_a_node_whose_daemon_dies_is_survived(faults, cluster) -> None:
    call = faults.start(TARGET)
    faults.wait_for_workers(RUN, 4)
    cluster.kill_slurmd("n2")
    cluster.wait_until(lambda: "down*" in cluster.states() or call.poll() is not None)
    cluster.start_slurmd("n2")
    assert call.wait(HANG_S) == 0
    record = faults.record(RUN)
    assert record is not None
    assert record["status"] == "complete"
    cluster.wait_until(lambda: cluster.states() <= {"idle", "alloc", "mix"})


def limits(cluster: Cluster) -> list[str]:
    """Time limits of the jobs in the queue."""
    return cluster.run("squeue", "--noheader", "--format=%l").stdout.split()


@pytest.mark.slow
def test_a_run_cut_off_by_its_time_limit_gets_twice_the_time(faults, cluster) -> None:
    profile = faults.folder / "slurm/config.yaml"
    text = profile.read_text(encoding="utf-8")
    assert "runtime: 60" in text
    profile.write_text(text.replace("runtime: 60", "runtime: 1"), encoding="utf-8")
    call = faults.start(TARGET, DPSCALE_SILENCE_S="200")
    ranks = faults.wait_for_workers(RUN, 4)
    assert limits(cluster) == ["1:00"]
    os.kill(ranks[0], signal.SIGSTOP)  # nobody notices before the limit does
    cluster.wait_until(lambda: limits(cluster) == ["2:00"])
    assert call.wait(HANG_S) == 0
    failure = failure_of(faults)
    assert (failure["cause"], failure["rank"]) == ("time", None)
    assert "reached its time limit, 00:01:00" in failure["message"]


@pytest.mark.slow
def test_a_node_that_goes_down_is_waited_for_and_the_run_made_again(faults, cluster) -> None:
    call = faults.start(TARGET)
    faults.wait_for_workers(RUN, 4)
    cluster.crash("n2")
    cluster.wait_until(lambda: "down*" in cluster.states())
    cluster.start_slurmd("n2")
    assert call.wait(HANG_S) == 0
    record = faults.record(RUN)
    assert record is not None
    assert record["status"] == "complete"
    assert record["rank_nodes"] == ["n1", "n1", "n2", "n2"]


@pytest.mark.slow
def test_an_error_of_the_program_is_not_trained_again(workflow) -> None:
    lab = workflow(CONFIG)
    (lab.folder / "workflow/scripts/dpscale/train/trained.py").write_text("raise ValueError('x')")
    assert lab.call(TARGET) == 1
    output = lab.output()
    assert f"{RUN}: not tried again, it would end the same way" in output
    assert len(lab.attempts(RUN)) == 1
    assert lab.record(RUN) is None
