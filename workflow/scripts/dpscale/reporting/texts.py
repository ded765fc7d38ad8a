"""Texts whose numbers know the runs behind them.

A number is printed between marks that no text holds and that pass through every filter of a
template, through `answers.json`, and to the page, where they become links.
"""

import re
from collections.abc import Sequence

_OPEN, _THEN, _SHUT = "\ue000", "\ue001", "\ue002"
PRINTED = re.compile(f"{_OPEN}([^{_THEN}]*){_THEN}([^{_SHUT}]*){_SHUT}")


def of_runs(text: str, runs: Sequence[str]) -> str:
    """Return a number's text with the names of its runs in it; as it is where there are none."""
    return f"{_OPEN}{' '.join(runs)}{_THEN}{text}{_SHUT}" if runs else text


def plain(text: str) -> str:
    """Return a text without the runs of its numbers."""
    return PRINTED.sub(r"\2", text)
