"""Seconds that the workflow takes around the measurements, by the number of planned runs.

    python benchmarks/workflow_scale.py [--runs 60 1000 10000]

Three runs are measured once; every planned run then gets their record under its own name, since
only the number of records matters here. Prints the seconds of a call that finds nothing to do (a
median of interleaved repeats), of gathering, deriving, drawing, answering and rendering, and how
each grows between the two largest numbers of runs: an exponent of 1 is linear.
"""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "benchmarks")]

from orchestration import jobs_of  # noqa: E402
from ratios import Ratio, interleaved, machine, spread_frac  # noqa: E402

from dpscale.studies import load_config, planned_runs  # noqa: E402

WORKERS = (1, 2, 4)
LAUNCHES = 3  # of each cell, the fewest that there may be
STUDIES = ("sweep", "communication", "large_batch", "replicas", "ledger", "data_parallel")
COPIED = ("Snakefile", "rules", "workflow", "config", "profiles", "report")
IDLE = "nothing to do"
IDLE_GOAL_S = 5.0  # at the smallest number of runs
STEPS = ("gather", "derive", "draw", "answer", "render_html", "render_pdf")  # rules, in order


def config(runs: int, workers: Sequence[int]) -> dict[str, Any]:
    """A configuration of about so many timed runs."""
    batches = list(range(1, max(1, runs // len(workers) // LAUNCHES) + 1))
    return {
        "name": "scale",
        "launches": LAUNCHES,
        "hardware": {"allow_oversubscription": True},
        "data": {
            "dataset": "synthetic",
            "channels": 1,
            "image_size": 8,
            "classes": 10,
            "samples": 100_000,
        },
        "scaling": {"workers": list(workers), "per_worker_batches": batches, "strong": False},
        **dict.fromkeys(STUDIES),
    }


def measured_once(folder: Path, workers: Sequence[int]) -> dict[int, Path]:
    """Folders of one measured run for each number of workers."""
    raw = config(len(workers), workers) | {"name": "once"}
    raw["data"] |= {"samples": 64, "root": str(folder / "data")}
    raw["scaling"] |= {"per_worker_batches": [8]}
    found = {}
    planned = planned_runs(load_config(raw)).values()
    for spec in {spec.workers: spec for spec in planned}.values():  # one launch of each
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
    sizes = ("train_samples", "validation_samples", "test_samples")
    facts = {"dataset": "synthetic"} | dict.fromkeys(sizes, raw["data"]["samples"])
    (results / "dataset.json").write_text(json.dumps(facts))
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


def call(folder: Path, *options: str) -> float:
    """Seconds of a call of Snakemake for all."""
    words = [sys.executable, "-m", "snakemake", *options, "--configfile", "scale.json"]
    start_s = time.perf_counter()
    ended = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(words)}: {ended.stderr[-2000:]}")
    return time.perf_counter() - start_s


def analysed(folder: Path) -> dict[str, float]:
    """Seconds of each step of one call that makes the report, one job at a time."""
    seconds = call(folder, "--cores", "1")
    jobs = jobs_of(folder, "scale")
    times = {
        step: sum(job.end_s - job.start_s for job in jobs if job.rule == step) for step in STEPS
    }
    print(f"{folder.name}: analysed in {seconds:.0f} s", flush=True)
    return times


def exponent(seconds: dict[int, float]) -> float | None:
    """How seconds grow between the two largest numbers of runs: 1 is linear."""
    if len(seconds) < 2:
        return None
    small, large = sorted(seconds)[-2:]
    if min(seconds[small], seconds[large]) <= 0:
        return None
    return math.log(seconds[large] / seconds[small]) / math.log(large / small)


def measure(
    counts: Sequence[int], rounds: int, workers: Sequence[int]
) -> dict[str, dict[int, float]]:
    """Seconds by step and number of runs, printed."""
    table: dict[str, dict[int, float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        templates = measured_once(Path(scratch), workers)
        folders, whole = {}, {}
        for count in counts:
            folder = Path(scratch) / f"of{count}"
            folder.mkdir()
            planned = fill(folder, config(count, workers), templates)
            folders[planned], whole[planned] = folder, analysed(folder)
        again = {str(n): partial(call, folder) for n, folder in folders.items()}
        idle = interleaved(again, rounds)
    for planned, times in whole.items():
        seconds = idle[str(planned)]
        idle_s = statistics.median(seconds)
        found = {IDLE: idle_s} | times
        for step, step_s in found.items():
            table.setdefault(step, {})[planned] = step_s
        told = ", ".join(f"{step} {step_s:.1f} s" for step, step_s in found.items())
        print(f"{planned} runs: {told} (spread of {IDLE} {spread_frac(seconds):.1%})", flush=True)
    return table


def ratio(
    case: str, ours: float, unit: str = "s", *, goal: float | None = None, goal_name: str = ""
) -> Ratio:
    """A figure beside its goal, where it has one; the lower the better."""
    share = goal / ours if goal is not None and ours > 0 else None
    return Ratio("workflow_scale", case, ours, goal, goal_name, unit, share, None, None)


def run(
    counts: Sequence[int] = (60, 1000, 10000), rounds: int = 2, workers: Sequence[int] = WORKERS
) -> list[Ratio]:
    """Nothing to do beside its goal, and the growth of each step beside a linear one."""
    table = measure(counts, rounds, workers)
    smallest, largest = min(table[IDLE]), max(table[IDLE])
    found = [
        ratio(f"{IDLE}, {smallest} runs", table[IDLE][smallest], goal=IDLE_GOAL_S, goal_name="goal")
    ]
    for step, seconds in table.items():
        found.append(ratio(f"{step}, {largest} runs", seconds[largest]))
        power = exponent(seconds)
        if power is not None:
            print(f"{step:>14}: grows as runs^{power:.2f}", flush=True)
            case = f"{step}, exponent of growth"
            found.append(ratio(case, power, "", goal=1.0, goal_name="linear"))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, nargs="+", default=[60, 1000, 10000])
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    print(machine(), flush=True)
    run(arguments.runs, arguments.rounds)
