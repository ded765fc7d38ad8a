"""H1 to H6, judged: how trainings, batches and parts of an epoch lie beside each other."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from dpscale.derive.verdicts import beside, ends, of_row, side
from dpscale.records.columns import Columns, TableRow, columns
from dpscale.studies.assignment.config import ASSIGNED_BATCH
from dpscale.studies.assignment.plan import LINEAR
from dpscale.vocabulary import words

RULES = (LINEAR, "sqrt", "fixed", "fixed_batch")
OUTCOMES = ("diverged", "out_of_memory", "exceeds_dataset", "unavailable")
MARGIN_FRAC = 0.01  # of the test images: a loss of no more counts as none
# From what one would rather train with to what one would rather not.
KEPT = ("gains", "keeps", "open", "unknown", "loses")
TRAINING_COLUMNS: Columns = (
    side("pace", "speedup_ratio", 1.0)
    | side("to_one_node", "one_node_difference_frac")
    | side("to_best", "best_difference_frac")
    | side("to_fixed", "fixed_difference_frac")
    | words("accuracy_kept", KEPT)
    | words("against", ("base", *KEPT, *OUTCOMES))
    | columns("advised other_steps mislabelled")
)


def trainings(rows: list[TableRow]) -> None:
    """Notes what trainings keep of the accuracy of one worker, and which rule is advised.

    accuracy_kept: by the paired difference; keeps where no more than MARGIN_FRAC is lost, by the
    whole interval. `against` says the same, base for one worker, or the outcome of a training
    without a number. advised: of the rules where the most workers tried several the one that keeps
    best, of several such the one of the highest median. mislabelled: the records hold other workers
    or steps than planned.
    """
    for row in rows:
        row |= dict.fromkeys(["accuracy_kept", "against", "advised", "other_steps", "mislabelled"])
    for row in rows:
        base = row["rule"] == LINEAR and row["workers"] == 1
        if row["status"] == "complete":
            row["other_steps"] = row["steps"] != row["planned_steps"]
            row["mislabelled"] = row["other_steps"] or row["counted_workers"] != row["workers"]
            row["accuracy_kept"] = None if base else _kept(row)
        outcome = row["status"] if row["status"] in OUTCOMES else None
        row["against"] = (
            "base" if base and row["status"] == "complete" else row["accuracy_kept"] or outcome
        )
    tried = (row for row in in_order(rows) if row["accuracy_kept"])
    places = [list(own) for _, own in groupby(tried, _place)]
    for most in [own for own in places if len(own) > 1][-1:] or places[-1:]:
        best = min(
            most,
            key=lambda row: (KEPT.index(row["accuracy_kept"]), -(row["test_accuracy_frac"] or 0)),
        )
        for row in most:
            row["advised"] = row is best


ASSIGNED_COLUMNS: Columns = words("accuracy_kept", KEPT)


def assigned(rows: list[TableRow]) -> None:
    """Notes what several workers with the assignment's batch keep of the accuracy of one."""
    for row in rows:
        several = row["workers"] > 1 and row["test_accuracy_frac"] is not None
        row["accuracy_kept"] = _kept(row) if several else None


def _place(row: TableRow) -> tuple[int, int]:
    return row["nodes"] or 1, row["workers"]


def _kept(row: TableRow) -> str:
    name = "test_accuracy_difference_frac"
    lies = of_row(row, name)
    if lies == "indistinct":
        found = ends(row, name)
        return "keeps" if found and found[0] >= -MARGIN_FRAC else "open"
    return {"above": "gains", "below": "loses", "unknown": "unknown"}[lies]


