"""Which files of the library a script imports: an edit of one of them makes anew what it wrote.

They are found in the source, without importing them: the workflow itself needs no pandas.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

SCRIPTS = Path(__file__).resolve().parents[1]
STUDIES = "dpscale.studies"
# In most files no function imports anything or asks the studies for a part: their heads tell all.
_LAZY = re.compile(r"^ +(from|import) |parts?\(", re.M)


class _Read(NamedTuple):
    """What some lines import, each a module and a name of it (or none), and the names they use."""

    imports: list[tuple[str, str]]
    names: set[str]


@cache
def imported_files(script: Path) -> list[Path]:
    """Return the script and all files of the library that it can import, sorted.

    What a function imports counts where the names that others import of its file lead to it. A
    part of the studies (`Study.part`) is that file or folder of every study. What a file has beside
    it as TOML of its name, it reads.
    """
    reached: dict[Path, set[str]] = {}
    todo: list[tuple[Path, str]] = [(script, "")]
    while todo:
        path, name = todo.pop()
        done, held = reached.setdefault(path, set()), _held(path)
        if name in held and name not in done:
            done.add(name)
            todo += [(path, one) for one in held[name].names]
            for imported in held[name].imports:
                todo += _places(*imported)
    beside = (path.with_suffix(".toml") for path in reached)
    return sorted([*reached, *(path for path in beside if path.is_file())])


def _places(module: str, name: str) -> Iterator[tuple[Path, str]]:
    """The files that an import runs, and the functions in them that it makes known."""
    if _file(f"{module}.{name}"):
        module, name = f"{module}.{name}", ""
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        if path := _file(".".join(parts[:end])):
            yield path, ""
            if end == len(parts):
                yield from ((path, one) for one in ([name] if name else _held(path)))


@cache
def _file(module: str) -> Path | None:
    """The file of a module of the library."""
    path = SCRIPTS.joinpath(*module.split("."))
    files = (path / "__init__.py", path.with_suffix(".py"))
    inside = module.split(".")[0] == "dpscale"
    return next((file for file in files if inside and file.is_file()), None)


@cache
def _held(path: Path) -> dict[str, _Read]:
    """What a file reads outside of its functions (""), and in each of them where that matters."""
    text = path.read_text(encoding="utf-8")
    try:
        body = ast.parse(text).body
    except SyntaxError:  # who imports the file says so; an error here, Snakemake would pass over
        return {"": _Read([], set())}
    if not _LAZY.search(text):
        return {"": _Read([one for node in body for one in _imports(node, path)], set())}
    functions = [node for node in body if isinstance(node, ast.FunctionDef)]
    top = _read([node for node in body if node not in functions], path)
    if path == _file(STUDIES):
        top.imports.extend(_of_studies())
    return {"": top} | {node.name: _read([node], path) for node in functions}


def _read(nodes: Iterable[ast.AST], path: Path) -> _Read:
    """What some lines read, in their blocks too."""
    found, todo = _Read([], set()), list(nodes)
    while todo:
        node = todo.pop()
        found.imports.extend(_imports(node, path))
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                continue
            case ast.Name(id=name):
                found.names.add(name)
            case ast.Call(
                func=ast.Name(id="_parts") | ast.Attribute(attr="part"),
                args=[ast.Constant(value=str(part)), *_],
            ):
                found.imports.extend(_of_studies(f".{part}"))
        todo.extend(ast.iter_child_nodes(node))
    return found


def _imports(node: ast.AST, path: Path) -> list[tuple[str, str]]:
    """The modules that a statement of a file imports, each with a name that it takes from it."""
    match node:
        case ast.Import(names=names):
            return [(alias.name, "") for alias in names]
        case ast.ImportFrom(module=module, names=names, level=level):
            around = path.parents[level - 1].relative_to(SCRIPTS).parts if level else ()
            name = ".".join([*around, *([module] if module else [])])
            return [(name, alias.name) for alias in names]
    return []


def _of_studies(part: str = "") -> list[tuple[str, str]]:
    """A part of every study; the empty one is its folder itself."""
    folders = sorted(path.parent.name for path in SCRIPTS.glob("dpscale/studies/*/__init__.py"))
    return [(f"{STUDIES}.{one}{part}", "") for one in folders]
