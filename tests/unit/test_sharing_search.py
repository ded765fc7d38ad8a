"""E1's search for the largest batch keeps to what is free, comes last, and breaks nothing else."""

from types import SimpleNamespace
from typing import Any, ClassVar

import torch

from dpscale.studies import planned_runs, read_config
from dpscale.studies.strategies import measure
from dpscale.train.worker import Place
from test_study_settings import FOLDER

SPEC = planned_runs(read_config(FOLDER / "config.yaml"))["strategies-memory-n2"]
GIB = 2**30


class Memory:
    """A way whose second search runs out of memory."""

    asked: ClassVar[list[str]] = []

    def __init__(self, *_: object) -> None:
        pass

    def by_rank(self) -> list[tuple[int, dict[str, int]]]:
        return [(0, {"peak_bytes": 8})]

    def search(self, way: str, budget_bytes: int, _: float, rows: list[dict[str, Any]]) -> None:
        self.asked.append(way)
        rows.append({"way": way, "per_worker_batch": 64, "status": "out_of_memory"})
        if way == "zero1":
            raise RuntimeError("CUDA error: out of memory")
        rows[-1]["status"] = "complete"


def test_a_search_that_runs_out_of_memory_leaves_all_other_rows(monkeypatch) -> None:
    ways = ("ddp", "zero1", "fsdp")
    ready = SimpleNamespace(batches=[None], of=lambda _: None)
    monkeypatch.setattr(Memory, "asked", [])
    monkeypatch.setattr(measure, "_Memory", Memory)
    monkeypatch.setattr(measure, "_ways", lambda _: [(way, None) for way in ways])
    monkeypatch.setattr(measure, "ready_batches", lambda *_: ready)
    monkeypatch.setattr(measure, "_first_steps", lambda name, *_: [{"way": name, "loss": 1.0}])
    monkeypatch.setattr(measure, "_budget_bytes", lambda *_: 100)
    outcome = measure.measure_sharing(SPEC, None, Place(0, 1, 1, torch.device("cpu")))  # type: ignore[arg-type]
    assert outcome.status == "out_of_memory"
    assert outcome.message == "rank 0, search of zero1: CUDA error: out of memory"
    losses, memory, batches = outcome.fields.values()
    assert [row["way"] for row in losses] == [*ways, "ddp_again"]
    assert [row["way"] for row in memory] == [*ways]
    assert [row["status"] for row in batches] == ["complete", "out_of_memory"]
    assert Memory.asked == ["ddp", "zero1"]


def test_the_budget_is_a_share_of_what_is_free_for_each_who_shares_the_gpu(monkeypatch) -> None:
    place: Any = SimpleNamespace(
        device=torch.device("cuda", 0),
        sharing_device=lambda: 2,
        wait=lambda: None,
        share=lambda own: [own, 3 * GIB],
    )
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (5 * GIB, 80 * GIB))
    assert measure._budget_bytes(None, place) == 2 * GIB  # 0.8 of 5 by 2, less than the other's 3
    assert measure._budget_bytes(GIB, place) == GIB
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (50 * GIB, 80 * GIB))
    assert measure._budget_bytes(None, place) == 3 * GIB  # the other's


def test_on_a_cpu_nothing_is_searched_unless_a_budget_is_asked_for() -> None:
    place = Place(0, 1, 1, torch.device("cpu"))
    assert measure._budget_bytes(None, place) is None
    assert measure._budget_bytes(7, place) == 7
