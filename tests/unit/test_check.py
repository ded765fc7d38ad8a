"""The check of the machine says each thing that is wrong, where, and what to do; nothing else."""

from pathlib import Path
from typing import Any

import pytest

from dpscale.attempts import Cause, Failure
from dpscale.launch.check import (
    Device,
    Neighbour,
    NodeFacts,
    group_finding,
    memory_bytes,
    model_findings,
    node_findings,
    notes,
    patience_s,
)
from dpscale.plan import Spec, check_spec, needs_check
from dpscale.studies import load_config, planned_runs

GB = 10**9
GPU = Device(name="A100", free_bytes=80 * GB, total_bytes=80 * GB)
STUDIES = ("sweep", "large_batch", "replicas", "ledger", "data_parallel")


def spec(workers: int = 8, *, device: str = "cuda", share: int = 4, **training: Any) -> Spec:
    config = load_config(
        {
            "name": "test",
            "training": training,
            "hardware": {
                "device": device,
                "backend": "nccl" if device == "cuda" else "gloo",
                "workers_per_node": share,
                "threads_per_worker": 2,
            },
            "scaling": {"workers": sorted({1, workers}), "per_worker_batches": [32]},
        }
        | dict.fromkeys(STUDIES)
    )
    return check_spec(config, planned_runs(config))


def node(name: str = "n1", **given: Any) -> NodeFacts:
    facts: dict[str, Any] = {
        "node": name,
        "devices": (GPU,) * 4,
        "driver": "580.1",
        "torch": "2.14.1",
        "cuda": "13.0",
        "cores": 8,
        "memory_bytes": 100 * GB,
        "free_bytes": {"results": 50 * GB},
    }
    return NodeFacts(**facts | given)


def test_the_check_is_of_the_widest_run_and_needs_no_dataset() -> None:
    widest = spec()
    assert (widest.workers, widest.nodes, widest.kind) == (8, 2, "link")
    assert widest.data.dataset == "synthetic"


def test_gpus_or_several_nodes_are_checked_and_one_cpu_node_is_not() -> None:
    assert needs_check(spec(2))
    assert needs_check(spec(8, device="cpu"))
    assert not needs_check(spec(4, device="cpu"))


@pytest.mark.parametrize("training", [{"precision": "bf16"}, {"compile": True}])
def test_what_not_every_processor_can_do_is_checked_on_one_cpu_node(training) -> None:
    assert needs_check(spec(4, device="cpu", **training))


def test_nothing_is_said_where_all_is_well() -> None:
    assert node_findings(spec(), [node("n1"), node("n2")]) == []
    assert notes(spec(), node()) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"devices": (GPU,) * 2}, "2 GPUs of the 4 asked for are visible; see gpu_name"),
        (
            {"device_error": "driver too old", "driver": "470.82"},
            "CUDA does not start: driver too old (torch 2.14.1 for CUDA 13.0, driver 470.82)",
        ),
        ({"cuda": None}, "torch 2.14.1 is built without CUDA"),
        # Four workers of 2 GB.
        ({"memory_bytes": 7 * GB}, "7.0 GB of memory for 4 workers, which take about 8.0 GB"),
        ({"step_error": "training.compile = true: no gcc; set it to false"}, "compile = true: no"),
        ({"free_bytes": {"data": GB // 2}}, "0.5 GB free in data; free some space"),
    ],
)
def test_what_is_wrong_is_said_of_the_node_with_what_to_do(wrong, said) -> None:
    (line,) = node_findings(spec(), [node("n1"), node("n2", **wrong)])
    assert line.startswith("n2: ")
    assert said in line
    assert ";" in line


def test_workers_with_gpus_of_different_models_are_named_with_nodes_and_models() -> None:
    def found(*models: str) -> list[str]:
        devices = [{"rank": rank, "model": model} for rank, model in enumerate(models)]
        return model_findings(["n1", "n1", "n2"], devices)

    assert found("A100", "A100", "A100") == []
    (line,) = found("A100", "A100", "V100")
    assert "rank 0, 1 on n1: A100; rank 2 on n2: V100; take" in line
    (line,) = found("A100", "V100", "A100")
    assert "rank 0 on n1: A100; rank 1 on n1: V100; rank 2 on n2: A100; take" in line


def test_shared_devices_need_one() -> None:
    shared = spec(4)
    hardware = shared.hardware.model_copy(update={"allow_oversubscription": True})
    shared = shared.model_copy(update={"hardware": hardware})
    assert node_findings(shared, [node(devices=(GPU,))]) == []
    assert len(node_findings(shared, [node(devices=())])) == 1


def test_a_node_that_does_not_answer_is_missed() -> None:
    (line,) = node_findings(spec(), [node("n1")])
    assert line.startswith("1 of 2 nodes answered (n1)")


def test_workers_that_share_cores_are_noted_and_wrong_is_nothing() -> None:
    assert node_findings(spec(), [node(cores=2), node("n2")]) == []
    (note,) = notes(spec(), node(cores=2))
    assert "2 cores for 4 workers of 2 threads" in note


def occupied(free_bytes: int) -> NodeFacts:
    other = Neighbour(process=4711, name="python train.py", used_bytes=12 * GB)
    third = GPU.model_copy(update={"free_bytes": free_bytes, "neighbours": (other,)})
    return node("n1", devices=(GPU, GPU, third, GPU))


def test_a_gpu_with_less_than_nine_tenths_free_is_named_with_who_holds_the_rest() -> None:
    (line,) = node_findings(spec(4), [occupied(71 * GB)])
    assert line.startswith("n1: GPU 2: A100: 71.0 of 80.0 GB free, process 4711 (python train.py) ")
    assert "holds 12.0 GB; end what else is on it" in line
    assert node_findings(spec(4), [occupied(72 * GB)]) == []


def test_a_neighbour_that_holds_little_is_noted_and_ends_nothing() -> None:
    (note,) = notes(spec(4), occupied(79 * GB))
    assert "GPU 2" in note
    assert "process 4711" in note
    assert notes(spec(4), occupied(10 * GB)) == []  # a finding, said once


def test_memory_of_gpus_that_no_worker_takes_and_of_shared_ones_is_nobodys_fault() -> None:
    assert node_findings(spec(2), [occupied(10 * GB)]) == []
    hardware = spec(4).hardware.model_copy(update={"allow_oversubscription": True})
    shared = spec(4).model_copy(update={"hardware": hardware})
    assert node_findings(shared, [occupied(10 * GB)]) == []
    assert len(notes(shared, occupied(10 * GB))) == 1


def test_a_limit_of_time_grows_with_the_time_of_an_import() -> None:
    assert patience_s(120, 0) == 120
    assert patience_s(120, 50) == 120 + 6 * 50


def test_workers_that_do_not_meet_are_told_of_ports_and_a_fault_of_nccl_of_its_log() -> None:
    log = Path("log.txt")
    late = group_finding(spec(), None, log)
    assert "8 workers did not exchange a message over NCCL in time" in late
    assert "GLOO_SOCKET_IFNAME" in late
    one = Failure(cause=Cause.NETWORK, node="n1", rank=1, message="NCCL error")
    assert group_finding(spec(4), one, log) == (
        "4 workers did not exchange a message over NCCL: rank 1 on n1: NCCL error; repeat it with "
        "NCCL_DEBUG=INFO; see log.txt"
    )


def test_the_memory_of_this_process_is_no_more_than_the_machine_has() -> None:
    total_kb = Path("/proc/meminfo").read_text().split("MemTotal:")[1].split()[0]
    found = memory_bytes()
    assert found is not None
    assert 0 < found <= int(total_kb) * 1024
