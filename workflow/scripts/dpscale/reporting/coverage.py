"""Each table of words in a template has words for every value that can index it.

A table of words is a dictionary that a template indexes by a column, as `TOLD[row.to_fastest]`.
Which values a column can hold is declared where it is made (`dpscale.vocabulary`), so that an entry
that is missing is found before anything is measured. An entry that nothing reaches, since the
template asks before, is none.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from itertools import chain
from typing import Any

from jinja2 import nodes

from dpscale.reporting import words
from dpscale.vocabulary import Words

Entries = dict[Any, nodes.Node]  # what a dictionary of a template holds
PASSED_ON = "is to be indexed where it stands or by its name, and not passed on"


def problems(vocabularies: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return a line for each table of words that lacks an entry, or of which that cannot be told.

    vocabularies: what the columns can hold, by name, for each template. The templates that it
    imports are looked at with it, but for those that have their own.
    """
    found: dict[str, None] = {}
    for name, vocabulary in vocabularies.items():
        imported = [it for one, it in read(name).imported.items() if one not in vocabularies]
        for template in [read(name), *imported]:
            found |= dict.fromkeys([*template.lacking(vocabulary), *template.passed_on()])
    return list(found)


class Template:
    """A template, read and not run."""

    def __init__(self, name: str) -> None:
        environment = words.environment()
        assert environment.loader
        source = environment.loader.get_source(environment, name)[0]
        self.name, self._tree = name, environment.parse(source)
        self._sets: dict[str, list[Any]] = {}
        self._aliases: dict[str, str] = {}
        self._imports: list[str] = []
        for one in self._find(nodes.Assign, nodes.Import, nodes.FromImport):
            if isinstance(one, nodes.Assign):
                self._sets.setdefault(getattr(one.target, "name", ""), []).append(one.node)
            else:
                self._imports.append(one.template.value)
                self._aliases |= {one.target: one.template.value} if hasattr(one, "target") else {}

        self._name_columns()

    def _name_columns(self) -> None:
        """Note in names of `for verdict, own in rows | by("pace")` which columns they are of."""
        for loop in self._find(nodes.For):
            if getattr(loop.iter, "name", "") == "by":
                first = loop.target.items[0]
                names = [one.name for one in getattr(first, "items", [first])]
                columns = dict(zip(names, (one.value for one in loop.iter.args), strict=False))
                for one in chain(*(part.find_all(nodes.Name) for part in loop.body)):
                    one.column = columns.get(one.name, getattr(one, "column", one.name))

    def _find(self, *kinds: Any) -> Iterable[Any]:
        return self._tree.find_all(kinds)

    @property
    def imported(self) -> dict[str, "Template"]:
        """The templates that this one imports, by name, and those that they import."""
        found: dict[str, Template] = {}
        for name in self._imports:
            found |= {name: read(name)} | read(name).imported
        return found

    def lacking(self, vocabulary: Mapping[str, str]) -> Iterator[str]:
        """Yield what the tables of words lack for what indexes them, a line each."""
        for table, index in self._indexed:
            for entries in self._entries(table):
                for problem in _problems(entries, index, vocabulary):
                    place = f"report/{self.name}, line {index.lineno}"
                    yield f"{place}: {_called(table)} {problem}"

    def passed_on(self) -> Iterator[str]:
        """Yield a line for each table of words that goes where nothing is known of its index."""
        known = {id(table) for table, _ in self._indexed}
        for one in self._find(nodes.Assign, nodes.Pair, nodes.For, nodes.Getattr, nodes.Operand):
            places = (getattr(one, name, None) for name in ("node", "value", "iter", "expr"))
            known |= {id(place) for place in places}
        for call in self._find(nodes.Call):  # the columns of a table that the template shows
            called = getattr(call.node, "name", getattr(call.node, "attr", ""))
            known |= {id(one) for one in call.args if called in ("table", "dict", "update")}
        for one in self._find(nodes.Dict, nodes.Name, nodes.Getattr):
            loaded = getattr(one, "ctx", "load") == "load"
            if loaded and id(one) not in known and any(self._entries(one)):
                yield f"report/{self.name}, line {one.lineno}: {_called(one)} {PASSED_ON}"

    @cached_property
    def _indexed(self) -> list[tuple[Any, Any]]:
        """The expressions that may be tables of words, each with what indexes it."""
        found = [(one.node, one.arg) for one in self._find(nodes.Getitem)]
        for one in self._find(nodes.Call):
            if getattr(one.node, "attr", "") in ("get", "items"):
                found.append((one.node.node, one))
        for one in self._find(nodes.Pair, nodes.Keyword):  # a column: "found": ("Verdict", CHECK)
            if isinstance(one.value, nodes.Tuple | nodes.List) and len(one.value.items) == 2:
                column = nodes.Name(getattr(one.key, "value", one.key), "load")
                found.append((one.value.items[1], column.set_lineno(one.lineno)))
        return found

    def _entries(self, table: Any) -> Iterator[Entries]:
        """Yield what the dictionaries hold that an expression may be; nothing where it is none."""
        match table:
            case nodes.Dict():
                yield {getattr(one.key, "value", one.key): one.value for one in table.items}
            case nodes.Name():
                yield from chain(*map(self._entries, self._sets.get(table.name, ())))
            case nodes.Getattr(node=nodes.Name(name=name)) if name in self._aliases:
                yield from read(self._aliases[name])._entries(nodes.Name(table.attr, "load"))
            case nodes.Getitem():
                values = chain(*(entries.values() for entries in self._entries(table.node)))
                yield from chain(*map(self._entries, values))
            case nodes.Call(node=nodes.Name(name="dict")):
                more = {one.key: one.value for one in table.kwargs}
                yield from (entries | more for entries in self._entries(table.args[0]))


@cache
def read(name: str) -> Template:
    """Return a template of the report."""
    return Template(name)


def _problems(entries: Entries, index: Any, vocabulary: Mapping[str, str]) -> Iterator[str]:
    """Say what a table of words lacks for what indexes it, and what it has beside that."""
    if isinstance(index, nodes.Call):  # of `items`, or of `get` with words for all other values
        known = set(_names(index.args[0])) & vocabulary.keys() if index.args else ()
        if known or len(index.args) == 1:
            yield "is to be indexed by [...], so that each value has its entry"
        return
    keys = {key for key in entries if key is not None}
    for name in _names(index):
        kind = vocabulary.get(name) or vocabulary.get(getattr(index, "column", name))
        if not isinstance(kind, Words):
            yield f"is indexed by {name or 'what has no name'}, whose words nothing declares"
            continue
        if lacking := kind.values - keys:
            yield f"has no words for {name} = {_listed(lacking)}"
        if beside := keys - kind.values:
            yield f"has words for {name} = {_listed(beside)}, which it never is"


def _called(table: Any) -> str:
    """The name of a table of words, as far as it has one."""
    return getattr(table, "name", getattr(table, "attr", "the table of words"))


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(sorted(map(repr, values)))


def _names(index: Any) -> list[str]:
    """The columns that an index may be, by their names; "" of anything that has none."""
    match index:
        case nodes.Name(name=name) | nodes.Getattr(attr=name):
            return [name]
        case nodes.Getitem(arg=nodes.Const(value=str(name))):
            return [name]
        case nodes.Or():
            return [*_names(index.left), *_names(index.right)]
        case nodes.CondExpr(expr2=nodes.Expr()):
            return [*_names(index.expr1), *_names(index.expr2)]
    return [""]
