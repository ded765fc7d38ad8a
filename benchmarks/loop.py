"""The timed loop against a bare one, PyTorch Lightning's Trainer and Hugging Face Accelerate.

    python benchmarks/loop.py [--rounds 30] [--slow-frac 0.05]

Same model, batches and threads; in one process, and in two with DDP on gloo, each kept on a core of
its own. They take turns in one process, in random order, a moment each; a ratio is of two that lie
side by side. With two processes the system's wake-ups scatter moments by a fifth: the bare loop,
the closest, has more rounds then than the frameworks.
--slow-frac slows our loop down on purpose by that share of a step, to see that it is seen.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "benchmarks")]

from ratios import Ratio, compare, interleaved, machine, told  # noqa: E402

CASES = (("mlp", 32), ("resnet_8x8", 8), ("resnet_8x8", 32), ("resnet_8x8", 128))
WORKERS = (1, 2)
PEERS = {"bare": "bare loop", "lightning_trainer": "Lightning", "accelerated": "Accelerate"}
ROUND_S = 0.1  # of each loop in a round
ROUNDS_AT_TWO = 6  # rounds of two processes, for one of a process alone


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
    """Our timed run's own arm without loading, `steps` of it at a call."""
    from dpscale.train.arms import build_arms

    arm = build_arms(spec, dataset, place, ready=ready, loaded=None).by_name["without_loading"]
    state = {"step_s": 0.0}
    if slow_frac:
        step = arm.replica.optimizer.step

        def slowed(*given, **named):
            end_s = time.perf_counter() + slow_frac * state["step_s"]
            while time.perf_counter() < end_s:
                pass
            return step(*given, **named)

        arm.replica.optimizer.step = slowed

    def train(steps: int) -> float:
        arm.supply = ready.of(steps).again
        start_s = time.perf_counter()
        for _ in arm.repeat():
            pass
        seconds = time.perf_counter() - start_s
        state["step_s"] = state["step_s"] or seconds / steps
        return seconds

    return train


Rates = dict[str, tuple[list[float], list[float]]]  # by peer: ours and the peer's, by round


def measure(model: str, batch: int, rounds: int, slow_frac: float) -> Rates:
    """Samples per second of ours and each peer in each round, on rank 0 of the workers."""
    import importlib

    import torch

    from dpscale.train.data import load_dataset
    from dpscale.train.timed import _ready_batches
    from dpscale.train.worker import build_replica, join_workers

    workers = int(os.environ.get("WORLD_SIZE", 1))
    spec = spec_of(model, batch, workers)
    spec = spec.model_copy(update={"timing": spec.timing.model_copy(update={
        "arms": ("without_loading",), "min_steps": 1})})  # fmt: skip
    with join_workers(spec) as place:
        _stay_on_a_core(place.rank)
        dataset = load_dataset(spec.data)
        ready = _ready_batches(spec, dataset, place)
        loops = {"ours": ours(spec, dataset, place, ready, slow_frac)}
        for name in PEERS:
            replica = build_replica(
                spec, dataset, place, seed=0, steps_per_epoch=len(ready), sync=_unwrapped()
            )
            build = importlib.import_module(f"peers.{name}").build
            loops[name] = build(replica.module, replica.optimizer, ready.batches, workers)
        for train in loops.values():
            train(20)
        step_s = torch.tensor(loops["bare"](50) / 50)
        if workers > 1:
            torch.distributed.broadcast(step_s, 0)
        steps = max(10, int(ROUND_S / step_s))
        samples = steps * batch * workers
        calls = {name: _rate(train, steps, samples, place) for name, train in loops.items()}
        mine = calls.pop("ours")
        closest = interleaved(
            {"ours": mine, "bare": calls.pop("bare")},
            rounds * (ROUNDS_AT_TWO if workers > 1 else 1),
        )
        frameworks = interleaved({"ours": mine, **calls}, rounds)
        return {
            name: (found["ours"], found[name])
            for found in (closest, frameworks) for name in found if name != "ours"
        }  # fmt: skip


def _stay_on_a_core(rank: int) -> None:
    """Keeps this process on one core, a rank each: workers that swap cores wait for each other."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[rank % len(cores)]})


def _unwrapped():
    from dpscale.train.sync import Solo

    return Solo()


def _rate(train, steps: int, samples: int, place):
    def rate() -> float:
        place.wait()
        return samples / train(steps)

    return rate


def launch(model: str, batch: int, workers: int, rounds: int, slow_frac: float) -> Rates:
    """Measure a case in processes of its own."""
    command = [sys.executable]
    if workers > 1:
        command += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={workers}"]
    command += [__file__, "--case", model, str(batch), "--rounds", str(rounds)]
    command += ["--slow-frac", str(slow_frac)]
    done = subprocess.run(
        command, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True,
        text=True,
    )  # fmt: skip
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("{"))
    return json.loads(line)


def run(rounds: int = 30, slow_frac: float = 0.0) -> list[Ratio]:
    """Ratios of all cases, printed as they come."""
    found = []
    for workers in WORKERS:
        for model, batch in CASES:
            rates = launch(model, batch, workers, rounds, slow_frac)
            case = f"{model}, b = {batch}, N = {workers}"
            for name, title in PEERS.items():
                mine, theirs = rates[name]
                one = compare("loop", case, title, "samples/s", mine, theirs)
                found.append(one)
                print(told(one, ours=mine, peer=theirs), flush=True)
            bare_s, ours_s = (batch * workers / one for one in (found[-3].peer, found[-3].ours))
            print(f"{case:28} instrumentation {(ours_s - bare_s) * 1e6:.1f} us a step", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--slow-frac", type=float, default=0.0)
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        model, batch = arguments.case
        rates = measure(model, int(batch), arguments.rounds, arguments.slow_frac)
        if int(os.environ.get("RANK", 0)) == 0:
            print(json.dumps(rates), flush=True)
        os._exit(0)
    print(machine(), flush=True)
    run(arguments.rounds, arguments.slow_frac)


if __name__ == "__main__":
    main()
