"""Small parts of the made-up lab, which are derived anew for each of many generated ones."""

import functools
from collections.abc import Mapping, Sequence

import pandas as pd
from hypothesis import strategies as st

from builders import Tables, full_lab
from dpscale.derive.tables import Derived
from dpscale.reporting.inputs import Inputs
from dpscale.studies import derived_of
from properties import asked, failing, nulled

SHARES = st.floats(0.02, 0.98)


@functools.cache
def _study(runs: tuple[str, ...], epochs: tuple[int, ...], two_nodes: bool) -> Tables:
    tidy = full_lab(two_nodes=two_nodes)
    made = {
        name: rows[rows["run"].str.startswith(runs)] if "run" in rows else rows
        for name, rows in tidy.items()
    }
    seen = made["curves"]
    return made | {"curves": seen[seen["epoch"].isin(epochs)] if epochs else seen}


def study(*runs: str, epochs: Sequence[int] = (), two_nodes: bool = False) -> Tables:
    """The runs of the made-up lab whose names begin so, and what they measured.

    epochs: those kept of their trainings, which makes deriving quicker; none: all.
    """
    return dict(_study(runs, tuple(epochs), two_nodes))


_DERIVED: list[tuple[Tables, Derived]] = []


def _derived(tidy: Tables) -> Derived:
    """The derived tables of a lab that many examples edit, made once."""
    for known, made in _DERIVED:
        if known is tidy:
            return made
    _DERIVED.append((tidy, derived_of(tidy)))
    return _DERIVED[-1][1]


def inputs(tidy: Tables, edits: Mapping[str, pd.DataFrame] | None = None) -> Inputs:
    """The tables of a lab, some derived ones replaced."""
    return Inputs(_derived(tidy) | edits if edits else derived_of(tidy), tidy)


def no_failure_is_an_error(question: str, tidy: Tables) -> None:
    """Each run in each status, one at a time and all together, is answered."""
    for _, tables in failing(tidy, list(tidy["runs"]["run"])):
        asked(question, inputs(tables))


def nulls_are_no_error(
    data: st.DataObject, question: str, tidy: Tables, columns: Mapping[str, Sequence[str]]
) -> None:
    """Nulls by chance in these columns of derived tables, and rows left out, are answered."""
    made = _derived(tidy)
    edits = {name: data.draw(nulled(made[name], own)) for name, own in columns.items()}
    asked(question, inputs(tidy, edits))
