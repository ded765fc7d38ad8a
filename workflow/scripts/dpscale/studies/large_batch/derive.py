"""How far the arms of the study are apart, paired by seed."""

from collections.abc import Iterable, Iterator

import pandas as pd

from dpscale.derive.accuracy import DIFFERENCES, Pair, differences
from dpscale.derive.cells import in_study
from dpscale.derive.columns import known
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.tables import Table

STUDY = "large_batch"
EPOCH = 5  # the lab asks for it
REMEDIES = ("linear_scaling", "warmup", "zero_gamma", "more_epochs")
ADDED_TO = {"warmup": "linear_scaling", "zero_gamma": "warmup"}


def compared_epoch(planned: Iterable[int | None]) -> int:
    """Return the epoch that is compared: the 5th, or the last that small and large both plan."""
    return min([EPOCH, *(epochs for epochs in planned if epochs is not None)])


def large_batch(trials: pd.DataFrame, curves: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return how far the large batch is from the small one, and each remedy from what it mends.

    A remedy is compared after its last epoch: with the large and the small batch after the epoch
    that is compared, and with the remedy that it adds to. Raises MixedMachinesError for runs of
    different machines.
    """
    planned = in_study(runs, STUDY)
    require_same_machine(planned)
    base = planned[planned["arm"].isin(["small", "large"])]
    epoch = compared_epoch(known(count) for count in base["epochs"])
    return differences(_pairs(epoch), trials, curves, planned)


def _pairs(epoch: int) -> Iterator[Pair]:
    yield Pair("large", "small", epoch, epoch)
    for remedy in REMEDIES:
        yield Pair(remedy, "large", None, epoch)
        yield Pair(remedy, "small", None, epoch)
    for remedy, base in ADDED_TO.items():
        yield Pair(remedy, base)


TABLES = {"large_batch": Table(large_batch, ["trials", "curves", "runs"], DIFFERENCES)}
