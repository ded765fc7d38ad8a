"""The tests of real GPUs keep working where nobody has one: those that can, run on a CPU."""

import os
import subprocess
import sys
from pathlib import Path

from patience import HANG_S

ROOT = Path(__file__).resolve().parents[2]
PYTEST = [sys.executable, "-m", "pytest", "-m", "gpu", "tests/gpu/test_gpu.py"]
ON_A_CPU = (
    "events_tell",
    "ddp_at_one_device_stands",
    "exchange_over_gloo",
    "learns and not graphs",
)


def test_the_tests_of_gpus_run_on_a_cpu() -> None:
    ended = subprocess.run(
        [*PYTEST, "-k", " or ".join(f"({name})" for name in ON_A_CPU)],
        cwd=ROOT,
        env=os.environ | {"DPSCALE_GPU_TESTS": "cpu"},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-6000:]
    assert " skipped" not in ended.stdout.splitlines()[-1]
