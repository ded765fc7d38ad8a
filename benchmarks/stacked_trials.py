"""Searches of S1 with their trials stacked, against the same one trial at a time.

    python benchmarks/stacked_trials.py [--rounds 3] [--trials 16] [--models mlp]

The whole runs of the default configuration, Nesterov momentum on the digits: search, finalists and
repeats at every batch size, and the gradient noise. A search keeps its length in steps whatever
the number of trials, so that fewer of them make a first look short. How many winners and trials
are the same is said: at rates that hardly converge rounding may turn a trial.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "benchmarks")]

import torch  # noqa: E402
from ratios import Ratio, compare, interleaved, machine, told  # noqa: E402

from dpscale.plan import Spec  # noqa: E402
from dpscale.studies import planned_runs, read_config  # noqa: E402
from dpscale.studies.steps_to_goal.measure.search import measure_search  # noqa: E402
from dpscale.train.data import load_dataset  # noqa: E402
from dpscale.train.optim import build_optimizer  # noqa: E402, F401 (torch's compiler, sympy)
from dpscale.train.worker import Place  # noqa: E402

MODELS = ("mlp", "softmax")
OPTIMIZER = "nesterov"
NO_STACKS = 1  # stacked_samples
Results = dict[tuple[Any, ...], tuple[Any, ...]]  # of a trial: how it ended, by what it was


def spec(model: str, trials: int, batches: Sequence[int] | None, *, stacked: bool) -> Spec:
    """The run of the default configuration with so many trials at each of these batch sizes."""
    plan = planned_runs(read_config(ROOT / "config/config.yaml"))
    run = plan[f"steps_to_goal-{model}-{OPTIMIZER}"]
    search = run.protocol
    changed = {
        "trials": trials,
        "batch_sizes": tuple(batches or search.batch_sizes),
        "stacked_samples": search.stacked_samples if stacked else NO_STACKS,
    }
    return run.model_copy(update={"protocol": search.model_copy(update=changed)})


def results(rows: list[dict[str, Any]]) -> Results:
    """How each trial ended, by what it was: where it did not reach the goal, without its steps,
    which other trials decide."""
    return {
        (row["global_batch"], row["role"], row["lr"], row["momentum"], row["seed"]): (
            row["status"],
            row["steps_to_goal"],
        )
        for row in rows
    }


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
    """How far both found the same, in words."""
    both = stacked.keys() & apart.keys()  # not the finalists that one of them chose alone
    otherwise = sum(stacked[key] != apart[key] for key in both)
    mine, theirs = winners(stacked), winners(apart)
    equal = sum(mine.get(batch) == point for batch, point in theirs.items())
    return (
        f"{equal} of {len(theirs)} winners are the same; {len(both) - otherwise:,} of "
        f"{len(both):,} trials reach the goal after the same steps, or do not"
    )


def compared(model: str, rounds: int, trials: int, batches: Sequence[int] | None) -> Ratio:
    """The ratio of the seconds of both ways for a network, printed."""
    stacked, apart = (Search(spec(model, trials, batches, stacked=kind)) for kind in (True, False))
    times = interleaved({"stacked": stacked.seconds, "apart": apart.seconds}, rounds)
    case = f"search of S1, {model}, {trials} trials"
    one = compare(
        "stacked_trials",
        case,
        "one at a time",
        "s",
        times["stacked"],
        times["apart"],
        less_is_better=True,
    )
    print(told(one, ours=times["stacked"], peer=times["apart"]))
    print(f"{case}: {same(stacked.found, apart.found)}", flush=True)
    return one


def run(
    rounds: int = 3,
    trials: int = 16,
    models: Sequence[str] = MODELS,
    batches: Sequence[int] | None = None,
) -> list[Ratio]:
    """The ratios of the seconds of both ways, printed, a network each; no batches: all."""
    torch.set_num_threads(1)
    return [compared(model, rounds, trials, batches) for model in models]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trials", type=int, default=16)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    arguments = parser.parse_args()
    print(machine(), flush=True)
    run(arguments.rounds, arguments.trials, arguments.models)
