"""Q7: the workers' replicas and losses with and without the broadcast of buffers."""

import math
from operator import itemgetter

import pandas as pd

from dpscale.derive.verdicts import lies
from dpscale.reporting import arms
from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row
from dpscale.reporting.question import Facts

STUDY = "replicas"
ARMS = {"no_broadcast": "no_broadcast", "broadcast": "baseline"}  # table's name: run's name
DRIFT, SPREAD = "buffer_difference_frac_max", "test_accuracy_spread_frac"
COLUMNS = {"parameter_difference_max": "number", DRIFT: "fraction", SPREAD: "fraction"}


def facts_q7(inputs: Inputs) -> Facts:
    """Return how far the replicas of both arms are apart, and whether that matters."""
    both = {arm: _replicas(inputs, arm) for arm in ARMS}
    off, on = both.values()
    losses = _losses(inputs, off.runs + on.runs)
    spreads = _spreads(inputs)
    missing = arms.missing(inputs, STUDY, list(ARMS.values())) or [
        f"{STUDY}, {ARMS[arm]}: no replica was compared"
        for arm, found in both.items()
        if not found["ends"]
    ]
    values = {
        f"{column}_{arm}": found[column]
        for arm, found in both.items()
        for column in ("parameters_identical", *COLUMNS)
    }
    values |= {f"losses_{count}": losses[count] for count in ("compared", "equal")}
    values[f"{SPREAD}_difference"] = spreads["apart"]
    said = {
        "off": off,
        "on": on,
        "losses": losses,
        "evaluation": off["evaluation"],
        "drifts": off["to_broadcast"],
        "growth": growth(off),
        "spreads": spreads,
        "waits": waits(inputs),
        "timed": without_broadcast(inputs),
    }
    return Facts(missing, values, said)


def waits(inputs: Inputs) -> Row | None:
    """Return the fewest workers whose forward pass waits where buffers are sent, and for how long.

    of_epoch: a value for each batch per worker; None where no forward pass measurably waits.
    """
    rows = inputs.rows("waiting_phases", forward_wait_side="above")
    rows = [row for row in rows if row["buffer_bytes"]]
    fewest = min((row["workers"] for row in rows), default=None)
    own = [row.forward_wait_s for row in rows if row["workers"] == fewest]
    return Row(workers=fewest, of_epoch=own) if fewest else None


def without_broadcast(inputs: Inputs) -> list[Row]:
    """Return the cells of Q3.1 that left the broadcast out, of the batch nearest to the replicas'.

    alike: they have as many workers as the replicas. raised: that of the largest batch with as many
    workers, where that is another.
    """
    rows = [row for row in inputs.rows("communication") if row["broadcast_s"] is not None]
    run = next(iter(inputs.tidy_rows("runs", study=STUDY)), None)
    if run is None or not rows:
        return []
    nearest = min(
        sorted(row["per_worker_batch"] for row in rows),
        key=lambda batch: abs(math.log(batch / run["per_worker_batch"])),
    )
    largest = {row["workers"]: row for row in sorted(rows, key=itemgetter("per_worker_batch"))}
    return [
        row
        | {
            "alike": row["workers"] == run["workers"],
            "raised": [one for one in [largest[row["workers"]]] if one is not row],
        }
        for row in rows
        if row["per_worker_batch"] == nearest
    ]


def _replicas(inputs: Inputs, arm: str) -> Row:
    """An arm's replicas after each seed's last epoch, and the largest difference of them."""
    found = [row for row in inputs.rows("replicas", arm=arm) if row["epoch"] is not None]
    rows = sorted(found, key=lambda row: row["epoch"])
    runs = sorted({run for row in rows for run in row.runs})
    flags = [row["parameters_identical"] for row in rows]  # after every epoch
    identical = None if not flags or None in flags else all(flags)
    ends = list({row["seed"]: row for row in rows}.values())
    known = {name: [row[name] for row in ends if row[name] is not None] for name in COLUMNS}
    largest = {
        name: _value(max(known[name], default=None), unit, runs, len(known[name]))
        for name, unit in COLUMNS.items()
    }
    return Row(
        largest,
        runs=" ".join(runs),
        epochs=rows,
        evaluation=rows[0]["evaluation"] if rows else "unmeasured",
        to_broadcast=rows[0]["to_broadcast"] if rows else "unknown",
        ends=ends,
        parameters_identical=_value(identical, "flag", runs, len(rows)),
    )


def growth(arm: Row) -> Row | None:
    """Return how an arm's drift after the last epoch lies beside that after the first, over seeds.

    first, last: the drifts after either. None for one epoch or one seed alone.
    """
    firsts = {row["seed"]: row for row in reversed(arm["epochs"])}
    pairs = [(firsts[row["seed"]], row) for row in arm["ends"]]
    if len(pairs) < 2 or any(
        None in (a[DRIFT], b[DRIFT]) or a["epoch"] == b["epoch"] for a, b in pairs
    ):
        return None
    first, last = (
        [row.value(DRIFT, "fraction") for row in rows] for rows in zip(*pairs, strict=True)
    )
    ranges = [(min(own), max(own)) for own in ([v.value for v in side] for side in (last, first))]
    return Row(
        first=first,
        last=last,
        first_epoch=pairs[0][0]["epoch"],
        last_epoch=pairs[0][1]["epoch"],
        side=lies(*ranges),
    )


def _value(value: float | None, unit: str, runs: list[str], n: int | None = None) -> Value:
    status = "not run yet" if value is None else None
    return Value(value=value, unit=unit, runs=runs, n=n or None, status=status)


def _losses(inputs: Inputs, runs: list[str]) -> Row:
    """How many losses of both arms' steps agree, by worker and seed, and the largest gap."""
    step = ["seed", "epoch", "step", "rank"]
    steps = inputs.tidy.get("steps", pd.DataFrame(columns=["run", *step, "loss"]))
    off, on = (
        steps[steps["run"].isin(inputs.runs(study=STUDY, arm=arm))][[*step, "loss"]]
        for arm in ARMS.values()
    )
    both = off.merge(on, on=step, suffixes=("", "_other")).dropna()
    gaps = (both["loss"] - both["loss_other"]).abs().astype(float)
    compared, equal = len(both) or None, int((gaps == 0).sum())
    return Row(
        compared=_value(compared, "count", runs),
        equal=_value(equal if compared else None, "count", runs, compared),
        unequal=_value(len(both) - equal, "count", runs),
        gap=_value(gaps.max() if compared else None, "number", runs),
    )


def _spreads(inputs: Inputs) -> Row:
    """Return by how much more the accuracy spreads over the workers without the broadcast.

    The verdict of the table; none where an arm has no spread.
    """
    found = inputs.rows("spreads")
    row = found[0] if found else Row(status="not run yet", verdict=None)
    image = row.get("one_image_frac")
    return row | {"apart": row.value("spread_difference_frac", "points"), "image": image}
