"""Texts of an answer as markup: measurements link to their runs, references to their DOI."""

import re
from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

from dpscale.reporting.answer import Value
from dpscale.reporting.sources import Sources
from dpscale.reporting.texts import PRINTED
from dpscale.units import format_value, is_null

COMMON = ("count", "flag", "setting")  # a bare 2 or 0.1 in a text could be anything


def runs_text(runs: Sequence[str]) -> str:
    """Return the names of runs in words; empty where there are none."""
    if not runs:
        return ""
    return f"run {runs[0]}" if len(runs) == 1 else f"{len(runs)} runs: {', '.join(runs)}"


def _wordings(values: Iterable[Value]) -> dict[str, list[tuple[str, ...]]]:
    """What measurements look like in a text, as markup, and the runs behind each such wording."""
    behind: dict[str, list[tuple[str, ...]]] = {}
    for value in values:
        if value.unit in COMMON or is_null(value.value) or not value.runs:
            continue
        plain = format_value(value.value, value.unit)
        full = format_value(value.value, value.unit, low=value.low, high=value.high)
        for wording in dict.fromkeys((plain, full)):
            if not wording.isdigit():
                behind.setdefault(str(escape(wording)), []).append(tuple(value.runs))
    return behind


def linked(
    text: Markup, values: Iterable[Value], sources: Sources, *, only_certain: bool = False
) -> Markup:
    """Return a text in which each measurement, as dpscale.units writes it, links to its runs.

    Where values with different runs read the same the link leads to all their runs; with
    `only_certain` there is none.
    """
    runs = {
        wording: list(dict.fromkeys(run for group in groups for run in group))
        for wording, groups in _wordings(values).items()
        if wording in text and (not only_certain or len(set(groups)) == 1)
    }
    if not runs:
        return text
    longest_first = sorted(runs, key=lambda wording: (-len(wording), wording))
    pattern = re.compile(
        r"(?<![\w.−])(" + "|".join(map(re.escape, longest_first)) + r")(?![\w])"
        r"(?![^<]*</math>)(?![^<]*>)"
    )

    return Markup(pattern.sub(lambda found: _link(found[1], runs[found[1]], sources), str(text)))


def printed(text: Markup, sources: Sources) -> Markup:
    """Return a text in which each number that was printed with its runs links to them."""
    return Markup(PRINTED.sub(lambda found: _link(found[2], found[1].split(), sources), str(text)))


def _link(number: str, runs: Sequence[str], sources: Sources) -> str:
    """A number, which is markup already, as a link to its runs."""
    head = Markup('<a class="measured" href="{}" title="{}">').format(
        sources.href(runs), runs_text(runs)
    )
    return f"{head}{number}</a>"


def reference(text: str) -> Markup:
    """Return a reference as text, its DOI as a link."""
    parts = re.split(r"\b(10\.\d{4,9}/[^\s;,]*[^\s;,.)])", text)
    return Markup("").join(
        Markup('<a href="https://doi.org/{0}">{0}</a>').format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )
