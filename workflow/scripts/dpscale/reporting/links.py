"""Links of the report: measurements lead to their runs, ids to answers, references to a DOI."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

from dpscale.reporting.texts import PRINTED

_TAG_OR_ID = re.compile(r"<[^>]*>|\b([QHSE]\d(?:\.\d)?)\b")
MOST_NAMED = 15  # runs of a number


class UnknownRunError(ValueError):
    """A number that names a run which the table of runs does not hold."""


@dataclass(frozen=True)
class Group:
    """Several runs that stand behind one number."""

    anchor: str
    number: int
    runs: tuple[str, ...]


@dataclass
class Sources:
    """Anchors of all runs, and of each group of runs once a number has asked for it.

    linked: the runs that a number has asked for, alone or in a group; answers: their anchors by id;
    listed: whether the page lists the runs, so that a link leads somewhere.
    """

    anchors: dict[str, str]
    answers: dict[str, str] = field(default_factory=dict)
    listed: bool = True
    linked: set[str] = field(default_factory=set)
    _groups: dict[tuple[str, ...], Group] = field(default_factory=dict)

    @classmethod
    def of_runs(
        cls, runs: Iterable[str], answers: Iterable[str] = (), *, listed: bool = True
    ) -> "Sources":
        """Return the sources of the runs and the answers named, each with an anchor of its own."""
        anchors: dict[str, str] = {}
        taken: set[str] = set()
        for run in runs:
            stem = anchor = "run-" + re.sub(r"[^A-Za-z0-9_-]+", "-", run)
            count = 1
            while anchor in taken:
                count += 1
                anchor = f"{stem}-{count}"
            taken.add(anchor)
            anchors[run] = anchor
        places = {name: "answer-" + re.sub(r"[^A-Za-z0-9]+", "-", name) for name in answers}
        return cls(anchors, places, listed)

    def href(self, runs: Sequence[str]) -> str:
        """Return a link to one run, or to the group of several; empty where there is none."""
        wanted = tuple(dict.fromkeys(runs))
        unknown = [run for run in wanted if run not in self.anchors]
        if unknown:
            raise UnknownRunError(f"no run is named {', '.join(unknown)}")
        if not self.listed:
            return ""
        self.linked.update(wanted)
        if len(wanted) < 2:
            return "#" + self.anchors[wanted[0]] if wanted else ""
        number = len(self._groups) + 1
        group = self._groups.setdefault(wanted, Group(f"source-{number}", number, wanted))
        return "#" + group.anchor

    @property
    def groups(self) -> list[Group]:
        """Groups asked for so far, in order."""
        return list(self._groups.values())


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
    """A number, which is markup already, as a link to its runs where they are listed."""
    href = sources.href(runs)
    head = Markup('<a class="measured" href="{}" title="{}">').format(href, runs_text(runs))
    return f"{head}{number}</a>" if href else number


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
