"""Seconds of a whole workflow that are not measuring, by rule; and what the start of a run costs.

    python benchmarks/orchestration.py [--config config/smoke.yaml] [--checkout DIR]

Reads a workflow that has run (--checkout), or runs it in a fresh copy of the repository. Without
options: what `make report` left here, for which the goal is set, else a run of the smoke test.

A run measures from its record's start to its end: what a job takes beyond that is launching,
importing and leaving. Analysis is never measuring. The orchestration of the workflow is its wall
time in which no run was measuring. Last comes what the main process takes of a core meanwhile.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "benchmarks")]

import scheduler_load  # noqa: E402
import yaml  # noqa: E402
from ratios import Ratio, machine, spread_frac  # noqa: E402
from scheduler_load import copy_repository  # noqa: E402

from dpscale.records.further import KEY as FURTHER  # noqa: E402

GOAL_FRAC = 0.08
DEFAULT, SMOKE = "config/config.yaml", "config/smoke.yaml"
METADATA = ROOT / ".snakemake/metadata"


Span = tuple[float, float]  # start and end, seconds since the epoch


class Job(NamedTuple):
    """A job of Snakemake: seconds since the epoch; `measured`: of the runs that it did."""

    rule: str
    start_s: float
    end_s: float
    measured: tuple[Span, ...]


def jobs_of(folder: Path, name: str) -> list[Job]:
    """The jobs done in a checkout for results/NAME, from Snakemake's own metadata."""
    found: dict[str, Job] = {}  # by command: each output has an entry
    for path in (folder / ".snakemake/metadata").rglob("*"):
        if not path.is_file():
            continue
        kept = json.loads(path.read_text())
        if kept["endtime"] is None or f"results/{name}/" not in (kept["shellcmd"] or ""):
            continue
        measured = tuple(
            measured_span(json.loads(record.read_text()))
            for log in kept["log"] or []
            for record in records_of(folder, Path(log))
        )
        job = Job(kept["rule"], kept["starttime"], kept["endtime"], measured)
        found[kept["shellcmd"]] = job
    return sorted(found.values(), key=lambda job: job.start_s)


def records_of(folder: Path, log: Path) -> list[Path]:
    """Records of what a job did: the run that its log is named after, and what that launched."""
    run = folder / log.parents[1] / "runs" / log.stem
    found = [*run.glob("record.json"), *sorted(run.glob("probes/*/record.json"))]
    for record in found[:1]:
        protocol = json.loads(record.read_text())["spec"]["protocol"]
        found += [run.parent / name / record.name for name in protocol.get(FURTHER) or ()]
    return found


def measured_span(record: dict[str, Any]) -> Span:
    """Start and end of a run's measuring, seconds since the epoch."""
    start, end = (
        datetime.fromisoformat(record[key]).timestamp() for key in ("started_at", "finished_at")
    )
    return start, end


def covered_s(spans: Iterable[Span]) -> float:
    """Seconds in which at least one of the spans lies."""
    total, end = 0.0, float("-inf")
    for start, stop in sorted(spans):
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total


def run_workflow(config: str, folder: Path, targets: Sequence[str]) -> float:
    """Run the workflow in a fresh copy; returns its wall seconds."""
    copy_repository(folder)
    start_s = time.perf_counter()
    command = [sys.executable, "-m", "snakemake", *targets, "--configfile", config]
    subprocess.run([*command, "--quiet", "all"], cwd=folder, check=True)
    return time.perf_counter() - start_s


def by_rule(jobs: list[Job]) -> list[tuple[str, int, float, float]]:
    """(rule, jobs, their seconds, of which not measuring), the most not measuring first."""
    rows = []
    for rule in {job.rule for job in jobs}:
        own = [job for job in jobs if job.rule == rule]
        seconds = sum(job.end_s - job.start_s for job in own)
        measuring = sum(end - start for job in own for start, end in job.measured)
        rows.append((rule, len(own), seconds, seconds - measuring))
    return sorted(rows, key=lambda row: -row[3])


def name_of(config: str) -> str:
    """The folder under results/ of a configuration."""
    return str(yaml.safe_load((ROOT / config).read_text())["name"])


def at_hand() -> tuple[str, Path | None]:
    """The configuration and the checkout where `make report` has run, else those of a fresh run."""
    if (ROOT / "results" / name_of(DEFAULT) / "report.pdf").exists() and METADATA.exists():
        return DEFAULT, ROOT
    return SMOKE, None


def printed(jobs: Sequence[Job]) -> list[float]:
    """Print what each rule took; return the seconds until each run measured."""
    runs = [job for job in jobs if len(job.measured) == 1]
    before = [job.measured[0][0] - job.start_s for job in runs]
    after = [job.end_s - job.measured[0][1] for job in runs]
    print(f"{'rule':20} {'jobs':>5} {'seconds':>9} {'not measuring':>14}")
    for rule, count, seconds, other in by_rule(jobs):
        print(f"{rule:20} {count:5} {seconds:9.1f} {other:14.1f}")
    print(
        f"{len(runs)} starts of a run, {statistics.median(before):.2f} s each (median, spread "
        f"{spread_frac(before):.0%}) until it measures, {statistics.median(after):.2f} s after it"
    )
    return before


def run(
    config: str | None = None,
    checkout: Path | None = None,
    targets: Sequence[str] = (),
    load: Mapping[str, Any] | None = None,
) -> list[Ratio]:
    """The share of orchestration, printed by rule; a workflow run anew makes the targets alone.

    load: options of scheduler_load, whose rows come last.
    """
    if config is None:
        config, checkout = (DEFAULT, checkout) if checkout else at_hand()
    name = name_of(config)
    print(
        f"results/{name}, " + (f"as it ran in {checkout}" if checkout else "run anew"), flush=True
    )
    with tempfile.TemporaryDirectory() as made:
        folder = checkout or Path(made)
        wall_s = None if checkout else run_workflow(config, folder, targets)
        jobs = jobs_of(folder, name)
    if checkout:  # calls may have been made at different times
        wall_s = covered_s((job.start_s, job.end_s) for job in jobs)
    measuring_s = covered_s(span for job in jobs for span in job.measured)
    before = printed(jobs)
    share = 1 - measuring_s / wall_s
    print(f"orchestration {wall_s - measuring_s:.0f} s of {wall_s:.0f} s: {share:.0%}", flush=True)
    return [
        Ratio(
            "orchestration",
            f"{name}, share of the wall time",
            share,
            GOAL_FRAC,
            "goal",
            "",
            GOAL_FRAC / share,
            None,
            None,
        ),
        Ratio(
            "orchestration",
            f"{name}, start of one of {len(before)} runs",
            statistics.median(before),
            None,
            "",
            "s",
            None,
            None,
            None,
        ),
        *scheduler_load.run(**(load or {})),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config")
    parser.add_argument("--checkout", type=Path)
    arguments = parser.parse_args()
    print(machine(), flush=True)
    run(arguments.config, arguments.checkout)
