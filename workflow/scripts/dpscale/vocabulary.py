"""Columns of few words, such as verdicts: which those are, declared where they are made."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

Verdict = Literal["above", "below", "indistinct", "unknown"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


class Words(str):
    """The type of a column of texts (`str`) that holds one of some words, or null."""

    values: frozenset[Any]

    def check(self, column: str, found: Iterable[Any]) -> None:
        """Raise ValueError for a word that the column cannot hold."""
        if others := {word for word in found if word is not None} - self.values:
            known = ", ".join(map(str, sorted(self.values)))
            raise ValueError(f"column {column}: {min(others)!r} is none of {known}")


def words(names: str, values: Any = Verdict) -> dict[str, str]:
    """Return the type of columns, named in one string, that hold some words, or null.

    values: a Literal, a union of them, or the words themselves.
    """
    kind = Words("str")
    kind.values = frozenset(_values(values))
    return dict.fromkeys(names.split(), kind)


def agreed(tables: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the columns that hold the same words in all tables in which they hold words."""
    kinds: dict[str, list[Words]] = {}
    for columns in tables:
        for name, kind in columns.items():
            if isinstance(kind, Words):
                kinds.setdefault(name, []).append(kind)
    return {name: own[0] for name, own in kinds.items() if len({one.values for one in own}) == 1}


def _values(values: Any) -> list[Any]:
    """The words of a Literal or a union of them."""
    parts = get_args(values) or values
    return [word for part in parts for word in (_values(part) if get_args(part) else [part])]
