"""The benchmarks at their least size: each of them runs, and one that fails is named."""

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OF_WORKFLOWS = ["orchestration", "workflow_scale"]  # each is a smoke test and more
KEPT = ("README.md", "docs/benchmarks.md", "benchmarks/results.json")
WORKS = """
from ratios import Ratio
def run(**_):
    return [Ratio("workflow_scale", "made", 2.0, 1.0, "goal", "s", 0.5, None, None)]
"""


def smoke(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "benchmarks/run.py", "--smoke", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["loop", "loading"], marks=pytest.mark.slow),
        pytest.param(["limit", "stacked_trials"], marks=pytest.mark.slow),
        pytest.param(OF_WORKFLOWS, marks=pytest.mark.slow),
    ],
)
def test_every_benchmark_gives_rows_and_leaves_the_published_ones(tmp_path, names) -> None:
    before = [(ROOT / name).read_bytes() for name in KEPT]
    ended = smoke(ROOT, "--output", str(tmp_path), "--only", *names)
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-4000:]
    rows = json.loads((tmp_path / "results.json").read_text())
    assert list(dict.fromkeys(row["benchmark"] for row in rows)) == names
    ratios = [(row["benchmark"], row["ratio"]) for row in rows if row["ratio"] is not None]
    assert {name for name, _ in ratios} == set(names)
    assert [one for one in ratios if not (math.isfinite(one[1]) and one[1] > 0)] == []
    assert [(ROOT / name).read_bytes() for name in KEPT] == before


def test_a_benchmark_that_fails_is_named_and_the_others_run(tmp_path) -> None:
    shutil.copytree(ROOT / "benchmarks", tmp_path / "benchmarks")
    (tmp_path / "workflow").symlink_to(ROOT / "workflow")
    (tmp_path / "benchmarks/orchestration.py").write_text('raise OSError("broken")')
    (tmp_path / "benchmarks/workflow_scale.py").write_text(WORKS)
    ended = smoke(tmp_path, "--only", "orchestration", "workflow_scale")
    assert ended.returncode == 1
    assert "orchestration failed: OSError: broken" in ended.stderr
    assert ended.stderr.splitlines()[-1] == "1 of 2 benchmarks failed: orchestration"
    assert "| workflow_scale | made | 2.00 s | goal | 1.00 s | 0.500 |" in ended.stdout
