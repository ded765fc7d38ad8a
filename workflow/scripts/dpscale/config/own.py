"""A user's own file before it is run: its digest, and what a look at two samples found."""

import ast
import hashlib
from functools import lru_cache
from pathlib import Path

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
    """Return the SHA-256 of what a Python file does: comments and docstrings are not in it."""
    state = path.stat()
    return _digest(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=8)
def _digest(path: Path, *_: int) -> str:
    content = path.read_bytes()
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):  # whoever imports it says so
        return hashlib.sha256(content).hexdigest()
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()
