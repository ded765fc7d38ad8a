"""The column types of derived tables: integers stay integers, and null stays null."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

Columns = dict[str, str]


def integers(names: str) -> Columns:
    """Return the type of whole-number columns, named in one string, that may hold nulls."""
    return dict.fromkeys(names.split(), "Int64")


def floats(names: str) -> Columns:
    """Return the type of real-number columns, named in one string; null is NaN."""
    return dict.fromkeys(names.split(), "float64")


def flags(names: str) -> Columns:
    """Return the type of true/false columns, named in one string, that may hold nulls."""
    return dict.fromkeys(names.split(), "boolean")


def texts(names: str) -> Columns:
    """Return the type of text columns, named in one string; null is NaN."""
    return dict.fromkeys(names.split(), "str")


def known(value: Any) -> Any:
    """Return the value, or None for any kind of null (None, NaN, NA)."""
    return None if pd.isna(value) else value


def as_table(rows: Iterable[Mapping[str, Any]], columns: Columns) -> pd.DataFrame:
    """Return the rows as a table of exactly these columns and types; what a row lacks is null."""
    named = [{name: known(value) for name, value in row.items()} for row in rows]
    frame = pd.DataFrame(named, columns=list(columns), dtype=object)
    # Float64 on the way, since a column of objects with None does not turn into float64 itself
    nullable = {name: kind.replace("float64", "Float64") for name, kind in columns.items()}
    return frame.astype(nullable).astype(columns)
