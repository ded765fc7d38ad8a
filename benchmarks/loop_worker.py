"""One of the workers of loop.py, which launches it: prints a line of rates for each case.

python benchmarks/loop_worker.py '[["mlp", 32]]' [--rounds 12] [--slow-frac 0.05] [--peers bare]
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "benchmarks")]

import torch  # noqa: E402
from loop import PEERS, Rates, Reading  # noqa: E402
from peers import Train  # noqa: E402
from ratios import interleaved  # noqa: E402

from dpscale.plan import Spec  # noqa: E402
from dpscale.plan.spec import TimedProtocol  # noqa: E402
from dpscale.studies import load_config, planned_runs  # noqa: E402
from dpscale.train.arms import Ready, Training, build_arms  # noqa: E402
from dpscale.train.communication.sync import Solo  # noqa: E402
from dpscale.train.data import Batch, load_dataset  # noqa: E402
from dpscale.train.timed import ready_batches  # noqa: E402
from dpscale.train.worker import Place, build_replica, join_workers  # noqa: E402

# By processes: seconds of each loop in a round, and how many rounds for one of those asked for. Two
# processes wait for each other, which scatters a moment by a fifth: many short ones.
ROUND_S = {1: 0.2, 2: 0.05}
BARE_ROUNDS = {1: 3, 2: 12}
FRAMEWORK_ROUNDS = {1: 1, 2: 2}


def spec_of(model: str, batch: int, workers: int) -> "Spec[TimedProtocol]":
    """The spec of a timed run, as the workflow plans it, with the arm without loading alone."""
    left_out = ("sweep", "communication", "large_batch", "replicas", "ledger", "data_parallel")
    raw = {
        "name": "bench",
        "hardware": {"allow_oversubscription": True},
        "data": {"dataset": "digits"},
        "model": {"name": model},
        "scaling": {"workers": [1, 2], "per_worker_batches": [batch], "strong": False},
        **dict.fromkeys(left_out),
    }
    spec = planned_runs(load_config(raw))[f"scaling-n{workers}-b{batch}"]
    alone = {"arms": ("without_loading",), "min_steps": 1}
    timing = spec.protocol.timing.model_copy(update=alone)
    return spec.model_copy(update={"protocol": spec.protocol.model_copy(update={"timing": timing})})


def ours(arm: Training, ready: Ready, slow_frac: float) -> Train:
    """Our timed run's own arm, `steps` of it at a call; slowed by that share of a step."""
    delay_s = 0.0

    def train(steps: int) -> float:
        """Seconds of an epoch of so many steps."""
        epoch = ready.of(steps)
        arm.supply = (lambda: delayed(epoch, delay_s)) if delay_s else epoch.again
        start_s = time.perf_counter()
        for _ in arm.repeat():
            pass
        return time.perf_counter() - start_s

    if slow_frac:
        train(50)
        delay_s = slow_frac * train(200) / 200
    return train


def delayed(batches: Iterable[Batch], delay_s: float) -> Iterator[Batch]:
    """The batches, each a little late."""
    for batch in batches:
        end_s = time.perf_counter() + delay_s
        while time.perf_counter() < end_s:
            pass
        yield batch


def measure(
    place: Place, model: str, batch: int, rounds: int, slow_frac: float, peers: Sequence[str]
) -> Rates:
    """What ours and each peer gave in each round."""
    workers = place.workers
    spec = spec_of(model, batch, workers)
    dataset = load_dataset(spec.data)
    ready = ready_batches(spec, dataset, place)
    arm = build_arms(spec, dataset, place, ready=ready, loaded=None).by_name["without_loading"]
    assert isinstance(arm, Training)
    # Two copies of a network differ by a percent by where they lie in memory: ours and the bare
    # loop train the same one, DDP around it included.
    own = arm.replica
    bare = import_module("peers.bare").build(own.model, own.optimizer, ready.batches, 1)
    loops = {"ours": ours(arm, ready, slow_frac), "bare": bare}
    for name in [name for name in peers if name not in loops]:  # in the same order on every rank
        replica = build_replica(
            spec, dataset, place, seed=0, steps_per_epoch=len(ready), sync=Solo()
        )
        build = import_module(f"peers.{name}").build
        loops[name] = build(replica.module, replica.optimizer, ready.batches, workers)
    for train in loops.values():
        train(20)
    step_s = torch.tensor(bare(50) / 50)
    if workers > 1:
        torch.distributed.broadcast(step_s, 0)
    steps = max(5, int(ROUND_S[workers] / step_s))
    calls = {
        name: reader(train, steps, steps * batch * workers, place) for name, train in loops.items()
    }
    closest = {name: calls[name] for name in ("ours", "bare")}
    frameworks = {name: call for name, call in calls.items() if name != "bare"}
    return {
        name: (found["ours"], found[name])
        for found in (
            interleaved(closest, rounds * BARE_ROUNDS[workers]),
            interleaved(frameworks, rounds * FRAMEWORK_ROUNDS[workers]),
        )
        for name in found
        if name != "ours"
    }


def reader(train: Train, steps: int, samples: int, place: Place) -> Callable[[], Reading]:
    """A call that trains so many steps, of so many samples by all workers, and reads its rate."""

    def read() -> Reading:
        """Rate of all workers and CPU time of a step, from a common start."""
        place.wait()
        start_s = time.thread_time()
        seconds = train(steps)
        return samples / seconds, (time.thread_time() - start_s) / steps

    return read


def stay_on_a_core(rank: int) -> None:
    """Keep this process on one core, a rank each: workers that swap cores wait for each other."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[rank % len(cores)]})


def main() -> None:
    """Read the command line, and measure; rank 0 prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", type=json.loads, help="models and batch sizes, as JSON")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--slow-frac", type=float, default=0.0)
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    given = parser.parse_args()
    model, batch = given.cases[0]
    with join_workers(spec_of(model, batch, int(os.environ.get("WORLD_SIZE", 1)))) as place:
        stay_on_a_core(place.rank)
        for model, batch in given.cases:
            rates = measure(place, model, batch, given.rounds, given.slow_frac, given.peers)
            if place.leads:
                print(json.dumps(rates), flush=True)
    os._exit(0)  # Lightning's own atexit hooks wait for each other


if __name__ == "__main__":
    main()
