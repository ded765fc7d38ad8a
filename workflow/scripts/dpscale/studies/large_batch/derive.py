"""How far the arms of the study are apart, paired by seed."""

from collections.abc import Iterable, Iterator

import pandas as pd

from dpscale.derive.accuracy import DIFFERENCES, Pair, differences
from dpscale.derive.cells import in_study
from dpscale.derive.columns import as_table, known
from dpscale.derive.contrasts import beside_chance
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.tables import Table
from dpscale.derive.verdicts import side
from dpscale.records.columns import Columns, columns, intervals
from dpscale.studies.large_batch.remedies import ADDED_TO, CONTROL, LONGER, REMEDIES

STUDY = "large_batch"
EPOCH = 5  # the lab asks for it
COLUMNS: Columns = DIFFERENCES | columns("family chance_decides")
EQUAL_COLUMNS: Columns = (
    columns("epoch updates")
    | intervals("test_accuracy_frac test_accuracy_difference_frac")
    | side("to_level", "test_accuracy_difference_frac")
    | columns("runs")
)


def compared_epoch(planned: Iterable[int | None]) -> int:
    """Return the epoch that is compared: the 5th, or the last that small and large both plan."""
    return min([EPOCH, *(epochs for epochs in planned if epochs is not None)])


def large_batch(trials: pd.DataFrame, curves: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return how far the large batch is from the small one, and each remedy from what it mends.

    And the small batch at the scaled rate from that at the rate left as it is.
    A remedy is compared after its last epoch: with the large and the small batch after the epoch
    that is compared, and with the remedy that it adds to; the longer training also with those that
    cost no more than the large batch. Raises MixedMachinesError for runs of
    different machines.
    """
    planned = in_study(runs, STUDY)
    require_same_machine(planned)
    base = planned[planned["arm"].isin(["small", "large"])]
    epoch = compared_epoch(known(count) for count in base["epochs"])
    rows = differences(_pairs(epoch), trials, curves, planned).to_dict("records")
    beside_chance(rows, "test_accuracy_difference_frac")
    return as_table(rows, COLUMNS)


def _pairs(epoch: int) -> Iterator[Pair]:
    yield Pair("large", "small", epoch, epoch)
    yield Pair(CONTROL, "small", epoch, epoch)
    for remedy in REMEDIES:
        yield Pair(remedy, "large", None, epoch)
        yield Pair(remedy, "small", None, epoch)
    for remedy, base in ADDED_TO.items():
        yield Pair(remedy, base)
    for remedy in REMEDIES:
        if remedy != LONGER:
            yield Pair(LONGER, remedy)


def equal_updates(
    trials: pd.DataFrame,
    curves: pd.DataFrame,
    accuracy: pd.DataFrame,
    steps: pd.DataFrame,
    runs: pd.DataFrame,
) -> pd.DataFrame:
    """Return the small batch after the epoch in which it had made as many updates as the large one.

    That is an epoch before the one that is compared; no row where none ends there. The difference
    is the large batch, after the epoch that is compared, less this, as that of `large_batch`.
    """
    own = accuracy[(accuracy["study"] == STUDY) & accuracy["arm"].isin(["small", "large"])]
    epoch = compared_epoch(known(count) for count in own["epochs"])
    rows = own.dropna(subset=["epoch", "train_loss"]).to_dict("records")
    by_epoch = {(row["arm"], row["epoch"]): row for row in rows}
    small, large = (by_epoch.get((arm, epoch)) for arm in ("small", "large"))
    made, fewer = (row and updates(steps, row["runs"].split(), epoch) for row in (small, large))
    if not made or not fewer or fewer >= made:
        return as_table([], EQUAL_COLUMNS)
    then, rest = divmod(fewer * epoch, made)
    level = by_epoch.get(("small", then))
    if rest or not level or not large:
        return as_table([], EQUAL_COLUMNS)
    pair = Pair("large", "small", epoch, then)
    (apart,) = differences([pair], trials, curves, in_study(runs, STUDY)).to_dict("records")
    both = {"runs": f"{level['runs']} {large['runs']}", "updates": fewer}
    return as_table([apart | level | both], EQUAL_COLUMNS)


def updates(steps: pd.DataFrame, runs: Iterable[str], epoch: int) -> int | None:
    """Return the updates that one training of some runs made in so many epochs; None if unknown."""
    own = steps[steps["run"].isin(runs)]
    an_epoch = own[(own["epoch"] == own["epoch"].min()) & (own["seed"] == own["seed"].min())]
    return int(an_epoch["step"].nunique()) * epoch or None


TABLES = {
    "large_batch": Table(large_batch, ["trials", "curves", "runs"], COLUMNS),
    "equal_updates": Table(
        equal_updates, ["trials", "curves", "accuracy", "steps", "runs"], EQUAL_COLUMNS
    ),
}
