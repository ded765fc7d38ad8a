"""S2: what the curves say of the schedule, of a warm-up's end and of a rate that is too high."""

from collections.abc import Sequence
from itertools import pairwise

from dpscale.derive.verdicts import beside, ends, lies
from dpscale.reporting.inputs import Row

# Of one run, epoch by epoch; a rate is that of an epoch's first step.
Course = Sequence[Row]
TRAIN, VALIDATION = "train_error_frac", "validation_error_frac"


def falls(course: Course) -> list[Row]:
    """Return the epochs in which the rate falls, and to which share of its highest."""
    highest = max((row["lr"] for row in course), default=0)
    return [
        Row(epoch=later["epoch"], share=later["lr"] / highest)
        for earlier, later in pairwise(course)
        if later["lr"] < earlier["lr"]
    ]


def warm_up_epochs(course: Course) -> float | None:
    """Return how many epochs a rate takes that rises by as much in each update.

    None where it is not rising still in the second epoch.
    """
    rates = [row["lr"] for row in course]
    if len(rates) < 2 or not rates[0] < rates[1] < max(rates):
        return None
    return float((max(rates) - rates[0]) / (rates[1] - rates[0]))


def jump(course: Course) -> Row | None:
    """Return the last epoch that is all at the rate of a constant warm-up, and the first without.

    side: how the training error of the second lies to that of the first. None where there is no
    such epoch.
    """
    highest = max((row["lr"] for row in course), default=0)
    low = [row for row in course if row["lr"] == course[0]["lr"] < highest]
    full = [row for row in course if row["lr"] == highest]
    if len(low) < 2:
        return None
    before, after = low[-2], full[0]  # the rate may rise in the last of the low ones
    return Row(before=before, after=after, end=course[-1], side=beside(after, before, TRAIN))


def struggle(course: Course) -> Row | None:
    """Return what a run shows while its rate is high; None without training errors.

    warmed: whether the rate rises; rise: the two epochs between which the training error rises
    most, measurably, while the rate does; late: the last epoch before the rate falls, where its
    validation error is above the training error.
    """
    if not course or any(row[TRAIN] is None for row in course):
        return None
    pairs = list(pairwise(course))
    warmed = [pair for pair in pairs if pair[0]["lr"] < pair[1]["lr"]]
    rises = [pair for pair in warmed if lies(*(ends(row, TRAIN) for row in pair[::-1])) == "above"]
    late = next((one for one, later in pairs if later["lr"] < one["lr"]), None)
    apart = late is not None and lies(ends(late, VALIDATION), ends(late, TRAIN)) == "above"
    return Row(
        warmed=bool(warmed), rise=max(rises, key=_more, default=None), late=late if apart else None
    )


def _more(pair: tuple[Row, Row]) -> float:
    return float(pair[1][TRAIN] - pair[0][TRAIN])
