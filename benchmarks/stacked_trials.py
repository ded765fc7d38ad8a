"""A whole search of S1 with its trials stacked, against the same search one trial at a time.

    python benchmarks/stacked_trials.py [--batches 8 128] [--rounds 5]

Digits, the network mlp, Nesterov momentum, 32 trials. Both ways alternate, and a round's ratio is
the seconds one at a time over the seconds stacked: above 1 the stack is faster. Prints the median
ratio and its 95% bootstrap interval for each batch size.
"""

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow/scripts"))

import torch  # noqa: E402

from dpscale.config.root import Config  # noqa: E402
from dpscale.config.steps_to_goal import SearchedModel, StepsToGoalConfig  # noqa: E402
from dpscale.derive.statistics import median  # noqa: E402
from dpscale.plan import Spec, planned_runs  # noqa: E402
from dpscale.train.data import Dataset, load_dataset  # noqa: E402
from dpscale.train.studies.search import measure_search  # noqa: E402
from dpscale.train.worker import Place  # noqa: E402

ONE_AT_A_TIME = 1  # the largest stacked batch: none of those measured


def spec(batch: int, stacked_batch: int) -> Spec:
    """The search at one batch size."""
    model = SearchedModel(name="mlp", goal_error_frac=0.05, optimizers=("nesterov",))
    study = StepsToGoalConfig(
        models=(model,), batch_sizes=(batch,), trials=32, stacked_batch=stacked_batch
    )
    plan = planned_runs(Config(name="benchmark", steps_to_goal=study))
    return next(one for one in plan.values() if one.kind == "search")


def seconds(given: Spec, dataset: Dataset) -> float:
    """Seconds of the whole search."""
    start = time.perf_counter()
    measure_search(given, dataset, Place(1, 1, 1, torch.device("cpu")))  # rank 1 tells nothing
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, nargs="+", default=[8, 128])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for batch in arguments.batches:
        ways = [spec(batch, ONE_AT_A_TIME), spec(batch, batch)]
        dataset = load_dataset(ways[0].data)
        ratios = []
        for _ in range(arguments.rounds):
            apart_s, stacked_s = (seconds(way, dataset) for way in ways)
            ratios.append(apart_s / stacked_s)
        found = median(ratios)
        print(
            f"B = {batch}: {found.value:.2f} times as fast stacked "
            f"({found.low:.2f} to {found.high:.2f}), {arguments.rounds} rounds"
        )


if __name__ == "__main__":
    main()
