"""Columns of all tables, declared once in columns.toml: the type of each, and what it means."""

import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_suffix(".toml")
INT, FLOAT, BOOL = "Int64", "float64", "boolean"
TYPES = {"integer": INT, "real": FLOAT, "text": "str", "flag": BOOL}  # by section of the file
BOUNDS = {"difference": (-1, 1), "ratio": (0, None), "excess": (-1, None), "signed": (None, None)}
Columns = dict[str, str]
TableRow = dict[str, Any]  # of a record or a table, by column


@cache
def declared() -> dict[str, dict[str, str]]:
    """Return the sections of the file: meanings by name (TYPES, the tidy `tables`), `bounds`."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


@cache
def _meanings() -> dict[str, str]:
    return {name: text for section in TYPES for name, text in declared()[section].items()}


@cache
def _types() -> dict[str, str]:
    return {name: dtype for section, dtype in TYPES.items() for name in declared()[section]}


def entry(column: str) -> str:
    """Return the name that a column has in the file: NAME_low and NAME_high are of NAME.

    Raises KeyError for one that is not there.
    """
    for name in (column, column.removesuffix("_low"), column.removesuffix("_high")):
        if name in _types():
            return name
    raise KeyError(
        f"no column {column} in {FILE.name}; declare what it means there, under the type of what "
        f"it holds ({', '.join(TYPES)}){near(column, _types())}"
    )


def near(name: str, names: Iterable[str]) -> str:
    """Return what to say of the names like one that is none of them."""
    like = get_close_matches(name, names)
    return f"; there is {', '.join(like)}" if like else ""


def meaning(table: str, column: str) -> str:
    """Return what a column means in a table."""
    name = entry(column)
    return _meanings().get(f"{table}.{name}", _meanings()[name])


@cache
def bounds(column: str) -> tuple[float | None, float | None]:
    """Return the least and the largest number that a column may hold; None: no bound.

    Times, sizes, rates and counts are never below zero, and a share is at most 1; what else a
    column may hold is in the file. The ends of an interval have the bounds of what it is of.
    """
    name = column.removesuffix("_low").removesuffix("_high")
    for kind, names in declared()["bounds"].items():
        if name in names.split():
            return BOUNDS[kind]
    return (None, None) if name.endswith("loss") else (0, 1 if name.endswith("_frac") else None)


def columns(names: str) -> Columns:
    """Return the types of columns, named in one string; any may hold nulls.

    Raises KeyError for one that is not in the file.
    """
    return {name: _types()[entry(name)] for name in names.split()}


def reals(names: str) -> Columns:
    """Return the type of columns that hold whole numbers elsewhere, and parts or means here."""
    return dict.fromkeys(columns(names), FLOAT)


def intervals(names: str) -> Columns:
    """Return the types of measurements, named in one string: NAME, NAME_low and NAME_high."""
    return columns(" ".join(f"{name} {name}_low {name}_high" for name in names.split()))
