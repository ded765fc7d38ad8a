"""A search of S1 with its trials stacked, against the same search one trial at a time.

    python benchmarks/stacked_trials.py [--rounds 3] [--trials 16]

The network mlp on the digits, Nesterov momentum, the batch sizes and the goal of the default
configuration; search, finalists and repeats of each. A search keeps its length in steps whatever
the number of trials, so that fewer of them make the benchmark short. Batches above
`stacked_batch`, which dpscale trains one after another, are left out. Both ways give the same
results, which is checked in each round.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "benchmarks")]

import torch  # noqa: E402
from ratios import Ratio, compare, interleaved, machine, told  # noqa: E402

from dpscale.config.load import read_config  # noqa: E402
from dpscale.plan import Spec, planned_runs  # noqa: E402
from dpscale.train.data import load_dataset  # noqa: E402
from dpscale.train.studies.search import measure_search  # noqa: E402
from dpscale.train.worker import Place  # noqa: E402

RUN = "steps_to_goal-mlp-nesterov"
ONE_AT_A_TIME = 1  # the largest stacked batch: none of those measured
Results = dict[tuple[Any, ...], tuple[Any, ...]]  # of a trial: how it ended, by what it was


def spec(trials: int, *, stacked: bool) -> Spec:
    """The run of the default configuration with so many trials at each stacked batch size."""
    plan = planned_runs(read_config(ROOT / "config/config.yaml"))[RUN]
    search = plan.search
    sizes = tuple(size for size in search.batch_sizes if size <= search.stacked_batch)
    changed = {
        "trials": trials,
        "batch_sizes": sizes,
        "stacked_batch": max(sizes) if stacked else ONE_AT_A_TIME,
        "noise": search.noise.model_copy(update={"batch": max(sizes) + 1}),  # no trial: not here
    }
    return plan.model_copy(update={"search": search.model_copy(update=changed)})


def results(rows: list[dict[str, Any]]) -> Results:
    """How each trial ended, by what it was; of the repeats, the winner's point too."""
    return {
        (row["global_batch"], row["role"], row["lr"], row["momentum"], row["seed"]): (
            row["status"], row["steps"],
        )
        for row in rows
    }  # fmt: skip


def winners(found: Results) -> dict[int, tuple[float, float]]:
    """Learning rate and momentum of the winner, by batch size."""
    return {key[0]: key[2:4] for key in found if key[1] == "repeat"}


class Search:
    """A search that can be timed; keeps what it found last."""

    def __init__(self, given: Spec) -> None:
        self._spec, self._dataset = given, load_dataset(given.data)
        self.found: Results = {}

    def seconds(self) -> float:
        """Seconds of the whole search."""
        start_s = time.perf_counter()
        place = Place(1, 1, 1, torch.device("cpu"))  # rank 1 tells nothing
        done = measure_search(self._spec, self._dataset, place)
        seconds = time.perf_counter() - start_s
        self.found = results(done.fields["trials"])
        return seconds


def same(stacked: Results, apart: Results) -> str:
    """That both found the same, in words; RuntimeError where they did not."""
    if winners(stacked) != winners(apart):
        raise RuntimeError(f"other winners: stacked {winners(stacked)}, apart {winners(apart)}")
    if differing := [key for key in stacked | apart if stacked.get(key) != apart.get(key)]:
        key = differing[0]
        raise RuntimeError(
            f"{len(differing)} trials end otherwise: {key}: stacked {stacked.get(key)}, "
            f"apart {apart.get(key)}"
        )
    return f"the same winners and the same steps in all {len(stacked)} trials"


def run(rounds: int = 3, trials: int = 16) -> list[Ratio]:
    """The ratio of the seconds of both ways, printed."""
    torch.set_num_threads(1)
    stacked, apart = (Search(spec(trials, stacked=kind)) for kind in (True, False))
    times = interleaved({"stacked": stacked.seconds, "apart": apart.seconds}, rounds)
    case = f"search of S1, mlp by Nesterov, {trials} trials"
    one = compare("stacked_trials", case, "one at a time", "s", times["stacked"], times["apart"],
                  less_is_better=True)  # fmt: skip
    print(told(one, ours=times["stacked"], peer=times["apart"]))
    print(f"{case}: {same(stacked.found, apart.found)}", flush=True)
    return [one]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trials", type=int, default=16)
    arguments = parser.parse_args()
    print(machine(), flush=True)
    run(arguments.rounds, arguments.trials)
