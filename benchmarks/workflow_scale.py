"""Seconds and memory that the workflow takes around the measurements, by the number of runs.

    python benchmarks/workflow_scale.py [--runs 300 5000]

Three runs are measured once; every planned run then gets the record of one of them as if its steps
had been of its own batch, each launch at a pace of its own, so that all cells are derived, drawn
and answered. Prints the seconds of a call that finds nothing to do and of a dry one (medians of
interleaved repeats), of gathering, deriving, drawing, answering and rendering, and how each grows
between the two largest numbers of runs: an exponent of 1 is linear; and the peak memory of
Snakemake's main process and of each step.
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
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "benchmarks")]

import pandas as pd  # noqa: E402
import psutil  # noqa: E402
from orchestration import jobs_of  # noqa: E402
from ratios import Ratio, interleaved, machine, spread_frac  # noqa: E402

from dpscale.plan.spec import Spec  # noqa: E402
from dpscale.records.storage import write_steps  # noqa: E402
from dpscale.studies import load_config, planned_runs  # noqa: E402

WORKERS = (1, 2, 4)
LAUNCHES = 3  # of each cell, the fewest that there may be
MOST_BATCHES = 2000  # that a configuration may have
STUDIES = ("sweep", "communication", "large_batch", "replicas", "ledger", "data_parallel")
COPIED = ("Snakefile", "rules", "workflow", "config", "profiles", "report", "envs")
IDLE, DRY = "nothing to do", "snakemake -n"
IDLE_GOAL_S = 5.0  # at the smallest number of runs
REPORT, REPORT_GOAL_S = "a report", {300: 12.0, 5000: 35.0, 50000: 150.0}  # by about so many runs
MAIN = "main process"
LOOK_S = 0.1  # from one look at the memory of processes to the next
PACES = (1.0, 1.03, 0.98)  # of one launch after another
STEPS = ("gather", "derive", "draw", "answer", "render_html", "render_pdf")  # rules, in order


def config(runs: int, workers: Sequence[int]) -> dict[str, Any]:
    """A configuration of about so many timed runs."""
    launches = max(LAUNCHES, math.ceil(runs / len(workers) / MOST_BATCHES))
    batches = list(range(1, max(1, runs // len(workers) // launches) + 1))
    return {
        "name": "scale",
        "launches": launches,
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
    steps = {
        workers: pd.read_parquet(folder / "steps.parquet") for workers, folder in templates.items()
    }
    for pace, (run, spec) in zip(cycle(PACES), planned.items(), strict=False):
        own = results / "runs" / run
        own.mkdir(parents=True)
        record = json.loads((templates[spec.workers] / "record.json").read_text())
        record |= {"run": run, "spec": spec.model_dump(mode="json")}
        record |= {"train_samples": raw["data"]["samples"]}
        (own / "spec.json").write_text(spec.model_dump_json())
        of_run = steps_of(steps[spec.workers], spec, pace)
        write_steps(own / "steps.parquet", of_run.to_dict("list"))
        (own / "record.json").write_text(json.dumps(record))
    return len(planned)


def steps_of(measured: pd.DataFrame, spec: Spec[Any], pace: float) -> pd.DataFrame:
    """Measured steps as if they had been of a run's batch, and of a machine of another pace."""
    seconds = [name for name in measured if name.endswith("_s")]
    return measured.assign(samples=spec.per_worker_batch, **measured[seconds] * pace)


def call(folder: Path, *options: str, peaks: "Peaks | None" = None) -> float:
    """Seconds of a call of Snakemake for all; peaks: looks at its memory meanwhile."""
    words = [sys.executable, "-m", "snakemake", *options, "--configfile", "scale.json"]
    start_s = time.perf_counter()
    process = subprocess.Popen(
        words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    if peaks:
        peaks.watch(process.pid)
    _, messages = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)}: {messages[-2000:]}")
    return time.perf_counter() - start_s


class Peaks:
    """Peak resident memory of a process and of what it starts, bytes by script."""

    def __init__(self) -> None:
        self.bytes: dict[str, int] = {}

    def watch(self, pid: int) -> None:
        """Look at a process and its descendants until it ends."""
        threading.Thread(target=self._watch, args=(psutil.Process(pid),), daemon=True).start()

    def _watch(self, main: psutil.Process) -> None:
        with suppress(psutil.NoSuchProcess):
            while main.is_running() and main.status() != psutil.STATUS_ZOMBIE:
                for process in (main, *main.children(recursive=True)):
                    with suppress(psutil.Error, OSError, StopIteration):
                        self._note(MAIN if process == main else script(process), process.pid)
                time.sleep(LOOK_S)

    def _note(self, name: str, pid: int) -> None:
        """Note the most that the kernel has seen a process hold."""
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        peak = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
        self.bytes[name] = max(self.bytes.get(name, 0), peak)


