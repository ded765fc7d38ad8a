"""Why a job runs again, in words: which field changed from what to what."""

import ast
import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePath
from typing import Any

MOST = 3  # of what is named
LONGEST = 40  # letters of a value
ABSENT = "nothing"


def named(paths: Collection[str]) -> str:
    """Return the path of a file alone, or the names of the first and how many more there are."""
    if len(paths) == 1:
        return next(iter(paths))
    names = list(dict.fromkeys(PurePath(path).name for path in sorted(paths)))
    return ", ".join(names[:MOST]) + (f" and {len(names) - MOST} more" * (len(names) > MOST))


def changed(before: Collection[str], now: Collection[str]) -> str:
    """Return what changed between two sets of parameters, as Snakemake keeps them.

    Of JSON texts the fields that differ, by dotted key.
    """
    old, new = _fields(before), _fields(now)
    keys = [key for key in {**old, **new} if old.get(key, ABSENT) != new.get(key, ABSENT)]
    if not keys:
        return "the options of its command changed"
    lines = [_line(key, old.get(key, ABSENT), new.get(key, ABSENT)) for key in keys[:MOST]]
    return ", ".join(lines) + (f" and {len(keys) - MOST} more" * (len(keys) > MOST))


def _line(key: str, old: object, new: object) -> str:
    if key.endswith("own.digest") or key == "digest":
        return "the code of own.file, or of what it imports, changed"
    return f"{key} {_shown(old)} -> {_shown(new)}"


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _fields(parameters: Collection[str]) -> dict[str, object]:
    """The values in the JSON texts among parameters, each written as Python does, by key."""
    found: dict[str, object] = {}
    for parameter in parameters:
        value = ast.literal_eval(parameter)
        for text in value if isinstance(value, list | tuple) else (value,):
            try:
                read = json.loads(text)
            except (TypeError, ValueError):
                continue
            if isinstance(read, Mapping):
                found |= dict(_flat(read, ""))
    return found


def _flat(mapping: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, object]]:
    for key, value in mapping.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
