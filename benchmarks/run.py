"""Runs all benchmarks, one after another, and writes what they found.

    python benchmarks/run.py [--only loop stacked_trials] [--quick] [--output DIR]

The ratios go to results.json, beside this file unless --output says where, and as a table with the
date and the machine into README.md, between two markers; with --only or --quick the README stays
as it is. A benchmark that fails is named, and the others run all the same.
"""

import argparse
import importlib
import importlib.util
import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(HERE)]

from ratios import Ratio, machine  # noqa: E402
from readme import replace_table  # noqa: E402

from dpscale.records.storage import write_text  # noqa: E402

PEERS = ("lightning", "accelerate")


@dataclass(frozen=True)
class Benchmark:
    """A module of this folder whose `run` takes these options; `quick`: those of a first look."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    quick: dict[str, Any] = field(default_factory=dict)

    @property
    def written(self) -> bool:
        """Whether the module is there."""
        return (HERE / f"{self.name}.py").exists()


# In this order; the options keep all of them together below ten minutes on 2 cores.
BENCHMARKS = (
    Benchmark("loop", {"rounds": 10}, {"rounds": 3}),
    Benchmark("loading", {"rounds": 6}, {"rounds": 3}),
    Benchmark("limit", {"rounds": 3}, {"rounds": 2}),
    Benchmark("orchestration"),
    Benchmark("workflow_scale", {"counts": (60, 1000, 10000)}, {"counts": (60, 300)}),
    Benchmark(
        "stacked_trials",
        {"rounds": 2, "trials": 80, "models": ("mlp",)},
        {"rounds": 1, "trials": 8},
    ),
)


def measured(benchmark: str, options: dict[str, Any]) -> list[Ratio]:
    """The ratios of a benchmark."""
    found: list[Ratio] = importlib.import_module(benchmark).run(**options)
    return found


def apart(benchmark: str, options: dict[str, Any]) -> list[Ratio]:
    """The ratios of a benchmark run in a process of its own: none leaves anything to the next."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measured, benchmark, options).result()


def run_all(benchmarks: Sequence[Benchmark], *, quick: bool) -> tuple[list[Ratio], list[str]]:
    """All ratios, and the names of the benchmarks that failed; says how far it is."""
    found: list[Ratio] = []
    failed: list[str] = []
    for number, one in enumerate(benchmarks, start=1):
        print(f"== {number} of {len(benchmarks)}: {one.name}", flush=True)
        start_s = time.perf_counter()
        try:
            found += apart(one.name, one.quick if quick else one.options)
        except Exception as error:  # whatever it is, the others are still wanted
            failed.append(one.name)
            print(f"{one.name} failed: {type(error).__name__}: {error}", file=sys.stderr)
        print(f"== {one.name}: {time.perf_counter() - start_s:.0f} s", flush=True)
    return found, failed


def lacking() -> list[str]:
    """The peers that are not installed."""
    return [name for name in PEERS if importlib.util.find_spec(name) is None]


def main() -> None:
    """Read the command line, run the benchmarks, and write both files."""
    known = [one.name for one in BENCHMARKS if one.written]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=known, default=known, metavar="NAME",
                        help=f"of {', '.join(known)} (default: all)")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="few rounds, to see that it works")
    parser.add_argument("--output", type=Path, default=HERE, metavar="DIR",
                        help="folder of results.json")  # fmt: skip
    given = parser.parse_args()
    if "loop" in given.only and (absent := lacking()):
        sys.exit(
            f"{' and '.join(absent)} not installed: make bench, "
            "or pip install -r envs/requirements-bench.txt -c envs/constraints.txt"
        )
    print(machine(), flush=True)
    chosen = [one for one in BENCHMARKS if one.name in given.only]
    found, failed = run_all(chosen, quick=given.quick)
    rows = [ratio.row() for ratio in found]
    write_text(given.output / "results.json", json.dumps(rows, indent=1, allow_nan=False) + "\n")
    if given.only == known and not given.quick:
        readme = ROOT / "README.md"
        text = replace_table(readme.read_text("utf-8"), found, machine(), time.strftime("%Y-%m-%d"))
        write_text(readme, text)
    if failed:
        sys.exit(f"{len(failed)} of {len(chosen)} benchmarks failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
