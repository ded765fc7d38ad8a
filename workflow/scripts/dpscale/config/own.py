"""A user's own file before it is run: its digest, and what a look at two samples found."""

import ast
import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from dpscale.config.sections import Section

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class OwnFacts(Section):
    """What a look at a user's own file found.

    refused: why studies cannot train its networks in a way, by `StudySection.tries`.
    """

    train_samples: int
    validation_samples: int
    test_samples: int
    counts_correct: bool
    refused: dict[str, str] = Field(default_factory=dict)


def source_digest(path: Path) -> str:
    """Return the SHA-256 of what a Python file and the modules beside it that it imports do.

    Comments and docstrings are not in it.
    """
    read = {file: _read(file).digest for file in sources(path)}
    if len(read) == 1:
        return read[path]
    named = sorted((str(file.relative_to(path.parent)), digest) for file, digest in read.items())
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()


def sources(path: Path) -> list[Path]:
    """Return a Python file and those of its folder that it, or one of them, imports."""
    found, todo = [path], [path]
    while todo:
        file = todo.pop()
        for name, level in _read(file).imports:
            # A relative import begins in the folder of its package, or further up.
            place = file.parents[level - 1] if level else path.parent
            for part in name.split("."):
                place = place / part
                beside = (place.with_suffix(".py"), place / "__init__.py")
                new = [one for one in beside if one not in found and one.is_file()]
                found += new
                todo += new
    return found


class _Read(NamedTuple):
    digest: str
    imports: tuple[tuple[str, int], ...]  # dotted names, each with the level of a relative import


def _read(path: Path) -> _Read:
    state = path.stat()
    return _parsed(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=256)
def _parsed(path: Path, *_: int) -> _Read:
    content = path.read_bytes()
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):  # whoever imports it says so
        return _Read(hashlib.sha256(content).hexdigest(), ())
    imports: list[tuple[str, int]] = []
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
        match node:
            case ast.Import(names=names):
                imports += [(one.name, 0) for one in names]
            case ast.ImportFrom(module=module, names=names, level=level):
                above = f"{module}." if module else ""
                imports += [(f"{above}{one.name}", level) for one in names]
    return _Read(hashlib.sha256(ast.dump(tree).encode()).hexdigest(), tuple(imports))
