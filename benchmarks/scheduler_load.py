"""What the main process of snakemake takes of the processor, beside a run and for each job.

    python benchmarks/scheduler_load.py [--finished 1 100 300 --short 0.3 --hold 10]

Jobs run one after another in a copy of the repository, each alone on the machine as a timed run is
while others wait. Between them lie longer ones, which read what their parent has used: from their
first moment to their last, and from one of them to the next. Beside ours the same with the limit on
jobs a second that Snakemake comes with, under another number, so that it is kept.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from os import sysconf
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "benchmarks")]

from ratios import Ratio, compare, interleaved, machine, told  # noqa: E402

COPIED = ("Snakefile", "rules", "workflow", "config", "profiles", "report", "envs")
GOAL_FRAC = 0.02  # of a core, beside a run
TICKS_PER_S = sysconf("SC_CLK_TCK")
AS_IT_COMES = ("--max-jobs-per-timespan", "99/1s")
# {finished}: jobs before each of the longer ones; of the latter {hold_s} seconds.
RULES = """
USED = 'echo "$(date +%s.%N) $(cut -d" " -f14,15 /proc/$PPID/stat)" >> '
FINISHED = {finished}
for place in range(len(FINISHED)):
    rule:
        name: f"short{{place}}"
        output: f"load/{{place}}/{{{{number}}}}"
        priority: 1000 - 2 * place
        resources: machine=WHOLE_MACHINE
        shell: "sleep {short_s}; touch {{output}}"
    rule:
        name: f"long{{place}}"
        output: f"load/long{{place}}"
        priority: 999 - 2 * place
        resources: machine=WHOLE_MACHINE
        shell: USED + "{{output}}; sleep {hold_s}; " + USED + "{{output}}"
use rule short0 as waiting with:
    output: "load/waiting/{{number}}"
    priority: 0
rule load:
    input:
        [f"load/{{place}}/{{number}}" for place, last in enumerate(FINISHED)
         for number in range(FINISHED[place - 1] if place else 0, last)],
        [f"load/long{{place}}" for place in range(len(FINISHED))],
        expand("load/waiting/{{number}}", number=range(5)),
"""


class Used(NamedTuple):
    """A moment, and the seconds of a processor that the main process had used by then."""

    at_s: float
    cpu_s: float


class Load(NamedTuple):
    """Of the main process: its share of a core beside each longer job, and seconds of each job."""

    beside_frac: list[float]
    job_s: float


def copy_repository(folder: Path) -> None:
    """Copy what a workflow needs."""
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)


def used(path: Path) -> list[Used]:
    """What a longer job read at its first moment and at its last."""
    rows = [line.split() for line in path.read_text().splitlines()]
    return [Used(float(at), (int(user) + int(system)) / TICKS_PER_S) for at, user, system in rows]


def spent_s(start: Used, end: Used) -> float:
    """Seconds of a processor between two moments; the clock knows no less than a tick."""
    return max(end.cpu_s - start.cpu_s, 1 / TICKS_PER_S)


def called(finished: Sequence[int], short_s: float, hold_s: float, options: Sequence[str]) -> Load:
    """Call snakemake in a fresh copy, with jobs of so many seconds, and read what it used."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        copy_repository(folder)
        rules = RULES.format(finished=list(finished), short_s=short_s, hold_s=hold_s)
        with (folder / "Snakefile").open("a") as snakefile:
            snakefile.write(rules)
        command = [sys.executable, "-m", "snakemake", "load", "--configfile", "config/smoke.yaml"]
        subprocess.run([*command, "--quiet", "all", *options], cwd=folder, check=True)
        pairs = [used(folder / f"load/long{place}") for place in range(len(finished))]
    beside = [spent_s(*pair) / (pair[1].at_s - pair[0].at_s) for pair in pairs]
    between_s = spent_s(pairs[0][1], pairs[-1][0])
    return Load(beside, between_s / (finished[-1] - finished[0]))


def run(
    rounds: int = 2, finished: Sequence[int] = (1, 100), short_s: float = 0.05, hold_s: float = 3.0
) -> list[Ratio]:
    """The load beside ours with the limit as it comes, and beside its goal."""
    arms = {"ours": (), "as it comes": AS_IT_COMES}
    found = interleaved(
        {name: partial(called, finished, short_s, hold_s, arm) for name, arm in arms.items()},
        rounds,
    )
    ours, peer = found["ours"], found["as it comes"]
    case = "main process beside a run, jobs done: {}"
    beside = [
        statistics.median(shares)
        for shares in zip(*(load.beside_frac for load in ours), strict=True)
    ]
    against = partial(compare, "orchestration", peer_name="Snakemake's limit", less_is_better=True)
    rows = [
        *(
            Ratio(
                "orchestration",
                case.format(count),
                share,
                GOAL_FRAC,
                "goal",
                "of a core",
                GOAL_FRAC / share,
                None,
                None,
            )
            for count, share in zip(finished, beside, strict=True)
        ),
        against(
            case.format(finished[-1]),
            unit="of a core",
            ours=[load.beside_frac[-1] for load in ours],
            peer=[load.beside_frac[-1] for load in peer],
        ),
        against(
            "main process, for each job",
            unit="CPU s",
            ours=[load.job_s for load in ours],
            peer=[load.job_s for load in peer],
        ),
    ]
    for row in rows:
        print(told(row), flush=True)
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--finished", type=int, nargs="+", default=[1, 100])
    parser.add_argument("--short", type=float, default=0.05, help="seconds of a short job")
    parser.add_argument("--hold", type=float, default=3.0, help="seconds of a longer one")
    given = parser.parse_args()
    if len(given.finished) < 2 or given.finished != sorted(set(given.finished)):
        parser.error("--finished: give two numbers of jobs or more, each greater than the last")
    print(machine(), flush=True)
    run(given.rounds, given.finished, given.short, given.hold)
