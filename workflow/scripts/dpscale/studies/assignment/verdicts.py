"""H1 to H6, judged: how trainings, batches and parts of an epoch lie beside each other."""

from collections.abc import Iterable, Mapping
from typing import Any

from dpscale.derive.verdicts import beside, ends, lies, of_row, side
from dpscale.records.columns import Columns, TableRow, columns
from dpscale.studies.assignment.plan import LINEAR
from dpscale.vocabulary import VERDICTS, words

ACCURACY = "test_accuracy_frac"
RULES = (LINEAR, "sqrt", "fixed", "fixed_batch")
OUTCOMES = ("diverged", "out_of_memory", "exceeds_dataset", "unavailable")
TRAINING_COLUMNS: Columns = (
    side("pace", "speedup_ratio", 1.0)
    | side("accuracy_side", "test_accuracy_difference_frac")
    | words("to_one to_linear to_one_node to_best")
    | words("against", ("base", *VERDICTS, *OUTCOMES))
    | columns("other_steps mislabelled")
)


def trainings(rows: list[TableRow]) -> None:
    """Notes where the accuracies of complete trainings lie, by their own intervals.

    to_one: beside one worker with the linear rule, the base; `against` says the same, or the
    outcome of a training without a number. to_linear: beside the linear rule with as many workers
    and nodes. Of the linear rule to_one_node: beside as many workers on one node. to_best: beside
    the best of the linear rule, on several nodes where it was trained on those. mislabelled: the
    records hold other workers or steps than planned.
    """
    for row in rows:
        row |= dict.fromkeys(TRAINING_COLUMNS)
    complete = [row for row in in_order(rows) if row["status"] == "complete"]
    linear = [row for row in complete if row["rule"] == LINEAR]
    places = {(row["nodes"], row["workers"]): row for row in linear}
    tried = [row for row in linear if (row["nodes"] or 1) > 1] or linear
    known = [row for row in tried if row[ACCURACY] is not None]
    best = max(known, key=lambda row: float(row[ACCURACY]), default=None)
    base = next((row for row in linear if row["workers"] == 1), None)
    for row in complete:
        row["other_steps"] = row["steps"] != row["planned_steps"]
        row["mislabelled"] = row["other_steps"] or row["counted_workers"] != row["workers"]
        others = {"to_linear": places.get((row["nodes"], row["workers"])), "to_best": best}
        if row is not base:
            others["to_one"] = base
        if row["rule"] == LINEAR and row["nodes"] != 1:
            others["to_one_node"] = places.get((1, row["workers"]))
        row |= {name: beside(row, other, ACCURACY) for name, other in others.items() if other}
    for row in rows:
        outcome = row["status"] if row["status"] in OUTCOMES else None
        row["against"] = "base" if row is base else row["to_one"] or outcome


def in_order(rows: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Return trainings by nodes, workers and rule."""
    return sorted(
        rows, key=lambda row: (row["nodes"] or 0, row["workers"], RULES.index(row["rule"]))
    )


NEARLY_ALL = 0.95  # of the time; what is left is less than any remedy would show
CROWDED = 0.1  # of the time: computing without a core, more than the clocks' granularity
UTILISATION_COLUMNS: Columns = (
    columns("idle_frac on_cpu crowded")
    | words("awaits", ("nothing", "cores", "loader", "launches"))
    | words("utilisation_to_first utilisation_to_last rate_to_first")
    | words("beyond", ("above", "below"))
)


def utilisation(rows: list[TableRow]) -> None:
    """Notes what an idle device waits for, and how each batch lies beside the ends of the range.

    crowded: other programs had the core while this worker computed. One core that computes takes
    processor time all the while; of several cores some may rest. beyond: the utilisation is above
    those of the first and the last batch, or below both.
    """
    for row in rows:
        row |= dict.fromkeys(UTILISATION_COLUMNS)
    found = [row for row in rows if row["status"] == "complete" and measured(row)]
    for row in found:
        busy, compute = row["utilisation_frac"], row["compute_frac"]
        row["idle_frac"], row["on_cpu"] = 1 - busy, "cpu" in str(row["device"]).lower()
        alone = row["device"] == "CPU core" and compute is not None
        row["crowded"] = alone and bool(compute - busy > CROWDED)
        row["awaits"] = _awaits(row)
        row["utilisation_to_first"] = beside(row, found[0], "utilisation_frac")
        row["utilisation_to_last"] = beside(row, found[-1], "utilisation_frac")
        row["rate_to_first"] = beside(row, found[0], "samples_per_s")
        sides = {row["utilisation_to_first"], row["utilisation_to_last"]}
        row["beyond"] = sides.pop() if sides in ({"above"}, {"below"}) else None


def measured(row: TableRow) -> bool:
    """Return whether a batch has a utilisation."""
    return row["utilisation_frac"] is not None


def _awaits(row: TableRow) -> str:
    if of_row(row, "utilisation_frac", NEARLY_ALL) == "above":
        return "nothing"
    if row["on_cpu"]:
        return "cores"
    return "loader" if (row["load_frac"] or 0) > row["idle_frac"] / 2 else "launches"


# Where time goes beside computation.
LOSSES = ("load", "copy", "sharing", "stragglers", "overhead", "exposed")
SPLIT_COLUMNS: Columns = words(
    " ".join(f"{part}_rank" for part in LOSSES), ("largest", "alike", "less")
)


def losses(rows: list[TableRow]) -> None:
    """Notes of each part of an epoch whether it is the largest, or not told from that.

    Null of a part that is not told to be above zero.
    """
    for row in rows:
        row |= dict.fromkeys(SPLIT_COLUMNS)
        shown = [part for part in LOSSES if of_row(row, f"{part}_frac") == "above"]
        shown.sort(key=lambda part: -row[f"{part}_frac"])
        for part in shown:
            told = lies(ends(row, f"{part}_frac"), ends(row, f"{shown[0]}_frac"))
            rank = "largest" if part == shown[0] else "less" if told == "below" else "alike"
            row[f"{part}_rank"] = rank
