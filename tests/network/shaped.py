"""A config's runs on a rig, one worker a node, and the derived tables that follow from them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
from rig import Rig

from dpscale.studies import load_config, planned_runs

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow/scripts"
STUDIES = ("sweep", "large_batch", "replicas", "data_parallel")


def config(name: str, root: Path, *, workers: list[int], hooks: list[str]) -> dict[str, Any]:
    """ResNet-18 (S = 44,695,848 bytes) on images of CIFAR-10's shape, timed and counted."""
    return {
        "name": name,
        "hardware": {"allow_oversubscription": True},
        "data": {
            "dataset": "synthetic",
            "channels": 3,
            "image_size": 32,
            "classes": 10,
            "samples": 80,
            "root": str(root),
        },
        "model": {"name": "resnet18_cifar"},
        "scaling": {"workers": workers, "per_worker_batches": [4], "strong": False, "min_steps": 5},
        "communication": {"steps": 5, "hooks": hooks, "budget_s": 60},
        "ledger": {
            "workers": [n for n in workers if n > 1],
            "per_worker_batch": 4,
            "steady_steps": 4,
        },
        **dict.fromkeys(STUDIES),
    }


def measure(rig: Rig, raw: dict[str, Any], folder: Path) -> dict[str, pd.DataFrame]:
    """The derived tables of all planned runs, each launched over as many nodes as workers."""
    for run, spec in planned_runs(load_config(raw)).items():
        path = folder / "runs" / run / "spec.json"
        path.parent.mkdir(parents=True)
        path.write_text(spec.model_dump_json(), encoding="utf-8")
        ended = rig.torchrun(SCRIPTS / "run.py", path, nodes=spec.workers)
        assert all(one.status == 0 for one in ended), (run, ended)
    script(
        "gather.py",
        "--config",
        json.dumps(raw),
        "--runs",
        folder / "runs",
        "--output",
        folder / "tables",
    )
    script("derive.py", "--tables", folder / "tables", "--output", folder / "derived")
    return {path.stem: pd.read_csv(path) for path in (folder / "derived").glob("*.csv")}


def script(name: str, *arguments: object) -> None:
    command = [sys.executable, str(SCRIPTS / name), *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
