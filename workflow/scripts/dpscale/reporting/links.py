"""Texts of an answer as markup: measurements link to their runs, references to their DOI."""

import re
from collections.abc import Mapping, Sequence

from markupsafe import Markup, escape

from dpscale.reporting.sources import Sources
from dpscale.reporting.texts import PRINTED

_TAG_OR_ID = re.compile(r"<[^>]*>|\b([QHSE]\d(?:\.\d)?)\b")
MOST_NAMED = 15  # runs of a number


def runs_text(runs: Sequence[str]) -> str:
    """Return the names of runs in words, of many the first; empty where there are none.

    A page has thousands of numbers, and their links lead to all the runs of each.
    """
    if not runs:
        return ""
    if len(runs) == 1:
        return f"run {runs[0]}"
    more = len(runs) - MOST_NAMED
    named = ", ".join(runs[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"{len(runs)} runs: {named}"


def printed(text: Markup, sources: Sources) -> Markup:
    """Return a text in which each number that was printed with its runs links to them."""
    return Markup(PRINTED.sub(lambda found: _link(found[2], found[1].split(), sources), str(text)))


def _link(number: str, runs: Sequence[str], sources: Sources) -> str:
    """A number, which is markup already, as a link to its runs."""
    head = Markup('<a class="measured" href="{}" title="{}">').format(
        sources.href(runs), runs_text(runs)
    )
    return f"{head}{number}</a>"


def crossing(text: Markup, answers: Mapping[str, str]) -> Markup:
    """Return a text in which the id of each answer of the report links to it.

    answers: anchors by id.
    """

    def linked(found: re.Match[str]) -> str:
        anchor = answers.get(found[1] or "")
        return f'<a href="#{anchor}">{found[1]}</a>' if anchor else found[0]

    return Markup(_TAG_OR_ID.sub(linked, str(text)))


def reference(text: str) -> Markup:
    """Return a reference as text, its DOI as a link."""
    parts = re.split(r"\b(10\.\d{4,9}/[^\s;,]*[^\s;,.)])", text)
    return Markup("").join(
        Markup('<a href="https://doi.org/{0}">{0}</a>').format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )
