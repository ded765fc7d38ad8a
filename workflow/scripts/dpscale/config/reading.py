"""Reads the file of a configuration strictly: a small text, each key once, nothing to run.

YAML as its 1.2 has it where 1.1 surprises: 1.0e9 and 1e-3 are numbers, 010 is ten, and a date or a
time is text.
"""

import json
import re
import stat
from collections.abc import Mapping, Sequence, ValuesView
from pathlib import Path
from typing import Any, ClassVar

import yaml

MOST_BYTES = 2**20
MOST_VALUES = 100_000  # aliases written out: few lines of them can stand for billions
MOST_LEVELS = 20
TEXT = re.compile(r"[^\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]*")
KNOWN = ("null", "bool", "int", "float", "str", "seq", "map")  # tags; others make objects
IMPLICIT = ("null", "bool", "merge")  # and the numbers below


class ConfigError(ValueError):
    """A configuration that cannot be used; the text has one line a problem."""


def read_mapping(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file, or in a JSON file by its ending.

    Raises ConfigError, which names the file and where it can the line, where it is missing, large,
    no regular file, neither YAML nor JSON, or names a key twice.
    """
    try:
        found = _loaded(_text(path), json_text=path.suffix == ".json")
        if not isinstance(found, Mapping):
            raise ValueError("holds no keys; see config/config.yaml for an example")
        if "__use_yte__" in found:  # Snakemake would run what stands in the file
            raise ValueError("__use_yte__: a configuration runs nothing; leave it out")
        return checked(dict(found))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except RecursionError:
        raise ConfigError(f"{path}: has brackets within brackets without end") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: {_where(error)}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is no UTF-8 text from byte {error.start} on") from None
    except ValueError as error:
        raise ConfigError(f"{path}: {' '.join(str(error).split())}") from None


def read_argument(argument: str) -> dict[str, Any]:
    """Return the mapping of a `key=value` of the command line, whose value is read as in a file.

    Raises ConfigError where it cannot be.
    """
    key, _, text = argument.partition("=")
    try:
        return checked({key: _loaded(text)})
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise ConfigError(f"--config {argument!r:.60}: {_where(error)}") from None


def checked(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the mapping; raises ValueError where it is no text, or has too many levels."""
    _check(raw, MOST_LEVELS)
    return raw


def _text(path: Path) -> str:
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError("is no regular file; name the file of a configuration")
    with path.open("rb") as file:  # /proc has files without a size
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError("has more than a mebibyte, which is no configuration; name another file")
    return content.decode("utf-8-sig")


def _loaded(text: str, *, json_text: bool = False) -> Any:
    if json_text:
        return json.loads(text, object_pairs_hook=_once)
    return yaml.load(text, Loader=_Loader)


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise ValueError(f"the key {key} stands there a second time; join the two")
        made[key] = value
    return made


class _Loader(yaml.SafeLoader):
    """Plain values alone; raises MarkedYAMLError with the line of what it refuses."""

    yaml_constructors: ClassVar = {
        tag: make
        for tag, make in yaml.SafeLoader.yaml_constructors.items()
        if tag is None or tag.rpartition(":")[2] in KNOWN
    }
    yaml_implicit_resolvers: ClassVar = {
        first: [one for one in resolvers if one[0].rpartition(":")[2] in IMPLICIT]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_scalar(self, node: yaml.ScalarNode) -> str:
        """Return the text; JSON writes letters beyond the first 65,536 as two halves."""
        text: str = super().construct_scalar(node)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")

    def get_single_node(self) -> yaml.Node | None:
        """Return the document, once it is weighed with what its aliases stand for."""
        node: yaml.Node | None = super().get_single_node()
        if node is not None:
            self._weigh(node, {})
        return node

    def _weigh(self, node: yaml.Node, known: dict[int, int]) -> int:
        """The values in a node, those of an alias wherever it stands; 0: it is being weighed."""
        if known.get(id(node)) == 0:
            raise _refused(node, "an alias stands within what it stands for")
        if id(node) not in known:
            known[id(node)] = 0
            inner = list(node.value) if isinstance(node, yaml.SequenceNode) else []
            if isinstance(node, yaml.MappingNode):
                self._check_keys(node)
                inner = [one for pair in node.value for one in pair]
            known[id(node)] = 1 + sum(self._weigh(one, known) for one in inner)
            if known[id(node)] > MOST_VALUES:
                raise _refused(node, f"has more than {MOST_VALUES:,} values, aliases written out")
        return known[id(node)]

    def _check_keys(self, node: yaml.MappingNode) -> None:
        found = set[str]()
        for key, _ in node.value:
            if key.tag.rpartition(":")[2] not in ("str", "merge"):
                raise _refused(key, "the key is no text; put it in quotes, or mend it")
            if key.value in found:
                raise _refused(key, f"the key {key.value} stands there a second time; join the two")
            found.add(key.value)


def _refused(node: yaml.Node, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


def _integer(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    return int(loader.construct_scalar(node))


def _number(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> float:
    return float(loader.construct_scalar(node).replace(".inf", "inf").replace(".nan", "nan"))


_INTEGER = re.compile(r"[-+]?[0-9][0-9_]*$")
_NUMBER = re.compile(
    r"([-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan)$"
)
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", _INTEGER, list("-+0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER, list("-+.0123456789"))
_Loader.add_constructor("tag:yaml.org,2002:int", _integer)
_Loader.add_constructor("tag:yaml.org,2002:float", _number)


def _check(value: object, levels: int) -> None:
    if not levels:
        raise ValueError(f"has more than {MOST_LEVELS} levels of sections and lists")
    if isinstance(value, str) and not TEXT.fullmatch(value):
        raise ValueError(f"holds characters that are no text: {value!r:.60}")
    if isinstance(value, Mapping):
        for key in value:
            if not (isinstance(key, str) and key.isprintable()):
                raise ValueError(f"has a key that is no line of text: {key!r:.60}")
    inner = value.values() if isinstance(value, Mapping) else value
    if isinstance(inner, list | tuple | ValuesView):
        for one in inner:
            _check(one, levels - 1)


def _where(error: Exception) -> str:
    """One line on an error of the reader, the line of the file first."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    place = "" if mark is None else f"line {mark.line + 1}: "
    return " ".join(f"{place}{problem}".split())
