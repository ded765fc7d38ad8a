"""Texts whose numbers know the runs behind them.

A number is printed between marks that no text holds and that pass through every filter of a
template. What `answers.json` holds is the plain text, and beside it where its numbers stand.
"""

import re
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

_OPEN, _THEN, _SHUT = "\ue000", "\ue001", "\ue002"
PRINTED = re.compile(f"{_OPEN}([^{_THEN}]*){_THEN}([^{_SHUT}]*){_SHUT}")


class Printed(BaseModel):
    """A measured number in a plain text: `text[start:end]`, and the runs behind it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: int
    end: int
    runs: list[str]


def of_runs(text: str, runs: Sequence[str]) -> str:
    """Return a number's text with the names of its runs in it; as it is where there are none."""
    return f"{_OPEN}{' '.join(runs)}{_THEN}{text}{_SHUT}" if runs else text


def plain(text: str) -> str:
    """Return a text without the runs of its numbers."""
    return PRINTED.sub(r"\2", text)


def printed(text: str) -> list[Printed]:
    """Return where the numbers with runs stand in the plain text."""
    found, gone = [], 0
    for match in PRINTED.finditer(text):
        start = match.start() - gone
        found.append(Printed(start=start, end=start + len(match[2]), runs=match[1].split()))
        gone += len(match[0]) - len(match[2])
    return found


def with_runs(text: str, numbers: Sequence[Printed]) -> str:
    """Return a plain text with the runs of its numbers in it again."""
    pieces, end = [], 0
    for number in numbers:
        pieces += [text[end : number.start], of_runs(text[number.start : number.end], number.runs)]
        end = number.end
    return "".join([*pieces, text[end:]])
