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
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "benchmarks")]

from ratios import Ratio, compare, interleaved, machine, told  # noqa: E402

CASES = (("mlp", 32), ("resnet_8x8", 8), ("resnet_8x8", 32), ("resnet_8x8", 128))
WORKERS = (1, 2)
PEERS = {"bare": "bare loop", "lightning_trainer": "Lightning", "accelerated": "Accelerate"}
ROUND_S = {1: 0.2, 2: 0.1}  # of each loop in a round, by processes
BARE_ROUNDS = {1: 3, 2: 6}  # with the bare loop for one with the frameworks


def spec_of(model: str, batch: int, workers: int):
    """The spec of a timed run, as the workflow plans it."""
    from dpscale.config import load_config
    from dpscale.plan import planned_runs

    left_out = ("sweep", "communication", "large_batch", "replicas", "ledger", "data_parallel")
    raw = {
        "name": "bench",
        "hardware": {"allow_oversubscription": True},
        "data": {"dataset": "digits"},
        "model": {"name": model},
        "scaling": {"workers": [1, 2], "per_worker_batches": [batch], "strong": False},
        **dict.fromkeys(left_out),
    }
    return planned_runs(load_config(raw))[f"scaling-n{workers}-b{batch}"]


def ours(spec, dataset, place, ready, slow_frac: float):
    """Our timed run's own arm without loading, `steps` of it at a call; and its replica."""
    from dpscale.train.arms import build_arms

    arm = build_arms(spec, dataset, place, ready=ready, loaded=None).by_name["without_loading"]

    def train(steps: int) -> float:
        arm.supply = ready.of(steps).again
        start_s = time.perf_counter()
        for _ in arm.repeat():
            pass
        return time.perf_counter() - start_s

    if slow_frac:
        train(50)
        delay_s = slow_frac * train(200) / 200
        step = arm.replica.optimizer.step

        def slowed(*given, **named):
            end_s = time.perf_counter() + delay_s
            while time.perf_counter() < end_s:
                pass
            return step(*given, **named)

        arm.replica.optimizer.step = slowed
    return train, arm.replica


Reading = tuple[float, float]  # samples/s of all workers; CPU seconds of this one's step
Rates = dict[str, tuple[list[Reading], list[Reading]]]  # by peer: ours and the peer's, by round


def measure(place, model: str, batch: int, rounds: int, slow_frac: float) -> Rates:
    """What ours and each peer gave in each round."""
    import importlib

    import torch

    from dpscale.train.data import load_dataset
    from dpscale.train.timed import _ready_batches
    from dpscale.train.worker import build_replica

    workers = place.workers
    spec = spec_of(model, batch, workers)
    spec = spec.model_copy(update={"timing": spec.timing.model_copy(update={
        "arms": ("without_loading",), "min_steps": 1})})  # fmt: skip
    dataset = load_dataset(spec.data)
    ready = _ready_batches(spec, dataset, place)
    train, own = ours(spec, dataset, place, ready, slow_frac)
    loops = {"ours": train}
    for name in PEERS:
        build = importlib.import_module(f"peers.{name}").build
        if name == "bare" and not slow_frac:
            # Two copies of a network differ by a percent by where they lie in memory: ours and
            # the bare loop train the same one, DDP around it included.
            loops[name] = build(own.model, own.optimizer, ready.batches, 1)
            continue
        replica = build_replica(
            spec, dataset, place, seed=0, steps_per_epoch=len(ready), sync=_unwrapped()
        )
        loops[name] = build(replica.module, replica.optimizer, ready.batches, workers)
    for train in loops.values():
        train(20)
    step_s = torch.tensor(loops["bare"](50) / 50)
    if workers > 1:
        torch.distributed.broadcast(step_s, 0)
    steps = max(10, int(ROUND_S[workers] / step_s))
    samples = steps * batch * workers
    calls = {name: _rate(train, steps, samples, place) for name, train in loops.items()}
    mine = calls.pop("ours")
    bare = {"ours": mine, "bare": calls.pop("bare")}
    closest = interleaved(bare, rounds * BARE_ROUNDS[workers])
    frameworks = interleaved({"ours": mine, **calls}, rounds)
    return {
        name: (found["ours"], found[name])
        for found in (closest, frameworks) for name in found if name != "ours"
    }  # fmt: skip


def work(workers: int, rounds: int, slow_frac: float) -> None:
    """Measures all cases as one of the workers; rank 0 prints a line for each."""
    from dpscale.train.worker import join_workers

    with join_workers(spec_of(*CASES[0], workers)) as place:
        _stay_on_a_core(place.rank)
        for model, batch in CASES:
            rates = measure(place, model, batch, rounds, slow_frac)
            if place.leads:
                print(json.dumps(rates), flush=True)
    os._exit(0)  # Lightning's own atexit hooks wait for each other


def _stay_on_a_core(rank: int) -> None:
    """Keeps this process on one core, a rank each: workers that swap cores wait for each other."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[rank % len(cores)]})


def _unwrapped():
    from dpscale.train.sync import Solo

    return Solo()


def _rate(train, steps: int, samples: int, place):
    def rate() -> Reading:
        place.wait()
        start_s = time.thread_time()
        seconds = train(steps)
        return samples / seconds, (time.thread_time() - start_s) / steps

    return rate


def launch(workers: int, rounds: int, slow_frac: float) -> Iterator[Rates]:
    """The rates of each case in turn, measured in processes of their own."""
    command = [sys.executable]
    if workers > 1:
        command += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={workers}"]
    command += [__file__, "--workers", str(workers), "--rounds", str(rounds)]
    command += ["--slow-frac", str(slow_frac)]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            command, env=os.environ | {"OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE,
            stderr=said, text=True,
        )  # fmt: skip
        yield from (json.loads(line) for line in process.stdout if line.startswith("{"))
        if process.wait():
            said.seek(0)
            raise RuntimeError(f"{workers} workers failed: {said.read()[-2000:]}")


def instrumentation(case: str, mine: list[Reading], bare: list[Reading]) -> Ratio:
    """What a step costs more than in the bare loop, by CPU time: waits do not scatter it."""
    differences = [ours_s - bare_s for (_, ours_s), (_, bare_s) in zip(mine, bare, strict=True)]
    return Ratio("loop", f"instrumentation of a step, {case}", statistics.median(differences) * 1e6,
                 None, "", "us", None, None, None)  # fmt: skip


def run(rounds: int = 12, slow_frac: float = 0.0) -> list[Ratio]:
    """Ratios of all cases, printed as they come."""
    found = []
    for workers in WORKERS:
        every = launch(workers, rounds, slow_frac)
        for (model, batch), rates in zip(CASES, every, strict=True):
            case = f"{model}, b = {batch}, N = {workers}"
            for name, title in PEERS.items():
                mine, theirs = ([rate for rate, _ in series] for series in rates[name])
                one = compare("loop", case, title, "samples/s", mine, theirs)
                found.append(one)
                print(told(one, ours=mine, peer=theirs), flush=True)
            found.append(instrumentation(case, *rates["bare"]))
            print(f"{found[-1].case}: {found[-1].ours:.1f} us", flush=True)
    return found


def main() -> None:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--slow-frac", type=float, default=0.0)
    parser.add_argument("--workers", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.workers:
        work(arguments.workers, arguments.rounds, arguments.slow_frac)
    print(machine(), flush=True)
    run(arguments.rounds, arguments.slow_frac)


if __name__ == "__main__":
    main()
