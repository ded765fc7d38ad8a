"""The timed loop against a bare one, PyTorch Lightning's Trainer and Hugging Face Accelerate.

    python benchmarks/loop.py [--rounds 12] [--slow-frac 0.05]

Same model, batches and threads; in one process, and in two with DDP on gloo, each kept on a core of
its own. They take turns in one process, in random order, a moment each; a ratio is of two that lie
side by side. The bare loop, which is closest, has more rounds than the frameworks, and most with
two processes, where the system's wake-ups scatter moments by a fifth.
--slow-frac slows our loop down on purpose by that share of a step, to see that it is seen.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "benchmarks")]

from ratios import Ratio, compare, machine, told  # noqa: E402

CASES = (("mlp", 32), ("resnet_8x8", 8), ("resnet_8x8", 32), ("resnet_8x8", 128))
WORKERS = (1, 2)
WORKER = Path(__file__).with_name("loop_worker.py")
PEERS = {"bare": "bare loop", "lightning_trainer": "Lightning", "accelerated": "Accelerate"}
PACKAGES = {"lightning_trainer": "lightning", "accelerated": "accelerate"}

Reading = tuple[float, float]  # samples/s of all workers; CPU seconds of a step of one
Rates = dict[str, tuple[list[Reading], list[Reading]]]  # by peer: ours and the peer's, by round
Cases = Sequence[tuple[str, int]]  # network and batch size


def missing() -> list[str]:
    """The peers whose package is not installed."""
    return [peer for peer, package in PACKAGES.items() if find_spec(package) is None]


def launch(workers: int, cases: Cases, options: Sequence[str]) -> Iterator[Rates]:
    """The rates of each case in turn, measured in processes of their own."""
    command = [sys.executable]
    if workers > 1:
        command += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={workers}"]
    command += [str(WORKER), json.dumps(cases), *options]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            command,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        )
        yield from (json.loads(line) for line in process.stdout if line.startswith("{"))
        if process.wait():
            said.seek(0)
            raise RuntimeError(f"{workers} workers failed: {said.read()[-2000:]}")


def instrumentation(case: str, mine: list[Reading], bare: list[Reading]) -> Ratio:
    """What a step costs more than in the bare loop, by CPU time: waits do not scatter it."""
    differences = [ours_s - bare_s for (_, ours_s), (_, bare_s) in zip(mine, bare, strict=True)]
    return Ratio(
        "loop",
        f"instrumentation of a step, {case}",
        statistics.median(differences) * 1e6,
        None,
        "",
        "us",
        None,
        None,
        None,
    )


def run(
    rounds: int = 12,
    slow_frac: float = 0.0,
    cases: Cases = CASES,
    peers: Sequence[str] = tuple(PEERS),
) -> Iterator[Ratio]:
    """Ratios of all cases, printed as they come; the bare loop is always among the peers."""
    options = ["--rounds", str(rounds), "--slow-frac", str(slow_frac), "--peers", *peers]
    for workers in WORKERS:
        every = launch(workers, cases, options)
        for (model, batch), rates in zip(cases, every, strict=True):
            case = f"{model}, b = {batch}, N = {workers}"
            for name in peers:
                mine, theirs = ([rate for rate, _ in series] for series in rates[name])
                ratio = compare("loop", case, PEERS[name], "samples/s", mine, theirs)
                print(told(ratio, ours=mine, peer=theirs), flush=True)
                yield ratio
            cost = instrumentation(case, *rates["bare"])
            print(f"{cost.case}: {cost.ours:.1f} us", flush=True)
            yield cost


def main() -> None:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--slow-frac", type=float, default=0.0)
    arguments = parser.parse_args()
    print(machine(), flush=True)
    list(run(arguments.rounds, arguments.slow_frac))


if __name__ == "__main__":
    main()