def in_order(rows: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Return trainings by nodes, workers and rule."""
    return sorted(
        rows, key=lambda row: (row["nodes"] or 0, row["workers"], RULES.index(row["rule"]))
    )


NEARLY_ALL = 0.95  # of the time; what is left is less than any remedy would show
WAITED_FRAC = 0.05  # of the time: waiting for the loader that is worth a remedy
CROWDED = 0.1  # of the time: computing without a core, more than the clocks' granularity
UTILISATION_COLUMNS: Columns = (
    columns("idle_frac on_cpu crowded advised")
    | words("awaits", ("nothing", "loader", "launches", "undecided"))
    | side("utilisation_to_first", "utilisation_difference_frac")
    | side("load_to_first", "load_difference_frac")
    | side("rate_to_best", "rate_to_best_ratio", 1.0)
    | side("accuracy_to_first", "test_accuracy_difference_frac")
)


LOADING_COLUMNS: Columns = side("more_loading", "more_loading_ratio", 1.0)


def utilisation(rows: list[TableRow]) -> None:
    """Notes what an idle device waits for.

    crowded: other programs had the core while this worker computed. One core that computes takes
    processor time all the while; of several cores some may rest. advised: see `_to_take`.
    """
    for row in rows:
        row |= dict.fromkeys(["idle_frac", "on_cpu", "crowded", "awaits", "advised"])
    for row in rows:
        if row["status"] == "complete" and measured(row):
            busy, compute = row["utilisation_frac"], row["compute_frac"]
            row["idle_frac"], row["on_cpu"] = 1 - busy, "cpu" in str(row["device"]).lower()
            alone = row["device"] == "CPU core" and compute is not None
            row["crowded"] = alone and bool(compute - busy > CROWDED)
            row["awaits"] = _awaits(row)
    seen = [row for row in rows if row["status"] == "complete" and measured(row)]
    for row in seen:
        row["advised"] = row is _to_take(seen)


def _to_take(rows: list[TableRow]) -> TableRow:
    """The fastest batch of those that learn no less than the smallest in as many epochs.

    The assignment's where it is among them, and none is measurably faster; the smallest where none
    is measurably faster than that.
    """
    first = rows[0]
    learn = [row for row in rows if of_row(row, "test_accuracy_difference_frac") != "below"]
    faster = [row for row in learn if row is not first and _faster(row, first)]
    enough = [
        row
        for row in faster
        if row["per_worker_batch"] == ASSIGNED_BATCH
        and of_row(row, "rate_to_best_ratio", 1.0) == "indistinct"
    ]
    return max(enough or faster, key=lambda row: row["samples_per_s"], default=first)


def _faster(row: TableRow, first: TableRow) -> bool:
    """Whether a batch trains measurably faster than the first."""
    if row["rate_to_best_ratio"] == 1:  # it is the best
        return of_row(first, "rate_to_best_ratio", 1.0) == "below"
    return beside(row, first, "samples_per_s") == "above"


def measured(row: TableRow) -> bool:
    """Return whether a batch has a utilisation."""
    return row["utilisation_frac"] is not None


def _awaits(row: TableRow) -> str:
    """What the device waits for; on a CPU, whose utilisation counts loading as work, the loader."""
    if row["on_cpu"]:
        waited = of_row(row, "load_frac", WAITED_FRAC)
        return {"above": "loader", "below": "nothing"}.get(waited, "undecided")
    if of_row(row, "utilisation_frac", NEARLY_ALL) == "above":
        return "nothing"
    mostly = of_row(row, "load_frac", row["idle_frac"] / 2)
    return {"above": "loader", "below": "launches"}.get(mostly, "undecided")


# Where time goes beside computation.
LOSSES = ("load", "copy", "sharing", "stragglers", "overhead", "exposed")
SPLIT_COLUMNS: Columns = words(
    " ".join(f"{part}_rank" for part in LOSSES), ("largest", "alike", "less")
)


def shown(row: Mapping[str, Any], part: str) -> bool:
    """Return whether a part of an epoch is above zero by its interval."""
    named = {f"{part}_frac{end}": None for end in ("", "_low", "_high")}
    return of_row(named | dict(row), f"{part}_frac") == "above"


def losses(rows: list[TableRow]) -> None:
    """Notes of each part of an epoch that is above zero whether it is the largest, or less.

    alike: by the difference to the largest, paired by launch, it may be as large.
    """
    for row in rows:
        row |= dict.fromkeys(SPLIT_COLUMNS)
        parts = sorted(
            (part for part in LOSSES if shown(row, part)), key=lambda part: -row[f"{part}_frac"]
        )
        for part in parts:
            less = of_row(row, f"{part}_behind_frac") == "above"
            row[f"{part}_rank"] = "largest" if part == parts[0] else "less" if less else "alike"
