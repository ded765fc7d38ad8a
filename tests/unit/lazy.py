"""A mapping whose values are made when a test reads them, and kept."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

Value = TypeVar("Value")


class Lazy(Mapping[str, Value]):
    """What `make` returns for each of the names; `|` replaces some."""

    def __init__(self, names: Iterable[str], make: Callable[[str], Value]) -> None:
        self._names, self._make = list(names), make
        self._made: dict[str, Value] = {}

    def __getitem__(self, name: str) -> Value:
        if name not in self._made:
            if name not in self._names:
                raise KeyError(name)
            self._made[name] = self._make(name)
        return self._made[name]

    def __or__(self, instead: Mapping[str, Any]) -> "Lazy[Value]":
        names = dict.fromkeys([*self._names, *instead])
        return Lazy(names, lambda name: instead[name] if name in instead else self[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
