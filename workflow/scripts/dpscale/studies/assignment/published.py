"""A published answer to the cluster-training assignment, and this machine's results beside it.

The figures are those that the assignment's own description gives beside its questions, a student's
answer on GPUs of a cluster; neither its code nor the model of its GPUs is known. They are quoted,
never measured here. MNIST, a small CNN, Adam, b = 128 a worker. The times are of 40 epochs.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import pandas as pd

from dpscale.derive.columns import as_table
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
from dpscale.derive.published import CLAIM_COLUMNS, Judgement, claim_row, other_devices
from dpscale.derive.statistics import estimate_of
from dpscale.records.columns import Columns, TableRow, columns
from dpscale.studies.assignment.config import ASSIGNED_BATCH as BATCH
from dpscale.studies.assignment.plan import LINEAR, STUDY
from dpscale.units import group_digits
from dpscale.units.text import SPACE
from dpscale.vocabulary import words

SOURCE = "a published answer to the same assignment, on GPUs of a cluster"
DATASET, NETWORK, OPTIMIZER = "mnist", "mnist_cnn", "adam"
TRAIN_SAMPLES, TEST_SAMPLES = 60_000, 10_000
FULL_EPOCHS = 40


def stands_in(training: Mapping[str, Any]) -> bool:
    """Return whether a training has other data, network or optimiser than the assignment's."""
    own = (training["dataset"], training["model"], training["optimizer"])
    return own != (DATASET, NETWORK, OPTIMIZER)


class Training(NamedTuple):
    """What a figure was published of."""

    workers: int
    nodes: int
    epochs: int


ALONE, TWO, FOUR = (Training(workers, 1, FULL_EPOCHS) for workers in (1, 2, 4))
ON_TWO_NODES = Training(2, 2, FULL_EPOCHS)
TRAIN_S = {ALONE: 456.15, TWO: 379.69, FOUR: 203.63}
SPEEDUP = {training: speedup(TRAIN_S[ALONE], train_s) for training, train_s in TRAIN_S.items()}
ACCURACY = {
    ALONE: 0.9827,
    TWO: 0.9862,
    FOUR: 0.9903,
    Training(1, 1, 21): 0.9854,
    Training(2, 1, 21): 0.9922,
    Training(4, 1, 21): 0.9920,
    ON_TWO_NODES: 0.9902,
    Training(6, 2, 40): 0.9905,
    Training(8, 2, 40): 0.9879,
}
UTILISATION = {128: 0.20, 1024: 0.54}  # per-worker batch: share of time, in whole percent
UTILISATION_ROUNDING = 0.005
LABELLED_STEPS = 3120  # of ON_TWO_NODES
CALLED_FASTER = 0.53  # of TWO against ALONE: "times faster"
# How near to a published share a measured one has to be, to agree.
MARGIN_FRAC = {"utilisation_frac": 0.05, "efficiency_frac": 0.05, "test_accuracy_frac": 0.01}

# The run that the assignment asks for, on one worker: its steps by epochs * D/B, and those of
# loaders that drop and that keep the last, partial batch.
ASSIGNED = {
    "dataset": DATASET,
    "epochs": FULL_EPOCHS,
    "samples": TRAIN_SAMPLES,
    "batch": BATCH,
    "steps": run_steps(iterations_per_epoch(TRAIN_SAMPLES, 1, BATCH), FULL_EPOCHS),
    "full_steps": run_steps(full_steps(TRAIN_SAMPLES, BATCH), FULL_EPOCHS),
    "loader_steps": run_steps(loader_steps(TRAIN_SAMPLES, BATCH), FULL_EPOCHS),
}

# A claim's id is the column that it speaks of.
CLAIMS = (
    "utilisation_frac",
    "steps",
    "speedup_ratio",
    "train_s",
    "efficiency_frac",
    "test_accuracy_frac",
)
CONTRADICTS = "contradicts itself"  # where another published figure says otherwise
COLUMNS: Columns = (
    CLAIM_COLUMNS
    | words("claim", CLAIMS)
    | words("verdict", Judgement | Literal["contradicts itself"])
    | columns("workers nodes per_worker_batch epochs")
)


def beside_published(
    assignment: pd.DataFrame, accuracy: pd.DataFrame, utilisation: pd.DataFrame
) -> pd.DataFrame:
    """Return one row a published figure: utilisations, steps, times, ratios, accuracies.

    Efficiencies follow from the published times; an accuracy has the 95% interval of a share
    counted on its test images. A share agrees within MARGIN_FRAC, steps where they lie between
    those of loaders that drop and that keep the last batch. Not judged, with the reason, where
    data, batch, epochs or devices differ or nothing was measured, and for seconds, since the
    published hardware is not known; contradicts itself where another published figure says
    otherwise. No row where the assignment is not planned.
    """
    linear = assignment[assignment["rule"] == LINEAR]
    if linear.empty:
        return as_table([], COLUMNS)
    curve = accuracy[(accuracy["study"] == STUDY) & (accuracy["arm"] == LINEAR)]
    own = {one: _first(linear, workers=one.workers, nodes=one.nodes) for one in ACCURACY}
    rows = [_utilisation(batch, utilisation) for batch in UTILISATION]
    rows += [_steps(own[ALONE]), *_contradicted()]
    rows += [_seconds(one, own[one]) for one in TRAIN_S]
    rows += [_efficiency(one, own[one]) for one in (TWO, FOUR)]
    rows += [_accuracy(one, own[one], curve) for one in ACCURACY]
    return as_table(rows, COLUMNS)


