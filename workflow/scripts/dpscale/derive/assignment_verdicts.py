"""The cluster-training assignment beside published figures: what can be compared, and how."""

from typing import Any

import pandas as pd

from dpscale.derive import published_assignment as published
from dpscale.derive.columns import Columns, as_table, floats, integers, known, texts
from dpscale.derive.formulas import (
    efficiency,
    full_steps,
    iterations_per_epoch,
    loader_steps,
    run_steps,
    share_margin,
    speedup,
    workers_of_steps,
)
from dpscale.derive.published_assignment import TRAININGS, Published
from dpscale.derive.verdicts import UNDECIDED, within
from dpscale.plan.assignment import LINEAR, STUDY
from dpscale.units import group_digits

COLUMNS: Columns = (
    texts("quantity")
    | integers("workers nodes per_worker_batch epochs")
    | floats("published published_low published_high measured measured_low measured_high")
    | texts("verdict reason runs")
)
CONTRADICTS = "contradicts itself"
NOT_MEASURED = "not measured here"

Row = dict[str, Any]


def _judged(row: Row, reason: str | None) -> Row:
    """Return the row with its verdict: whether the two intervals meet, unless a reason forbids."""
    low, high = (known(row.get(end)) for end in ("measured_low", "measured_high"))
    if reason is None and None in (low, high):
        reason = "no interval of this machine's value"
    if reason:
        return row | {"verdict": UNDECIDED, "reason": reason}
    return row | {"verdict": within(low, high, row["published_low"], row["published_high"])}


def _row(quantity: str, quoted: Published, value: float, margin: float = 0.0) -> Row:
    """Return the published side of a row: the value and half its interval."""
    return {
        "quantity": quantity,
        "workers": quoted.workers,
        "nodes": quoted.nodes,
        "per_worker_batch": published.PER_WORKER_BATCH,
        "epochs": quoted.epochs,
        "published": value,
        "published_low": value - margin,
        "published_high": value + margin,
    }


def _first(table: pd.DataFrame, **cell: Any) -> Row | None:
    """Return the first complete row of a table with these values, or None."""
    chosen = table["status"] == "complete"
    for column, value in cell.items():
        chosen &= table[column].eq(value).fillna(False)
    found = table[chosen]
    return found.iloc[0].to_dict() if len(found) else None


def _measured(row: Row | None, column: str) -> Row:
    if row is None:
        return {}
    ends = {"measured": "", "measured_low": "_low", "measured_high": "_high"}
    return {name: row[column + end] for name, end in ends.items()} | {"runs": row["runs"]}


def _otherwise(own: Row | None) -> str | None:
    """Return how this machine's training differs from the published one, None where it does not."""
    if own is None:
        return NOT_MEASURED
    if own["dataset"] != published.DATASET:
        return f"other data, {own['dataset']}"
    if own["per_worker_batch"] != published.PER_WORKER_BATCH:
        return f"another batch, b = {own['per_worker_batch']}"
    return None


def _seconds(quoted: Published, own: Row | None) -> Row:
    """Return the row of a training time; seconds of other hardware say nothing of each other."""
    assert quoted.train_s is not None
    row = _row("train_s", quoted, quoted.train_s) | _measured(own, "full_run_s")
    return _judged(row, _otherwise(own) or "seconds of other devices, which are not named")


def _speedup(quoted: Published) -> float:
    """Return T_1/T_N of the published times."""
    base = next(one for one in TRAININGS if one.workers == 1 and one.train_s)
    assert base.train_s is not None
    assert quoted.train_s is not None
    return speedup(base.train_s, quoted.train_s)


def _efficiency(quoted: Published, own: Row | None) -> Row:
    value = efficiency(_speedup(quoted), quoted.workers)
    row = _row("efficiency_frac", quoted, value) | _measured(own, "efficiency_frac")
    reason = _otherwise(own)
    if own is not None and known(own["oversubscribed"]) and reason is None:
        reason = "these workers share devices"
    return _judged(row, reason)


def _accuracy(quoted: Published, own: Row | None, curve: pd.DataFrame) -> Row:
    value = quoted.test_accuracy_frac
    margin = share_margin(value, published.TEST_SAMPLES)
    row, reason, at = _row("test_accuracy_frac", quoted, value, margin), _otherwise(own), None
    if own is not None and reason is None:
        at = _first(curve, workers=quoted.workers, nodes=quoted.nodes, epoch=quoted.epochs)
        reason = None if at else f"{own['epochs']} epochs here"
    return _judged(row | _measured(at, "test_accuracy_frac"), reason)


