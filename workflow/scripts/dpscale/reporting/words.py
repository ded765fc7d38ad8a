"""What a question's template may use: filters that write numbers, lists and counted things."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.runtime import LoopContext

from dpscale.reporting.answer import Value
from dpscale.reporting.answers import prose

TEMPLATES = Path(__file__).resolve().parents[4] / "report"
_SPACE = re.compile(r"[ \t\n]+")  # not the no-break spaces of numbers
_BEFORE_A_STOP = re.compile(r" ([,;.])")


def by(rows: Iterable[Any], key: str) -> list[tuple[Any, list[Any]]]:
    """Return the values of a column in the order in which they come, with the rows of each."""
    groups: dict[Any, list[Any]] = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row)
    return list(groups.items())


def comma(loop: LoopContext) -> str:
    """Return what stands after an item of a list in prose: `, `, ` and `, or nothing."""
    if loop.last:
        return ""
    return " and " if loop.revindex0 == 1 else ", "


def semicolon(loop: LoopContext) -> str:
    """Return what stands after an item of a list of clauses."""
    return "" if loop.last else "; "


def bare(value: Value) -> str:
    """Return a number with its unit, without its interval (which a table beside it gives)."""
    return value.bare


def points(value: Value | float) -> str:
    """Return a difference of two fractions as unsigned percentage points."""
    if isinstance(value, Value):
        return value.written(prose.points(float(value.value or 0)))
    return prose.points(value)


def versus(value: Value, other: Value | float) -> prose.Verdict:
    """Return where a value lies against a number, or against another value, by intervals."""
    return prose.compare(value, other) if isinstance(other, Value) else prose.against(value, other)


FILTERS = {
    "and": prose.join,
    "bare": bare,
    "batches": prose.batches,
    "by": by,
    "capitalised": prose.capitalised,
    "comma": comma,
    "counted": prose.counted,
    "digits": prose.digits,
    "median_of": prose.median_of,
    "ordinal": prose.ordinal,
    "points": points,
    "semicolon": semicolon,
    "span": prose.span,
    "versus": versus,
    "word": prose.number_word,
}


@cache
def environment() -> Environment:
    """Return the environment of the questions' templates: what is not there is an error."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.do"],
    )
    made.filters |= FILTERS
    return made


def said(template: str, facts: Mapping[str, Any], *macros: str) -> list[list[str]]:
    """Return the paragraphs that each of the macros of a template says of the facts.

    A paragraph ends at an empty line; one of which nothing is left is none.
    """
    module = environment().get_template(template).make_module(dict(facts))
    return [_paragraphs(str(getattr(module, macro)())) for macro in macros]


def _paragraphs(text: str) -> list[str]:
    blocks = (squeezed(block) for block in re.split(r"\n\s*\n", text))
    return [block for block in blocks if block]


def squeezed(text: str) -> str:
    """Return a text of a template on one line."""
    return _BEFORE_A_STOP.sub(r"\1", _SPACE.sub(" ", text)).strip()


def one(paragraphs: Sequence[str]) -> str:
    """Return the paragraphs of a macro that says a sentence as one text."""
    return squeezed(" ".join(paragraphs))
