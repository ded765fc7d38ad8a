"""E2's peaks are of training: what batches are made from is on the device before, and once."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dpscale.studies import planned_runs, read_config
from dpscale.studies.choose import measure
from dpscale.train.data import Dataset, load_dataset
from dpscale.train.training import Supply
from dpscale.train.worker import Place

CONFIG = Path(__file__).resolve().parents[2] / "config/config.yaml"
SPEC = planned_runs(read_config(CONFIG))["choose-n1"]
PLACE = Place(0, 1, 1, torch.device("cpu"))


@pytest.fixture(scope="module")
def digits() -> Dataset:
    found = load_dataset(SPEC.data.model_copy(update={"dataset": "digits"}))
    assert isinstance(found, Dataset)
    return found


def test_all_cells_make_their_batches_from_one_split_on_the_device(digits) -> None:
    elsewhere = torch.device("meta")  # a device that is not the host
    there: Any = measure.resident(SPEC, digits, Place(0, 1, 1, elsewhere))
    assert there.train.images.device == elsewhere
    assert digits.train.images.device.type == "cpu"
    assert there.train.on(elsewhere) is there.train  # no loader copies it again


def test_what_makes_batches_in_host_memory_keeps_its_split_there(digits) -> None:
    data = SPEC.data.model_copy(update={"loader": "dataloader"})
    spec = SPEC.model_copy(update={"data": data})
    place = Place(0, 1, 1, torch.device("meta"))
    assert measure.resident(spec, digits, place) is digits
    own: Any = SimpleNamespace(name="a user's own")
    assert measure.resident(SPEC, own, place) is own


def test_a_batch_is_drawn_before_the_peak_begins(digits, monkeypatch) -> None:
    seen: list[str] = []

    class Noted(Supply):
        def take(self, steps: int) -> Iterator[Any]:
            for batch in super().take(steps):
                seen.append("batch")
                yield batch

    class Peak:
        def __init__(self, _: torch.device) -> None:
            seen.append("peak")

        def bytes(self) -> int:
            return 1

    monkeypatch.setattr(measure, "Supply", Noted)
    monkeypatch.setattr(measure, "PeakMemory", Peak)
    spec = SPEC.model_copy(update={"model": SPEC.model.model_copy(update={"name": "mlp"})})
    measure._Cell(spec, digits, PLACE, 16, 0.0)
    assert seen[:3] == ["batch", "peak", "batch"]
