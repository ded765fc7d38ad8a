"""Runs all benchmarks, one after another, and writes what they found.

    python benchmarks/run.py [--only loop stacked_trials] [--large] [--smoke] [--output DIR]

The ratios go to results.json, beside this file unless --output says where, each as soon as it is
there: a call that is stopped keeps what it has. At the end they go as a table with the date and the
machine into docs/benchmarks.md, between two markers; the README gets a short one, of each peer the
case where ours does worst. With --only both stay as they are. A benchmark that fails is named, and
the others run all the same. How long each will take is what it took in results.json.

--large adds a workflow of 50,000 runs, minutes more.

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
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context, set_forkserver_preload
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock
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
    """A module of this folder whose `run` takes these options and gives its ratios one by one.

    smoke: those of the least size at which all of its code runs; large: those that --large adds.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    smoke: dict[str, Any] = field(default_factory=dict)
    large: dict[str, Any] = field(default_factory=dict)

    def chosen(self, *, smoke: bool, large: bool) -> dict[str, Any]:
        """The options of a call."""
        return self.smoke if smoke else self.options | (self.large if large else {})

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
        {"counts": (300, 5000)},
        {"counts": (1,), "rounds": 1, "workers": (1, 2)},
        {"counts": (300, 5000, 50000)},
    ),
    Benchmark(
        "stacked_trials",
        {"rounds": 2, "trials": 24, "models": ("mlp",)},
        {"rounds": 1, "trials": 2, "models": ("mlp",), "batches": (256, 512)},
    ),
)


DURATION = "the benchmark itself"
# What torch's first optimiser imports, seconds of it: the processes are forks of one that has it.
set_forkserver_preload(["torch._dynamo"])


def measured(benchmark: str, options: dict[str, Any], rows: Connection) -> None:
    """Send each ratio of a benchmark as soon as it is there, and last what ended it, or None."""
    sys.stdout.reconfigure(line_buffering=True)
    try:
        for ratio in importlib.import_module(benchmark).run(**options):
            rows.send(ratio)
        rows.send(None)
    except Exception as error:  # whatever it is, the other benchmarks are still wanted
        rows.send(f"{type(error).__name__}: {error}")


def apart(benchmark: str, options: dict[str, Any]) -> Iterator[Ratio]:
    """The ratios of a benchmark run in a process of its own: none leaves anything to the next.

    Raises RuntimeError with what ended it early.
    """
    context = get_context("forkserver")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=measured, args=(benchmark, options, sender))
    process.start()
    sender.close()
    try:
        while isinstance(row := receiver.recv(), Ratio):
            yield row
    except EOFError:
        process.join()
        row = f"its process ended with {process.exitcode}"
    finally:
        if process.is_alive():
            process.join(timeout=10)
            process.terminate()
    if row is not None:
        raise RuntimeError(row)


class Session:
    """A call: the ratios so far, kept in `results` if given, and how long the last call took."""

    def __init__(self, benchmarks: Sequence[Benchmark], results: Path | None) -> None:
        self._order = [benchmark.name for benchmark in benchmarks]
        self._results, self._lock = results, Lock()
        self._expected_s = durations(HERE / "results.json")
        self._rows: list[Ratio] = []
        self.failed: list[str] = []

    @property
    def ratios(self) -> list[Ratio]:
        """All ratios so far, in the order of the benchmarks."""
        return sorted(self._rows, key=lambda ratio: self._order.index(ratio.benchmark))

    def add(self, ratio: Ratio) -> None:
        """Keep a ratio."""
        with self._lock:
            self._rows.append(ratio)
            if self._results:
                rows = [ratio.row() for ratio in self.ratios]
                write_text(self._results, json.dumps(rows, indent=1, allow_nan=False) + "\n")

    def expected(self, names: Sequence[str]) -> str:
        """How long these benchmarks take, in words."""
        known = [self._expected_s[name] for name in names if name in self._expected_s]
        if len(known) < len(names):
            return f"{sum(known):.0f} s and what results.json has no time of"
        return f"about {sum(known):.0f} s, as in results.json"

    def run(self, benchmark: Benchmark, options: dict[str, Any]) -> None:
        """Run a benchmark; says which it is, how long it took, and how long the others will."""
        place = self._order.index(benchmark.name)
        left = self.expected(self._order[place:])
        print(f"== {benchmark.name}, {place + 1} of {len(self._order)}; left: {left}", flush=True)
        start_s = time.perf_counter()
        try:
            for ratio in apart(benchmark.name, options):
                self.add(ratio)
        except RuntimeError as error:
            print(f"{benchmark.name} failed: {error}", file=sys.stderr)
            self.failed.append(benchmark.name)
        took_s = time.perf_counter() - start_s
        print(f"== {benchmark.name}: {took_s:.0f} s", flush=True)
        if benchmark.name not in self.failed:
            self.add(Ratio(benchmark.name, DURATION, took_s, None, "", "s", None, None, None))


def durations(results: Path) -> dict[str, float]:
    """Seconds that each benchmark took when results.json was written; empty where there is none."""
    rows = json.loads(results.read_text("utf-8")) if results.exists() else []
    return {row["benchmark"]: row["ours"] for row in rows if row["case"] == DURATION}


def write_documents(ratios: list[Ratio]) -> None:
    """Write the tables into the documents."""
    date = time.strftime("%Y-%m-%d")
    for name, shown in (("docs/benchmarks.md", ratios), ("README.md", headline(ratios))):
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
    parser.add_argument("--large", action="store_true", help="a workflow of 50,000 runs as well")
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
    chosen = [benchmark for benchmark in BENCHMARKS if benchmark.name in given.only]
    kept = None if given.smoke and given.output is None else (given.output or HERE)
    session = Session(chosen, kept and kept / "results.json")
    options = [benchmark.chosen(smoke=given.smoke, large=given.large) for benchmark in chosen]
    with ThreadPoolExecutor(2) as threads:
        side_by_side = threads.map if given.smoke else map  # Ctrl-C ends what is not in a thread
        try:
            list(side_by_side(session.run, chosen, options))
        except KeyboardInterrupt:
            sys.exit(f"stopped; {kept / 'results.json' if kept else 'nothing'} has what there was")
    if kept is None:
        print(table(session.ratios, machine(), time.strftime("%Y-%m-%d")))
    elif given.only == known and not given.smoke:
        write_documents(session.ratios)
    if failed := session.failed:
        sys.exit(f"{len(failed)} of {len(chosen)} benchmarks failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