def _first(table: pd.DataFrame, **cell: Any) -> TableRow | None:
    """Return the first complete row of a table with these values, or None."""
    of_cell = table["status"] == "complete"
    for column, value in cell.items():
        of_cell &= table[column] == value
    found = table[of_cell]
    return found.iloc[0].to_dict() if len(found) else None


def _otherwise(here: TableRow | None, batch: int = BATCH) -> str | None:
    """Return how this machine's training differs from the published one, None where it does not."""
    if here is None:
        return "not measured here"
    if here["dataset"] != DATASET:
        return f"other data, {here['dataset']}"
    own = here["per_worker_batch"]
    return None if own == batch else f"another batch, b = {own}"


def _claim(
    claim: str,
    quoted: Training,
    published: float,
    here: TableRow | None,
    reason: str | None,
    column: str = "",
    **more: Any,
) -> TableRow:
    """Return a claim beside a column (the claim's own) of this machine's row."""
    measured = None if here is None else estimate_of(here, column or claim)
    of: TableRow = {"per_worker_batch": BATCH, "margin": MARGIN_FRAC.get(claim), **quoted._asdict()}
    of |= {"runs": None if here is None else here["runs"], **more}
    return claim_row(
        claim,
        "range" if claim == "steps" else "near",
        published=published,
        source=SOURCE,
        measured=measured,
        reason=reason,
        **of,
    )


def _utilisation(batch: int, measured: pd.DataFrame) -> TableRow:
    """Return the row of a utilisation; its interval is the rounding of the printed percent."""
    here = _first(measured, per_worker_batch=batch)
    reason = _otherwise(here, batch) or _devices(here)
    return _claim(
        "utilisation_frac",
        ALONE,
        UTILISATION[batch],
        here,
        reason,
        ends=_around(UTILISATION[batch], UTILISATION_ROUNDING),
        per_worker_batch=batch,
        epochs=None,
    )


def _devices(here: TableRow | None) -> str | None:
    """Return how this machine's devices differ from the published ones."""
    return other_devices(here["device"], here.get("oversubscribed")) if here else None


def _around(number: float, half: float) -> tuple[float, float]:
    return number - half, number + half


def _steps(here: TableRow | None) -> TableRow:
    """Return the row of the steps of a full run: between those with and without a last batch."""
    steps, least, most = (ASSIGNED[name] for name in ("steps", "full_steps", "loader_steps"))
    if here is not None:
        counted = here["full_run_steps"]
        here = here | dict.fromkeys(("steps", "steps_low", "steps_high"), counted)
    return _claim("steps", ALONE, steps, here, _otherwise(here), ends=(least, most))


def _contradicted() -> list[TableRow]:
    """Return the rows of a label and of a ratio; their reasons name the figures they contradict."""
    makers = workers_of_steps(TRAIN_SAMPLES, BATCH, LABELLED_STEPS, FULL_EPOCHS)
    two, many = (
        group_digits(FULL_EPOCHS * full_steps(TRAIN_SAMPLES, BATCH * workers))
        for workers in (ON_TWO_NODES.workers, makers)
    )
    label = (
        f"the published epochs, images and batch ({FULL_EPOCHS} of {group_digits(TRAIN_SAMPLES)} "
        f"at b = {BATCH}), by which {ON_TWO_NODES.workers} workers make {two} steps and {makers} "
        f"workers {many}"
    )
    ratio = (
        f"the published times, by which it is {SPEEDUP[TWO]:.2f} ({TRAIN_S[ALONE]}{SPACE}s over "
        f"{TRAIN_S[TWO]}{SPACE}s)"
    )
    rows = [
        _claim("steps", ON_TWO_NODES, LABELLED_STEPS, None, label),
        _claim("speedup_ratio", TWO, CALLED_FASTER, None, ratio),
    ]
    return [row | {"verdict": CONTRADICTS} for row in rows]


def _seconds(quoted: Training, here: TableRow | None) -> TableRow:
    """Return the row of a training time; seconds of other hardware say nothing of each other."""
    reason = _otherwise(here) or "seconds of other devices, which are not named"
    return _claim("train_s", quoted, TRAIN_S[quoted], here, reason, "full_run_s")


def _efficiency(quoted: Training, here: TableRow | None) -> TableRow:
    published = efficiency(SPEEDUP[quoted], quoted.workers)
    reason = _otherwise(here) or _devices(here)
    return _claim("efficiency_frac", quoted, published, here, reason)


def _accuracy(quoted: Training, here: TableRow | None, curve: pd.DataFrame) -> TableRow:
    reason, at = _otherwise(here), None
    if here is not None and reason is None:
        at = _first(curve, workers=quoted.workers, nodes=quoted.nodes, epoch=quoted.epochs)
        reason = f"{here['epochs']} epochs here" if at is None else None
    published = ACCURACY[quoted]
    ends = _around(published, share_margin(published, TEST_SAMPLES))
    return _claim("test_accuracy_frac", quoted, published, at, reason, ends=ends)
