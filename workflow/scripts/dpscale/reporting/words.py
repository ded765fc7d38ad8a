"""What a question's template may use: filters that write numbers, lists and counted things."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from jinja2.runtime import LoopContext

from dpscale.reporting import texts
from dpscale.reporting.answer import Value
from dpscale.units import format_value, group_digits
from dpscale.units.networks import dataset, network

TEMPLATES = Path(__file__).resolve().parents[4] / "report"
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ORDINALS = {1: "st", 2: "nd", 3: "rd"}
_SPACE = re.compile(r"[ \t\n]+")  # not the no-break spaces of numbers
_QUESTION = re.compile(r"{% macro question\(\) %}(.*?){% endmacro %}", re.S)
_BEFORE_A_STOP = re.compile(r" ([,;.])")


def join(items: Sequence[str], last: str = "and") -> str:
    """Return items as a list in prose: `a`, `a and b`, `a, b and c`."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def number_word(number: int) -> str:
    """Return a small whole number as a word (`two`), a larger one in digits."""
    return _WORDS[number] if 0 <= number < len(_WORDS) else str(number)


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun in the right form: `one worker`, `two workers`."""
    return f"{number_word(number)} {noun if number == 1 else plural or noun + 's'}"


def digits(number: int, noun: str) -> str:
    """Return a number in digits with its noun in the right form: `1 update`, `20 updates`."""
    return f"{number} {noun if number == 1 else noun + 's'}"


def verb(number: int, one: str, many: str) -> str:
    """Return the form of a verb that agrees with a number of things."""
    return one if number == 1 else many


def capitalised(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def ordinal(number: int) -> str:
    """Return `1st`, `2nd`, `3rd`, `4th`, `11th`."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{_ORDINALS.get(number % 10, 'th')}"


def batches(sizes: Sequence[int]) -> str:
    """Return batch sizes per worker as prose: `b = 32, 128 and 512`."""
    return f"b = {join([str(size) for size in sizes])}"


def cells(pairs: Sequence[tuple[int, int]]) -> str:
    """Return (workers, batch) cells by workers: `N = 2 with b = 32 and 128, N = 4 with b = 32`."""
    by_workers: dict[int, list[int]] = {}
    for workers, batch in pairs:
        by_workers.setdefault(workers, []).append(batch)
    return "; ".join(
        f"N = {workers} with {batches(sizes)}" for workers, sizes in by_workers.items()
    )


def span(numbers: Sequence[int]) -> str:
    """Return the range of some counts: `5`, or `5 to 8` when they differ."""
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def by(rows: Iterable[Any], *keys: str) -> list[tuple[Any, list[Any]]]:
    """Return the values of a column in the order in which they come, with the rows of each.

    Of several columns, their values are a tuple.
    """
    groups: dict[Any, list[Any]] = {}
    for row in rows:
        found = tuple(row[key] for key in keys)
        groups.setdefault(found if len(keys) > 1 else found[0], []).append(row)
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


def places(some: Sequence[Mapping[str, Any]], every: Sequence[Mapping[str, Any]]) -> str:
    """Return where something holds: `in all six cells`, or in how many of them and which."""
    where = [(row["workers"], row["per_worker_batch"]) for row in some]
    if len(some) < len(every):
        number, total = number_word(len(some)), number_word(len(every))
        return f"in {number} of the {total} cells ({cells(where)})"
    if len(every) == 1:
        return "in the one cell measured (N = {}, b = {})".format(*where[0])
    return f"in {'both' if len(every) == 2 else f'all {number_word(len(every))}'} cells"


def size(value: Value) -> Value:
    """Return a difference without its sign."""
    return value.model_copy(update={"value": abs(value.value or 0)})


def spread(values: Iterable[Value]) -> str:
    """Return the range of some values: `1.43×`, of all their runs, or `1.20× to 1.43×`."""
    ranked = sorted(values, key=lambda value: float(value.value or 0))
    low, high = ranked[0].bare, ranked[-1].bare
    if texts.plain(low) != texts.plain(high):
        return f"{low} to {high}"
    runs = dict.fromkeys(run for value in ranked for run in value.runs)
    return texts.of_runs(texts.plain(low), list(runs))


def points(value: Value | float) -> str:
    """Return a difference of two fractions as unsigned percentage points."""
    number = float(value.value or 0) if isinstance(value, Value) else value
    text = f"{format_value(abs(100 * number), 'number')} percentage points"
    return value.written(text) if isinstance(value, Value) else text


def signed(share: float) -> str:
    """Return a difference of two fractions as points with a sign: `−0.44`."""
    return f"{100 * share:+.2f}".replace("-", "−")


FILTERS = {
    "and": join,
    "bare": bare,
    "batches": batches,
    "by": by,
    "capitalised": capitalised,
    "comma": comma,
    "counted": counted,
    "dataset": dataset,
    "digits": digits,
    "grouped": group_digits,
    "in_unit": format_value,
    "network": network,
    "ordinal": ordinal,
    "places": places,
    "points": points,
    "semicolon": semicolon,
    "signed": signed,
    "size": size,
    "span": span,
    "spread": spread,
    "verb": verb,
    "word": number_word,
}


@cache
def environment() -> Environment:
    """Return the environment of the questions' templates: what is not there is an error."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        optimized=False,  # a template is run once: what is worked out beforehand takes longer
    )
    made.filters |= FILTERS
    return made


def macros(template: str | Template, facts: Mapping[str, Any]) -> Any:
    """Return the macros of a template as functions that give what they say of the facts."""
    return environment().get_template(template).make_module(dict(facts))


def question_of(name: str) -> str:
    """Return what a question asks, read from its template, which nothing has to be able to run."""
    text = (TEMPLATES / f"{name}.j2").read_text(encoding="utf-8")
    found = _QUESTION.search(text)
    return squeezed(found[1]) if found else name


def squeezed(text: str) -> str:
    """Return a text of a template on one line."""
    return _BEFORE_A_STOP.sub(r"\1", _SPACE.sub(" ", text)).strip()


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text of a template, which empty lines part; none is empty."""
    blocks = (squeezed(block) for block in re.split(r"\n\s*\n", text))
    return [block for block in blocks if block]
