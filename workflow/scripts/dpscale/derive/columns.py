"""Rows as derived tables: integers stay integers, and null stays null."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from dpscale.derive.verdicts import Side, of_row
from dpscale.records.columns import FLOAT, Columns, bounds
from dpscale.vocabulary import Words


def known(value: Any) -> Any:
    """Return the value, or None for any kind of null (None, NaN, NA)."""
    # What is no number is not equal to itself; pandas's own question takes four times longer.
    return None if value is None or value is pd.NA or value != value else value


def as_table(rows: Iterable[Mapping[str, Any]], columns: Columns) -> pd.DataFrame:
    """Return the rows as a table of exactly these columns and types; what a row lacks is null.

    Columns of `verdicts.side` are made here, and the ends of intervals cut at the bounds of what
    they are of, such as 0 and 1 of a share. Raises ValueError for a word that a column of
    `vocabulary.words` cannot hold.
    """
    named = [{name: known(row.get(name)) for name in columns} for row in rows]
    sides = {name: kind for name, kind in columns.items() if isinstance(kind, Side)}
    for row in named:
        row |= {name: of_row(row, kind.column, kind.reference) for name, kind in sides.items()}
    found = {name: [row[name] for row in named] for name in columns}
    for name, kind in columns.items():
        if isinstance(kind, Words):
            kind.check(name, found[name])
    return pd.DataFrame({name: _column(name, own, columns[name]) for name, own in found.items()})


def _column(name: str, values: list[Any], kind: str) -> pd.Series:
    """Return the values as a column; None is null."""
    if kind != FLOAT:
        return pd.Series(values, dtype=kind)
    # By way of an array, since objects with None do not turn into float64 themselves
    array = np.array(values, dtype=float)
    if name.endswith(("_low", "_high")) and bounds(name) != (None, None):
        array = np.clip(array, *bounds(name))
    return pd.Series(array, dtype=kind)
