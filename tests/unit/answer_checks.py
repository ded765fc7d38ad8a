"""Answers of the made-up lab for tests, with derived tables that a test changes."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import pandas as pd

from builders import Tables, derived_lab, full_lab
from dpscale.derive.tables import Derived
from dpscale.reporting.answer import Answer, Table
from dpscale.reporting.answers import QUESTIONS, answer_one
from dpscale.reporting.answers.inputs import Inputs
from lazy import Lazy

Answers = Lazy[Answer]


@cache
def lab(**options: Any) -> tuple[Derived, Tables]:
    """Return the derived and the tidy tables of a lab."""
    return derived_lab(**options), full_lab(**options)


def answers(derived: Mapping[str, pd.DataFrame], tidy: Tables) -> Answers:
    """Return the answers by question, each made when a test reads it."""
    inputs = Inputs(derived, tidy)
    return Lazy(QUESTIONS, lambda question: answer_one(question, inputs))


def of_factor(factor: float, **options: Any) -> Answers:
    """Return the answers of a lab whose T_2/T_1 is the factor."""
    return answers(*lab(two_worker_factor=factor, **options))


def edited(table: str, **columns: Any) -> Answers:
    """Return the answers after columns of a derived table got new values."""
    derived, tidy = lab()
    return answers(derived | {table: derived[table].assign(**columns)}, tidy)


def edited_where(table: str, chosen: pd.Series, **columns: Any) -> Answers:
    """Return the answers after columns of the chosen rows of a derived table got new values."""
    rows = lab()[0][table]
    changed = {name: rows[name].mask(chosen, value) for name, value in columns.items()}
    return edited(table, **changed)


def where(table: str, column: str, value: Any, **new: Any) -> Answers:
    """Return the answers after columns of the rows of one value got new values."""
    return edited_where(table, lab()[0][table][column] == value, **new)


def around(column: str, value: float, width: float = 0.01) -> dict[str, float]:
    """Return a column's value with an interval of a share of width on either side."""
    ends = sorted([value * (1 - width), value * (1 + width)])
    return {column: value, f"{column}_low": ends[0], f"{column}_high": ends[1]}


def text_of(answer: Answer) -> str:
    """Return everything that an answer says."""
    return " ".join([answer.sentence, *answer.paragraphs])


def table_of(answer: Answer, words: str) -> Table:
    """Return the table of an answer whose caption holds these words."""
    return next(table for table in answer.tables if words in table.caption)