def script(process: psutil.Process) -> str:
    """The name of the script that a process runs; raises StopIteration where it runs none."""
    return next(Path(word).stem for word in process.cmdline()[:3] if word.endswith(".py"))


def analysed(folder: Path) -> tuple[dict[str, float], dict[str, int]]:
    """Seconds and peak bytes of each step of one call that makes the report, on all cores."""
    peaks = Peaks()
    seconds = call(folder, peaks=peaks)
    jobs = jobs_of(folder, "scale")
    times = {
        step: sum(job.end_s - job.start_s for job in jobs if job.rule == step) for step in STEPS
    }
    print(f"{folder.name}: analysed in {seconds:.0f} s", flush=True)
    held = {step: peaks.bytes[step] for step in (MAIN, *STEPS) if step in peaks.bytes}
    return {REPORT: seconds} | times, held


def exponent(seconds: dict[int, float]) -> float | None:
    """How seconds grow between the two largest numbers of runs: 1 is linear."""
    if len(seconds) < 2:
        return None
    small, large = sorted(seconds)[-2:]
    if min(seconds[small], seconds[large]) <= 0:
        return None
    return math.log(seconds[large] / seconds[small]) / math.log(large / small)


Times = dict[str, dict[int, float]]  # by step and number of runs


def measure(
    counts: Sequence[int], rounds: int, workers: Sequence[int]
) -> tuple[Times, dict[int, dict[str, int]]]:
    """Seconds by step and number of runs, and peak bytes by number of runs and step, printed."""
    table: Times = {}
    held: dict[int, dict[str, int]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        templates = measured_once(Path(scratch), workers)
        folders, whole = {}, {}
        for count in counts:
            folder = Path(scratch) / f"of{count}"
            folder.mkdir()
            planned = fill(folder, config(count, workers), templates)
            folders[planned] = folder
            whole[planned], held[planned] = analysed(folder)
        calls = {
            (step, planned): partial(call, folder, *options)
            for planned, folder in folders.items()
            for step, options in ((IDLE, ()), (DRY, ("-n",)))
        }
        again = interleaved(calls, rounds)
    for planned, times in whole.items():
        waits = {step: statistics.median(again[step, planned]) for step in (IDLE, DRY)}
        for step, step_s in (waits | times).items():
            table.setdefault(step, {})[planned] = step_s
        shown = ", ".join(f"{step} {step_s:.1f} s" for step, step_s in (waits | times).items())
        spread = spread_frac(again[IDLE, planned])
        print(f"{planned} runs: {shown} (spread of {IDLE} {spread:.1%})", flush=True)
    return table, held


def ratio(
    case: str, ours: float, unit: str = "s", *, goal: float | None = None, goal_name: str = ""
) -> Ratio:
    """A figure beside its goal, where it has one; the lower the better."""
    share = goal / ours if goal is not None and ours > 0 else None
    return Ratio("workflow_scale", case, ours, goal, goal_name, unit, share, None, None)


def report_goal_s(planned: int) -> float | None:
    """The goal for a report of so many runs, of the nearest number that has one."""
    near = min(REPORT_GOAL_S, key=lambda runs: abs(runs - planned))
    return REPORT_GOAL_S[near] if abs(near - planned) < near / 10 else None


def run(
    counts: Sequence[int] = (300, 5000), rounds: int = 3, workers: Sequence[int] = WORKERS
) -> list[Ratio]:
    """Nothing to do and reports beside their goals, the growth of each step, and memory."""
    table, held = measure(counts, rounds, workers)
    smallest, largest = min(table[IDLE]), max(table[IDLE])
    ratios = [
        ratio(f"{IDLE}, {smallest} runs", table[IDLE][smallest], goal=IDLE_GOAL_S, goal_name="goal")
    ]
    for planned, seconds in table.get(REPORT, {}).items():
        goal = report_goal_s(planned)
        name = "goal" if goal else ""
        ratios.append(ratio(f"{REPORT}, {planned} runs", seconds, goal=goal, goal_name=name))
    for step, by_count in table.items():
        if step != REPORT:
            ratios.append(ratio(f"{step}, {largest} runs", by_count[largest]))
        power = exponent(by_count)
        if power is not None:
            print(f"{step:>14}: grows as runs^{power:.2f}", flush=True)
            case = f"{step}, exponent of growth"
            ratios.append(ratio(case, power, "", goal=1.0, goal_name="linear"))
    for planned, peaks in held.items():
        for step, peak in peaks.items():
            print(f"{planned} runs: peak of {step} {peak / 1e6:.0f} MB", flush=True)
            ratios.append(ratio(f"peak memory, {step}, {planned} runs", peak / 1e6, "MB"))
    return ratios


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, nargs="+", default=[300, 5000])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print(machine(), flush=True)
    run(arguments.runs, arguments.rounds)
