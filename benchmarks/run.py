"""Runs all benchmarks, one after another, and writes what they found.

    python benchmarks/run.py [--only loop stacked_trials] [--smoke] [--output DIR]

The ratios go to results.json, beside this file unless --output says where, and as a table with the
date and the machine into docs/benchmarks.md, between two markers; the README gets a short one, of
each peer the case where ours does worst. With --only both stay as they are. A benchmark that fails
is named, and the others run all the same.

--smoke is no measurement: every benchmark at its least size, two at a time on the CPU, to see that
all of it works. A peer that is not installed is left out, and the table is printed and kept nowhere
(results.json only where --output says).
"""

import argparse
import importlib
import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context, set_forkserver_preload
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(HERE)]

from documents import headline, replace_table, table  # noqa: E402
from loop import PEERS, missing  # noqa: E402
from ratios import Ratio, machine  # noqa: E402

from dpscale.records.storage import write_text  # noqa: E402


@dataclass(frozen=True)
class Benchmark:
    """A module of this folder whose `run` takes these options; `smoke`: those of the least
    size at which all of its code runs."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    smoke: dict[str, Any] = field(default_factory=dict)

    @property
    def written(self) -> bool:
        """Whether the module is there."""
        return (HERE / f"{self.name}.py").exists()


# In this order; the options keep all of them together at about ten minutes on 2 cores.
BENCHMARKS = (
    Benchmark(
        "loop",
        {"rounds": 10},
        {
            "rounds": 1,
            "cases": (("mlp", 32), ("resnet_8x8", 8)),
            "peers": [name for name in PEERS if name not in missing()],
        },
    ),
    Benchmark(
        "loading",
        {"rounds": 6},
        {"rounds": 1, "samples": 256, "processes": (0, 1), "batches": (512,)},
    ),
    Benchmark(
        "limit",
        {"rounds": 3},
        # One batch size compiled and with DDP beside it, one without either.
        {"device": "cpu", "rounds": 1, "batches": (32, 128), "network": "mlp", "peak_repeats": 1},
    ),
    Benchmark(
        "orchestration",
        {},
        {
            "config": "config/smoke.yaml",
            "targets": ("results/smoke/runs/scaling-n1-b32/record.json",),
            "load": {"rounds": 1, "finished": (1, 3), "hold_s": 0.5},
        },
    ),
    Benchmark(
        "workflow_scale",
        {"counts": (60, 1000, 10000)},
        {"counts": (1,), "rounds": 1, "workers": (1, 2)},
    ),
    Benchmark(
        "stacked_trials",
        {"rounds": 2, "trials": 80, "models": ("mlp",)},
        {"rounds": 1, "trials": 2, "models": ("mlp",), "batches": (256, 512)},
    ),
)


# What torch's first optimiser imports, seconds of it: the processes are forks of one that has it.
set_forkserver_preload(["torch._dynamo"])


def measured(benchmark: str, options: dict[str, Any]) -> list[Ratio]:
    """The ratios of a benchmark."""
    found: list[Ratio] = importlib.import_module(benchmark).run(**options)
    return found


def apart(benchmark: str, options: dict[str, Any]) -> list[Ratio]:
    """The ratios of a benchmark run in a process of its own: none leaves anything to the next."""
    with ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as pool:
        return pool.submit(measured, benchmark, options).result()


def tried(one: Benchmark, options: dict[str, Any]) -> list[Ratio] | None:
    """The ratios of a benchmark, None where it failed; says which it is, and how long it took."""
    print(f"== {one.name}", flush=True)
    start_s = time.perf_counter()
    found = None
    try:
        found = apart(one.name, options)
    except Exception as error:  # whatever it is, the others are still wanted
        print(f"{one.name} failed: {type(error).__name__}: {error}", file=sys.stderr)
    print(f"== {one.name}: {time.perf_counter() - start_s:.0f} s", flush=True)
    return found


def run_all(benchmarks: Sequence[Benchmark], *, smoke: bool) -> tuple[list[Ratio], list[str]]:
    """All ratios, and the names of the benchmarks that failed."""
    options = [one.smoke if smoke else one.options for one in benchmarks]
    with ThreadPoolExecutor(2 if smoke else 1) as threads:
        results = list(threads.map(tried, benchmarks, options))
    failed = [one.name for one, found in zip(benchmarks, results, strict=True) if found is None]
    return [ratio for found in results if found for ratio in found], failed


def write(found: list[Ratio], output: Path | None, *, documents: bool) -> None:
    """Write results.json, and the tables into the documents."""
    rows = json.dumps([ratio.row() for ratio in found], indent=1, allow_nan=False)
    write_text((output or HERE) / "results.json", rows + "\n")
    if not documents:
        return
    date = time.strftime("%Y-%m-%d")
    for name, shown in (("docs/benchmarks.md", found), ("README.md", headline(found))):
        text = replace_table((ROOT / name).read_text("utf-8"), shown, machine(), date)
        write_text(ROOT / name, text)


def main() -> None:
    """Read the command line, run the benchmarks, and write what they found."""
    known = [one.name for one in BENCHMARKS if one.written]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only",
        nargs="+",
        choices=known,
        default=known,
        metavar="NAME",
        help=f"of {', '.join(known)} (default: all)",
    )
    parser.add_argument(
        "--smoke", action="store_true", help="least sizes, to see that all works; prints a table"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="folder of results.json (default: benchmarks/, or none)",
    )
    given = parser.parse_args()
    if absent := missing() if "loop" in given.only else []:
        said = f"{' and '.join(PEERS[name] for name in absent)} not installed"
        if not given.smoke:
            sys.exit(
                f"{said}: make bench, or "
                "pip install -r envs/requirements-bench.txt -c envs/constraints.txt"
            )
        print(f"{said}: left out", flush=True)
    print(machine(), flush=True)
    chosen = [one for one in BENCHMARKS if one.name in given.only]
    found, failed = run_all(chosen, smoke=given.smoke)
    if given.smoke and given.output is None:
        print(table(found, machine(), time.strftime("%Y-%m-%d")))
    else:
        write(found, given.output, documents=given.only == known and not given.smoke)
    if failed:
        sys.exit(f"{len(failed)} of {len(chosen)} benchmarks failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
