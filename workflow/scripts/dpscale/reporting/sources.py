"""Where links lead: anchors of runs, of groups of runs behind a number, and of answers."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


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

    linked: the runs that a number has asked for, alone or in a group; answers: their anchors by id.
    """

    anchors: dict[str, str]
    answers: dict[str, str] = field(default_factory=dict)
    linked: set[str] = field(default_factory=set)
    _groups: dict[tuple[str, ...], Group] = field(default_factory=dict)

    @classmethod
    def of_runs(cls, runs: Iterable[str], answers: Iterable[str] = ()) -> "Sources":
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
        return cls(anchors, places)

    def href(self, runs: Sequence[str]) -> str:
        """Return a link to one run, or to the group of several; empty where there is none."""
        wanted = tuple(dict.fromkeys(runs))
        unknown = [run for run in wanted if run not in self.anchors]
        if unknown:
            raise UnknownRunError(f"no run is named {', '.join(unknown)}")
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
