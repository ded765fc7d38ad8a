"""What a question's template may use: filters that write numbers, lists and counted things."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
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


FILTERS = {
    "and": prose.join,
    "bare": bare,
    "by": by,
    "comma": comma,
    "counted": prose.counted,
    "median_of": prose.median_of,
    "semicolon": semicolon,
    "against": prose.against,
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
    )
    made.filters |= FILTERS
    made.globals["FASTER"] = prose.FASTER
    return made


def macros(template: str | Template, facts: Mapping[str, Any]) -> Any:
    """Return the macros of a template as functions that give what they say of the facts."""
    return environment().get_template(template).make_module(dict(facts))


def squeezed(text: str) -> str:
    """Return a text of a template on one line."""
    return _BEFORE_A_STOP.sub(r"\1", _SPACE.sub(" ", text)).strip()


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text of a template, which empty lines part; none is empty."""
    blocks = (squeezed(block) for block in re.split(r"\n\s*\n", text))
    return [block for block in blocks if block]
