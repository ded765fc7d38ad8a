"""Tests on real GPUs (`make test-gpu`); what they measured is written to benchmarks/gpu.json.

DPSCALE_GPU_TESTS=cpu runs those that a CPU can run, of a small network, so that they keep working
where nobody has a GPU (tests/unit/test_gpu_tests.py); nothing is written then.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from patience import HANG_S

if TYPE_CHECKING:  # a machine may lack what it needs: the tests then say so
    from dpscale.plan import Spec
    from dpscale.records import Record

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks/gpu.json"
STUDIES = ("sweep", "scaling", "large_batch", "replicas", "ledger", "data_parallel")
DEVICE = os.environ.get("DPSCALE_GPU_TESTS", "cuda")
BACKEND, MODEL, SAMPLES = {"cuda": ("nccl", "resnet18_cifar", 8192), "cpu": ("gloo", "mlp", 1024)}[
    DEVICE
]
IMAGES = {"dataset": "synthetic", "channels": 3, "image_size": 32, "classes": 10}
Measured = Callable[..., None]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests here; first those that want the whole GPU, before this process opens it."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.gpu)
    items.sort(key=lambda item: item.path.name != "test_gpu_boundary.py")


@pytest.fixture(scope="session", autouse=True)
def device() -> torch.device:
    if DEVICE == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU here")
    return torch.device(DEVICE, 0)


@pytest.fixture(scope="session")
def measured(device: torch.device) -> Iterator[Measured]:
    """Notes a number that was measured, with a remark, and writes it: a call may be stopped.

    The device is named at the end: to ask for it opens the GPU.
    """
    from dpscale.config.sections import HardwareConfig
    from dpscale.train.machine.device import device_libraries, device_model

    rows: list[dict[str, Any]] = []

    def note(case: str, value: float | None, unit: str, remark: str = "") -> None:
        row = {"case": case, "value": value, "unit": unit}
        rows.append(row | {"note": remark} if remark else row)
        print(f"{case}: {'unknown' if value is None else f'{value:.4g}'} {unit} {remark}".rstrip())
        write({})

    def write(head: dict[str, str]) -> None:
        if DEVICE == "cuda":
            RESULTS.write_text(json.dumps(head | {"rows": rows}, indent=1) + "\n", "utf-8")

    yield note
    if DEVICE == "cpu":
        return
    hardware = HardwareConfig(device="cuda", backend="nccl")
    device_and_libraries = {
        "device": device_model(hardware),
        "torch": torch.__version__,
        **device_libraries(hardware),
        "date": time.strftime("%Y-%m-%d"),
    }
    write(device_and_libraries)


class Runs:
    """Specs, and runs of them in processes of their own, as the workflow starts them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def spec(self, run: str, **given: Any) -> Spec:
        """A spec of one worker with ResNet-18 on images of CIFAR-10's shape; timed, by default.

        timing: of a timed run; what trains by itself, without a launch, needs none.
        """
        from dpscale.plan.spec import TimedProtocol, Timing, TrainingProtocol, build_spec
        from dpscale.studies import kinds, load_config

        hardware = {"device": DEVICE, "backend": BACKEND} | given.pop("hardware", {})
        config = load_config(
            {
                "name": "test",
                "hardware": hardware,
                "model": {"name": MODEL},
                "data": IMAGES
                | {"samples": SAMPLES, "root": str(self.folder / "data")}
                | given.pop("data", {}),
                "training": given.pop("training", {}),
            }
            | dict.fromkeys(STUDIES)
        )
        once = Timing(arms=("without_loading",), repeats=1, min_steps=1, warmup_steps=0)
        protocols = {
            "timed": TimedProtocol(timing=given.pop("timing", once)),
            "training": TrainingProtocol(),
        }
        kind = given.pop("kind", "timed")
        fields = {"study": "test", "workers": 1, "per_worker_batch": 128} | given
        fields.setdefault("protocol", protocols.get(kind))
        return build_spec(config, kinds()[kind], run=run, **fields)

    def launch(self, spec: Spec, earlier: Sequence[str] = ()) -> Record:
        """The record of a run that launch.py started; its log where it has none."""
        from dpscale.records import read_record

        path = self.folder / "runs" / spec.run / "spec.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(spec.model_dump_json())
        log = path.with_name("log")
        words = [str(ROOT / "workflow/scripts/launch.py"), str(path), "--log", str(log)]
        ended = subprocess.run(
            [
                sys.executable,
                *words,
                "--history",
                str(path.with_name("attempts")),
                "--earlier",
                *earlier,
            ],
            env=os.environ | {"OMP_NUM_THREADS": "4"},
            timeout=HANG_S,
            check=False,
        )
        assert ended.returncode == 0, log.read_text()[-4000:]
        return read_record(path.with_name("record.json"))


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(tmp_path_factory.mktemp("gpu"))