def _utilisation(batch: int, value: float, measured: pd.DataFrame) -> Row:
    """Return the row of a utilisation; its interval is the rounding of the printed percent."""
    quoted = next(one for one in TRAININGS if one.workers == 1)
    row = _row("utilisation_frac", quoted, value, published.UTILISATION_ROUNDING)
    row |= {"per_worker_batch": batch, "epochs": None}
    own = _first(measured, per_worker_batch=batch)
    reason = None
    if own is None:
        reason = NOT_MEASURED
    elif own["dataset"] != published.DATASET:
        reason = f"other data, {own['dataset']}"
    elif str(own["device"]).startswith(("CPU", "cpu", "group of CPU")):
        reason = "another device, no GPU"
    return _judged(row | _measured(own, "utilisation_frac"), reason)


def _steps(own: Row | None) -> Row:
    """Return the row of the steps of a full run: between those with and without a last batch."""
    samples, batch = published.TRAIN_SAMPLES, published.PER_WORKER_BATCH
    quoted = next(one for one in TRAININGS if one.workers == 1)
    exact = run_steps(iterations_per_epoch(samples, 1, batch), published.FULL_EPOCHS)
    row = _row("steps", quoted, exact) | {
        "published_low": run_steps(full_steps(samples, batch), published.FULL_EPOCHS),
        "published_high": run_steps(loader_steps(samples, batch), published.FULL_EPOCHS),
    }
    if own is not None:
        steps = own["full_run_steps"]
        row |= {"measured": steps, "measured_low": steps, "measured_high": steps}
        row |= {"runs": own["runs"]}
    return _judged(row, _otherwise(own))


def _label() -> Row:
    """Return the row of a run whose printed steps can only come from another number of workers."""
    label, batch = published.MISLABELLED, published.PER_WORKER_BATCH
    samples = published.TRAIN_SAMPLES
    makers = workers_of_steps(samples, batch, label.steps, label.epochs)
    quoted = Published(label.workers, 2, label.epochs, float("nan"))
    return _row("steps", quoted, label.steps) | {
        "verdict": UNDECIDED if makers == label.workers else CONTRADICTS,
        "reason": f"so few steps of b = {batch} in {label.epochs} epochs of "
        f"{group_digits(samples)} images come from {makers} workers",
    }


def _ratio() -> Row:
    """Return the row of a speed-up that the published times do not give."""
    said, quoted = published.MISCALLED_RATIO, TRAININGS[1]
    right = _speedup(quoted)
    return _row("speedup_ratio", quoted, said) | {
        "verdict": UNDECIDED if round(right, 2) == said else CONTRADICTS,
        "reason": f"called times faster; the ratio of the published times is {right:.2f}",
    }


def beside_published(
    assignment: pd.DataFrame, accuracy: pd.DataFrame, utilisation: pd.DataFrame
) -> pd.DataFrame:
    """Return one row a published figure: utilisations, steps, times, ratios, accuracies.

    Efficiencies follow from the published times; an accuracy has the 95% interval of a share
    counted on its test images. The verdict agrees when the intervals meet; not decidable, with
    the reason, where data, batch, epochs or devices differ or nothing was measured, and for
    seconds, since the published hardware is not known; contradicts itself where another published
    figure says otherwise. No row where the assignment is not planned.
    """
    linear = assignment[assignment["rule"] == LINEAR]
    if linear.empty:
        return as_table([], COLUMNS)
    curve = accuracy[(accuracy["study"] == STUDY) & (accuracy["arm"] == LINEAR)]
    rows = [_utilisation(batch, value, utilisation)
            for batch, value in published.UTILISATION.items()]  # fmt: skip
    own = {quoted: _first(linear, workers=quoted.workers, nodes=quoted.nodes)
           for quoted in TRAININGS}  # fmt: skip
    timed = [quoted for quoted in TRAININGS if quoted.train_s]
    rows += [_steps(own[TRAININGS[0]]), _label(), _ratio()]
    rows += [_seconds(quoted, own[quoted]) for quoted in timed]
    rows += [_efficiency(quoted, own[quoted]) for quoted in timed if quoted.workers > 1]
    rows += [_accuracy(quoted, own[quoted], curve) for quoted in TRAININGS]
    return as_table(rows, COLUMNS)
