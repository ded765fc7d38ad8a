"""What was measured, once each: from the tidy tables, never from two tables that repeat it.

Tables of the core are named here. Of a study's own tables the names of the columns tell: a time, a
rate, a peak of memory or an accuracy is measured, whole numbers, texts and flags are the keys.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from dpscale.derive.columns import known
from dpscale.derive.epoch_times import epoch_times
from dpscale.derive.formulas import ring_allreduce_bytes
from dpscale.derive.trainings import ends
from dpscale.records.schemas import SCHEMAS
from dpscale.units import unit_of

Quantity = Literal["time", "rate", "memory", "accuracy"]
# By the end of a column's name, the first that fits. Any other column is not judged: what a setting
# makes so (bytes, steps), what follows from others (ratios, shares), a waiting with much in it.
_QUANTITIES: tuple[tuple[str, Quantity | None], ...] = (
    ("wall_s", None),
    ("bytes_per_s", "rate"),
    ("samples_per_s", "rate"),
    ("_s", "time"),
    ("seconds", "time"),
    ("peak_bytes", "memory"),
    ("peak_memory_bytes", "memory"),
    ("test_accuracy_frac", "accuracy"),
)
_LABELS = ("run", "seed", "repeat", "rank", "iteration", "index", "epoch", "step", "trial")
_ALONG = ("epoch", "step")  # an accuracy is that of the end


class Source(NamedTuple):
    """A column of a table that is measured, and the columns that say of what in a run."""

    table: str
    column: str
    keys: tuple[str, ...] = ()


TRAINED = Source(
    "trials",
    "test_accuracy_frac",
    (
        "role",
        "arm",
        "model",
        "optimizer",
        "learners",
        "per_learner_batch",
        "global_batch",
        "local_steps",
        "lr",
        "momentum",
    ),
)
CORE = (
    Source("epoch_times", "epoch_s", ("arm",)),
    Source("messages", "bytes_per_s", ("operation", "bytes")),
    Source("epochs", "epoch_s"),
    Source("runs", "peak_memory_bytes"),
    TRAINED,
)


class Sample(NamedTuple):
    """What one run says of one column for one key.

    values: of each seed for an accuracy, the median of the launch else; repeats: within the launch;
    images: that the run was tested on.
    """

    source: Source
    quantity: Quantity
    run: str
    key: tuple[tuple[str, Any], ...]
    values: np.ndarray
    repeats: np.ndarray
    images: float | None


def quantity_of(column: str) -> Quantity | None:
    """Return what a column measures that can be better or worse; None for any other."""
    return next((what for end, what in _QUANTITIES if column.endswith(end)), None)


def samples(
    tables: Mapping[str, pd.DataFrame], schemas: Mapping[str, Mapping[str, str]]
) -> Iterator[Sample]:
    """Return what the runs of one results folder measured, with nulls left out.

    Raises MixedMachinesError for timed runs of different machines.
    """
    images = dict(tables["runs"][["run", "test_samples"]].to_numpy())
    for source, table in sources(tables, schemas):
        quantity = quantity_of(source.column)
        if quantity is None or not len(table):
            continue
        measured = table[np.isfinite(table[source.column].to_numpy(float, na_value=np.nan))]
        by = ["run", *source.keys]
        for found, rows in measured.groupby(by, dropna=False, sort=False):
            run, *key = found
            named = zip(source.keys, map(known, key), strict=True)
            values, repeats = _reduced(rows, source, quantity)
            tested = known(images[run])
            yield Sample(source, quantity, run, tuple(named), values, repeats, tested)


def _reduced(
    rows: pd.DataFrame, source: Source, quantity: Quantity
) -> tuple[np.ndarray, np.ndarray]:
    if quantity == "accuracy":
        along = [name for name in _ALONG if name in rows]
        last = rows.sort_values(along).groupby("seed", dropna=False)[source.column].last()
        return last.to_numpy(float), np.empty(0)
    values = rows[source.column].to_numpy(float)
    if quantity == "memory":
        return values.max(keepdims=True), np.empty(0)
    return np.array([np.median(values)]), values


def sources(
    tables: Mapping[str, pd.DataFrame], schemas: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[Source, pd.DataFrame]]:
    """Return each source with the table that has its columns."""
    made = {
        **tables,
        "epoch_times": epoch_times(tables["steps"], tables["runs"]),
        "messages": _rates(tables["messages"], tables["runs"]),
        "epochs": _epochs(tables["curves"], tables["runs"]),
        "trials": _ends(tables["trials"], tables["curves"]),
    }
    for source in CORE:
        yield source, made[source.table]
    for name, columns in schemas.items():
        if name not in SCHEMAS:
            yield from _of_study(name, columns, tables[name])


def _rates(messages: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """The messages with their bytes per second: of an all-reduce those of the ring."""
    joined = messages.merge(runs[["run", "workers"]], on="run")
    sent = joined["bytes"].astype(float)
    ring = ring_allreduce_bytes(sent, joined["workers"].astype(float))
    moved = ring.where(joined["operation"] == "allreduce", sent)
    return joined.assign(bytes_per_s=moved / joined["seconds"])


def _epochs(curves: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """The epochs of trainings; other studies evaluate after other numbers of steps."""
    trained = runs.loc[runs["kind"] == "training", "run"]
    return curves[curves["run"].isin(trained)].rename(columns={"steps_s": "epoch_s"})


def _ends(trials: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """The trainings that came to their end, with their last evaluation."""
    return ends(trials[trials["status"] == "complete"], curves)


def _of_study(
    name: str, columns: Mapping[str, str], table: pd.DataFrame
) -> Iterator[tuple[Source, pd.DataFrame]]:
    """What the columns of a study's own table say by their names; nothing of one without runs."""
    if "run" not in columns:
        return
    keys = tuple(
        key
        for key, kind in columns.items()
        if kind != "float64"
        and key not in (*_LABELS, "samples")
        and unit_of(key) in ("", "setting")
    )
    if {"samples", "seconds"} <= set(columns):  # as many samples as there was time for
        rate = table["samples"].astype(float) / table["seconds"]
        yield Source(name, "samples_per_s", keys), table.assign(samples_per_s=rate)
        return
    for column in columns:
        if quantity_of(column):
            yield Source(name, column, keys), table
