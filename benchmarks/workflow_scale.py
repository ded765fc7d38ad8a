"""Seconds that the workflow takes around the measurements, by the number of planned runs.

    python benchmarks/workflow_scale.py [--runs 100 300 1000]

Three runs are measured once; every planned run then gets their record under its own name, since
only the number of records matters here. Prints the seconds of a call that finds nothing to do, of
gathering, deriving, drawing, answering and rendering, and how each grows: an exponent of 1 is
linear.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow/scripts"))

from dpscale.config import load_config  # noqa: E402
from dpscale.plan import planned_runs  # noqa: E402

WORKERS = (1, 2, 4)
STUDIES = ("sweep", "communication", "large_batch", "replicas", "ledger", "data_parallel")
COPIED = ("Snakefile", "rules", "workflow", "config", "profiles", "report")
STEPS = ("nothing to do", "gather", "derive", "draw", "answer", "render_html", "render_pdf")


def config(runs: int) -> dict[str, Any]:
    """A configuration of about so many timed runs."""
    batches = list(range(1, runs // len(WORKERS) + 1))
    return {
        "name": "scale",
        "hardware": {"allow_oversubscription": True},
        "data": {"dataset": "synthetic", "channels": 1, "image_size": 8, "classes": 10,
                 "samples": 100_000},
        "scaling": {"workers": list(WORKERS), "per_worker_batches": batches, "strong": False},
        **dict.fromkeys(STUDIES),
    }  # fmt: skip


def measured_once(folder: Path) -> dict[int, Path]:
    """Folders of one measured run for each number of workers."""
    raw = config(len(WORKERS)) | {"name": "once"}
    raw["data"] |= {"samples": 64, "root": str(folder / "data")}
    raw["scaling"] |= {"per_worker_batches": [8]}
    found = {}
    for spec in planned_runs(load_config(raw)).values():
        run = folder / spec.run
        run.mkdir()
        (run / "spec.json").write_text(spec.model_dump_json())
        launch = [sys.executable, ROOT / "workflow/scripts/launch.py", run / "spec.json"]
        options = ["--history", run / "attempts", "--log", run / "log"]
        subprocess.run([*launch, *options], check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
        found[spec.workers] = run
    return found


def fill(folder: Path, raw: dict[str, Any], templates: dict[int, Path]) -> int:
    """Write a checkout in which every planned run has its record; returns how many there are."""
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    (folder / "scale.json").write_text(json.dumps(raw))
    results = folder / "results/scale"
    results.mkdir(parents=True)
    (results / "dataset.json").write_text("{}")
    planned = planned_runs(load_config(raw))
    for run, spec in planned.items():
        own = results / "runs" / run
        own.mkdir(parents=True)
        record = json.loads((templates[spec.workers] / "record.json").read_text())
        record |= {"run": run, "spec": spec.model_dump(mode="json")}
        (own / "spec.json").write_text(spec.model_dump_json())
        shutil.copy(templates[spec.workers] / "steps.parquet", own)
        (own / "record.json").write_text(json.dumps(record))
    return len(planned)


def seconds_of(folder: Path) -> dict[str, float]:
    """Seconds of each step: first all of the analysis, then a call with nothing to do."""
    times = {}
    targets = {
        "gather": "results/scale/tables/runs.parquet",
        "derive": "results/scale/derived/scaling.csv",
        "draw": "results/scale/figures/speedup.svg",
        "answer": "results/scale/answers.json",
        "render_html": "results/scale/report.html",
        "render_pdf": "results/scale/report.pdf",
    }
    command = [sys.executable, "-m", "snakemake"]
    for step, target in targets.items():
        started = time.perf_counter()
        words = [*command, target, "--configfile", "scale.json"]
        ended = subprocess.run(words, cwd=folder, capture_output=True, text=True)
        if ended.returncode:
            sys.exit(f"{step}: {ended.stderr[-2000:]}")
        times[step] = time.perf_counter() - started
    started = time.perf_counter()
    words = [*command, "--configfile", "scale.json"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    idle_s = time.perf_counter() - started
    # Each call above also built the graph.
    return {"nothing to do": idle_s} | {step: max(0.0, s - idle_s) for step, s in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, nargs="+", default=[100, 300, 1000])
    counts = parser.parse_args().runs
    table: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        templates = measured_once(Path(scratch))
        for count in counts:
            folder = Path(scratch) / f"of{count}"
            folder.mkdir()
            planned = fill(folder, config(count), templates)
            table[planned] = seconds_of(folder)
            print(
                f"{planned} runs: " + ", ".join(f"{k} {v:.1f} s" for k, v in table[planned].items())
            )
    small, large = min(table), max(table)
    for step in STEPS:
        low, high = table[small][step], table[large][step]
        power = math.log(high / low) / math.log(large / small) if low and small < large else 0.0
        print(f"{step:>14}: grows as runs^{power:.2f}")


if __name__ == "__main__":
    main()
