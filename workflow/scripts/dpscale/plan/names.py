"""Names of runs: which launch of a cell one is, and many as one short regular expression."""

import re
from collections.abc import Collection, Iterator
from itertools import groupby
from os.path import commonprefix

REST = "[^/]*"
LAUNCH = "-launch"  # and its number, after the name of the first
AGAIN = "-again"  # the same of a launch that a look added


def launch_end(run: str) -> str:
    """Return the end of a run's name that says which launch of its cell it is; of the first none.

    Launches of two cells whose names end alike were made one soon after the other.
    """
    found = re.search(rf"({LAUNCH}|{AGAIN})\d+$", run)
    return found[0] if found else ""


def launch_of(run: str) -> int:
    """Return the number of the launch that a run is of its cell, from 1."""
    found = re.search(rf"{LAUNCH}(\d+)$", run)
    return int(found[1]) if found else 1


def pattern_of(chosen: Collection[str], planned: Collection[str]) -> str:
    """Return a regular expression that matches the chosen names and no other planned one.

    It names what the chosen begin with and the others do not. An alternative for each name would
    be exact, but Snakemake searches the expression itself for every file: 10,000 names took
    minutes. Names that nobody planned may match.
    """
    others = set(planned) - set(chosen)
    return "|".join(_beginnings(sorted(chosen), sorted(others)))


def _beginnings(chosen: list[str], others: list[str]) -> Iterator[str]:
    """Alternatives for sorted names, of which `others` may share the beginning."""
    if not chosen:
        return
    # Of sorted names the first and the last share what all share.
    begin = commonprefix([chosen[0], chosen[-1]])  # noqa: RUF071 (character by character)
    rivals = [name for name in others if name.startswith(begin)]
    if len(chosen) == 1 or not rivals:
        yield re.escape(begin) + (REST if len(chosen) > 1 else "")
        return
    # Where they go on differently each branch is looked at by itself.
    for _, branch in groupby(chosen, key=lambda name: name[len(begin) : len(begin) + 1]):
        yield from _beginnings(list(branch), rivals)
